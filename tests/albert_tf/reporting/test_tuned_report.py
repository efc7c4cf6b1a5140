"""What a report shows of a fine-tuned model."""

import json

import pytest

from albert_tf.reporting.tuned_report import tuned_section
from albert_tf.runs.task_record import TaskRecord, write_record
from schemas.errors import AlbertError
from schemas.files import write_json
from schemas.report import Curve
from schemas.task import TaskSpec

SPEC = TaskSpec(
    name="reviews", kind="classify", labels=("bad", "good"), metrics=("accuracy",)
)
RESULT = {
    "step": 4,
    "examples": 10,
    "metric": "accuracy",
    "metrics": {"accuracy": 0.5},
    "intervals": {"accuracy": [0.2, 0.8]},
    "baselines": {"majority": {"accuracy": 0.5}, "words": {"accuracy": 0.75}},
    "labels": {
        "bad": {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": 5},
        "good": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 5},
    },
    "confusion": [[5, 0], [5, 0]],
    "errors": [],
}
LINES = [
    {"step": 0, "split": "eval", "accuracy": 0.4},
    {"step": 4, "split": "train", "loss": 0.7, "learning_rate": 0.0, "seconds": 1.0},
    {"step": 4, "split": "eval", "accuracy": 0.5},
]


@pytest.fixture
def folder(tmp_path):
    record = TaskRecord(
        spec=SPEC,
        max_seq_length=16,
        doc_stride=8,
        max_query_tokens=8,
        max_answer_tokens=4,
    )
    write_record(tmp_path, record)
    write_json(tmp_path / "eval.json", RESULT)
    text = "".join(json.dumps(line) + "\n" for line in LINES)
    (tmp_path / "metrics.jsonl").write_text(text)
    return tmp_path


def test_a_model_that_is_stuck_at_the_majority_is_called_that(folder):
    section = tuned_section(folder, title="tuned")
    assert section.notes == (
        "The model is stuck at the majority: accuracy 0.5000, and always giving the "
        "same answer scores 0.5000.",
    )
    assert [plot.title for plot in section.plots] == ["accuracy", "loss"]
    points = ((0, 0.4), (4, 0.5))
    assert section.plots[0].curves == (Curve(run=0, is_held_out=True, points=points),)
    measures, labels, confusion = section.tables
    assert measures.columns == ("measure", "model", "95 %", "majority", "words")
    assert measures.rows == (
        ("accuracy", "0.5000", "0.2000 to 0.8000", "0.5000", "0.7500"),
    )
    assert labels.rows[0] == ("bad", "0.5000", "1.0000", "0.6667", 5)
    assert confusion.rows == (("bad", 5, 0), ("good", 5, 0))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"metric": "f1"}, "metrics has no f1"),
        ({"step": -1}, "step must be a whole number"),
        ({"baselines": []}, "baselines must be an object"),
    ],
)
def test_an_edited_result_is_refused_in_one_sentence(folder, change, sentence):
    write_json(folder / "eval.json", {**RESULT, **change})
    with pytest.raises(AlbertError, match=sentence):
        tuned_section(folder, title="tuned")


def test_older_files_may_name_a_temperature(folder):
    before = tuned_section(folder, title="tuned")
    for name in ("task.json", "eval.json"):
        path = folder / name
        write_json(path, {**json.loads(path.read_text()), "temperature": 1.5})
    assert tuned_section(folder, title="tuned") == before


def test_a_model_that_was_imported_has_no_section(folder):
    (folder / "eval.json").unlink()
    write_json(folder / "config.json", {"command": "import"})
    with pytest.raises(AlbertError, match=r"was imported and has no eval\.json"):
        tuned_section(folder, title="tuned")


def test_a_model_that_is_not_finished_has_no_section_yet(folder):
    (folder / "eval.json").unlink()
    with pytest.raises(AlbertError, match="is not finished yet"):
        tuned_section(folder, title="tuned")
