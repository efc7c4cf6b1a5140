"""The evaluations of a run: kept, read and put into words."""

import json

import pytest

from albert_tf.runs import metrics
from albert_tf.runs.metrics import read_evaluations, sentences, verdict, write_evaluation
from schemas.files import write_json
from schemas.layout import EVALUATION
from tests.evaluations import around, evaluation
from tests.refusals import refusal


def test_evaluations_are_kept_by_text_step_and_extent_with_that_of_an_older_run(tmp_path):
    assert read_evaluations(tmp_path) == []
    kept = [
        evaluation(step=7, pairs=False),
        evaluation(step=7) | {"text": "news/2024 été.txt"},
        evaluation(step=9) | {"text": "news/2024 été.txt"},
        evaluation(step=9) | {"text": "novels", "data_fingerprint": "cd" * 32},
        evaluation(step=9) | {"text": "novels", "data_fingerprint": "ef" * 32},
        evaluation(step=9) | {"text": "novels", "examples": 100},
        # Of a model that went wrong.
        evaluation(step=11) | {"mlm_loss": float("inf"), "sentence_loss": float("inf")},
    ]
    # What is measured again is kept once.
    for one in (*kept, kept[0]):
        write_evaluation(tmp_path, one)
    found = read_evaluations(tmp_path)
    assert all(one in found for one in kept)
    assert len(found) == len(kept)
    older = evaluation(step=12)
    write_json(tmp_path / EVALUATION, older)
    assert read_evaluations(tmp_path) == [*found, older]


def test_what_was_not_measured_may_be_absent(tmp_path):
    values = evaluation(pairs=False)
    del values["counting"], values["bits_per_character"]
    write_evaluation(tmp_path, values)
    assert read_evaluations(tmp_path) == [values]
    assert list(sentences(values)) == ["Sentence task: 50.0% (44.4 to 55.6%) right, loss 0.693."]
    row = ("the model", None, "5.500", "12.5% (11.5 to 13.6%)")
    assert metrics.comparison(values).rows == (row,)
    assert metrics.minimal_pairs(values) is None


@pytest.mark.parametrize(
    ("change", "clause"),
    [
        ({"step": "one"}, "Cannot specify ',' with 's'"),
        ({"mlm_loss": "low"}, "Unknown format code 'f' for object of type 'str'"),
        ({"bits_per_character": {"words": 99}}, "it has no 'model_minus_neighbours'"),
        ({"minimal_pairs": [1]}, "list indices must be integers or slices, not str"),
    ],
)
def test_an_edited_file_is_refused_in_one_sentence(tmp_path, change, clause):
    (tmp_path / EVALUATION).write_text(json.dumps(evaluation() | change))
    assert refusal(read_evaluations, tmp_path) == (
        f"{tmp_path / EVALUATION} is damaged: {clause}; run albert evaluate again."
    )


def test_a_model_that_does_not_beat_counting_is_told_so():
    assert verdict(around(0.25)) == (
        "Counting both neighbours beats the model by 0.250 bits per character (0.200 to 0.300)."
    )
    assert verdict(around(0.02)) == (
        "The model is neither better nor worse than counting both neighbours, as far as these "
        "words show: the difference is 0.020 bits per character (-0.030 to 0.070)."
    )


LONGER = "A longer run would do better: another --output with --init-from this run and --budget"


@pytest.mark.parametrize(
    ("difference", "loss", "said"),
    [
        (-0.25, 5.5, []),
        (-0.25, 7.5, ["Its masked-LM loss says otherwise (7.500, counting "]),
        (0.25, 7.5, [LONGER]),
        (0.25, 5.5, ["Its masked-LM loss says otherwise (5.500, counting ", LONGER]),
    ],
)
def test_a_verdict_that_the_loss_contradicts_is_explained_with_what_to_do(difference, loss, said):
    found = evaluation() | {"mlm_loss": loss}
    found["bits_per_character"] |= {"model_minus_neighbours": around(difference)}
    _, *after = sentences(found)
    assert [line[: len(each)] for line, each in zip(after, said, strict=False)] == said
    assert after[len(said)].startswith("Minimal pairs:")
    # A few words judge no model.
    found["bits_per_character"]["words"] = 29
    first, *_ = sentences(found)
    assert first == "29 words cannot say whether the model beats counting; 30 or more can."
