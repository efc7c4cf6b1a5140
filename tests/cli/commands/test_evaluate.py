"""`albert evaluate`: what it says before it measures, and how it shows metrics."""

import dataclasses
import json
import os
import shutil
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from albert_tf.evaluation import evaluate as evaluate_module
from albert_tf.evaluation.minimal_pairs import MinimalPair
from albert_tf.runs.metrics import WORD_LOSSES, read_evaluations
from cli.commands.evaluate import run_section, trained_files
from schemas.files import read_json, write_json
from schemas.layout import EVALUATIONS
from schemas.report import as_text
from tests.commands import attempt, make_data, run
from tests.evaluations import evaluation
from tests.exported_runs import SMALL_RUN, write_run

METRICS = evaluation()


def copied(encoder, folder, **settings):
    """A run of one's own, some settings of its record replaced."""
    shutil.copytree(encoder, folder)
    write_json(folder / "config.json", read_json(folder / "config.json") | settings)
    return folder


@pytest.fixture
def trained(encoder, tmp_path):
    return copied(encoder, tmp_path / "run")


@pytest.fixture(scope="module")
def longer(small, tmp_path_factory):
    """Data with longer sequences than the run was trained on."""
    folder = tmp_path_factory.mktemp("longer") / "data"
    make_data(small, "--max-seq-length", 40, output=folder)
    return folder


@pytest.fixture
def measured(monkeypatch):
    """What is asked for a measurement; nothing is computed."""
    evaluate = Mock(return_value=METRICS)
    monkeypatch.setattr(evaluate_module, "evaluate", evaluate)
    return evaluate


def said(folder, data, *arguments):
    lines = run("evaluate", folder, "--data", data, "--json", *arguments).splitlines()
    assert json.loads(lines.pop()) == METRICS
    return lines


def test_positions_never_trained_are_said_also_of_an_export(trained, longer, measured, tmp_path):
    sentence = (
        f"{longer} has sequences of 40 tokens and {{}} was trained on "
        "at most 32: the positions after that were never trained."
    )
    assert said(trained, longer) == [sentence.format(trained)]
    assert said(trained, longer, "--quiet") == []
    run("export", trained, "--to", "hf", "--output", tmp_path / "hf")
    shutil.rmtree(trained)
    _, lines = attempt("analyze", "layers", tmp_path / "hf", "--data", longer)
    assert lines.startswith(f"{sentence.format(tmp_path / 'hf')}\n")


def test_labels_of_another_sentence_task_are_said(small, tmp_path, measured):
    for task in ("nsp", "none", "sop"):
        config = dataclasses.replace(SMALL_RUN, sentence_task=task)
        write_run(tmp_path / task, config, small)
    assert said(tmp_path / "nsp", small / "data") == [
        f"The sentence task of {tmp_path}/nsp is nsp and the labels of {small}/data are of sop: "
        "sentence_loss and sentence_accuracy say little."
    ]
    # As of the data that a run was trained on.
    assert said(tmp_path / "none", small / "data") == said(tmp_path / "sop", small / "data") == []


def test_a_person_reads_at_a_glance_whether_the_model_beats_counting():
    assert as_text(run_section(METRICS)).splitlines() == [
        "Step 7, 300 held-out examples of the data set (abababababab), float32",
        "",
        "what predicts                 bits per character  masked-LM loss    masked tokens right",
        "the model                 1.750 (1.700 to 1.800)           5.500  12.5% (11.5 to 13.6%)",
        "counting both neighbours  2.000 (1.950 to 2.050)           5.750  15.0% (13.9 to 16.1%)",
        "counting tokens           2.750 (2.700 to 2.800)           6.800     4.0% (3.4 to 4.7%)",
        "",
        "The model beats counting both neighbours by 0.250 bits per character (0.200 to 0.300).",
        "Minimal pairs: 70.0% (48.1 to 85.5%) of 20 right.",
        "Sentence task: 50.0% (44.4 to 55.6%) right, loss 0.693.",
        "Bits per character are over 2,000 held-out words (10,000 characters), each masked alone.",
        "Counting used 120,000 tokens in 1,200 examples of the training split.",
        "",
        "paradigm                   right  of pairs",
        "agreement  60.0% (31.3 to 83.2%)        10",
        "order      80.0% (49.0 to 94.3%)        10",
    ]


@pytest.mark.parametrize("flags", [(), ("--quiet",)])
def test_a_result_that_cannot_be_kept_is_shown_and_that_is_said(trained, small, measured, flags):
    (trained / EVALUATIONS).write_text("")
    (line,) = said(trained, small / "data", *flags)
    assert line.startswith(f"{trained}/{EVALUATIONS} cannot be written: ")
    assert line.endswith(" The result is not kept.")


def write_pairs(folder):
    folder.mkdir()
    pairs = [{"sentence_good": p.good, "sentence_bad": p.bad, "UID": p.paradigm} for p in ORDER]
    (folder / "order.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (folder / "case.txt").write_text("him ran .\nhe ran .\n")
    (folder / "README.md").write_text("Pairs.")
    return folder


ORDER = [MinimalPair("order", f"A {n}.", f"B {n}.") for n in range(3)]
CASE = MinimalPair("case", "he ran .", "him ran .")


@pytest.mark.parametrize(
    ("names", "flags", "expected"),
    [
        ([""], [], [CASE, *ORDER]),
        (["*.jsonl", "case.txt"], [], [*ORDER, CASE]),
        ([""], ["--pairs-per-paradigm", 2], [CASE, *ORDER[:2]]),
    ],
)
def test_pairs_are_taken_from_files_folders_and_globs(
    trained, small, tmp_path, measured, names, flags, expected
):
    folder = write_pairs(tmp_path / "pairs")
    paths = [part for name in names for part in ("--minimal-pairs", folder / name)]
    said(trained, small / "data", *paths, *flags)
    assert measured.call_args.kwargs["scope"].pairs == expected


def write_task(folder):
    sentences = ["The old river ran past the mill and the mill ran no more.", "It is."]
    rows = [{"sentence": f"{n}. {one} " * 9} for n, one in enumerate(sentences * 3)]
    path = folder / "task.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"{path}:sentence"


@pytest.fixture(scope="module")
def evaluated(encoder, small, tmp_path_factory):
    """A run, the task it was measured on, and what was found of its data and of the task."""
    folder = tmp_path_factory.mktemp("evaluated")
    trained = copied(encoder, folder / "run", data=str(small / "data"))
    pairs, task = write_pairs(folder / "pairs"), write_task(folder)
    given = ("evaluate", trained, "--words", 50, "--quiet", "--json")
    of_data = run(*given, "--data", small / "data", "--minimal-pairs", pairs)
    of_task = run(*given, "--text", task)
    return trained, task, json.loads(of_data), json.loads(of_task)


def test_a_run_is_measured_from_end_to_end(evaluated):
    trained, _, found, _ = evaluated
    assert found["bits_per_character"]["words"] == 50
    assert found["minimal_pairs"]["pairs"] == 4
    # Random weights are worse than any counting.
    assert found["bits_per_character"]["model_minus_neighbours"]["low"] > 0
    (kept,) = (one for one in read_evaluations(trained) if one["text"] == "data")
    assert len(kept.pop(WORD_LOSSES)["losses"]) == 50
    assert kept == found


def test_any_text_is_measured_beside_counting_in_the_training_data(evaluated):
    trained, task, of_data, found = evaluated
    assert found["text"] == "task.jsonl:sentence"
    assert found["data_fingerprint"] != of_data["data_fingerprint"]
    assert found["counting"]["tokens"] == of_data["counting"]["tokens"]
    assert found["bits_per_character"]["words"] == 50
    # Measured again it is the same, and neither has replaced the other.
    given = ("evaluate", trained, "--words", 50, "--quiet", "--json")
    assert json.loads(run(*given, "--text", task)) == found
    kept = read_evaluations(trained)
    assert [one["text"] for one in kept] == ["data", "task.jsonl:sentence"]
    of_text = f"Step 7, {found['examples']} held-out examples of"
    assert as_text(run_section(kept[1])).startswith(of_text)


def test_text_that_was_trained_on_is_not_called_held_out(trained, small):
    of_training = min((small / "text").iterdir())
    few = ("--words", 0, "--eval-examples", 8)
    said = run("evaluate", trained, *few, "--quiet", "--text", of_training)
    assert " held-out " not in said
    assert f" of {of_training.name} (" in said
    assert "; trained on), float32" in said
    assert (
        f"The model was trained on {of_training.name}: these figures say nothing of unseen text.\n"
    ) in said


def data_of(fraction, *trained, held_out=()):
    """What a manifest says of the files of a data set and the share held out."""
    inputs = [{"name": f"{name}.txt", "sha256": name} for name in trained]
    inputs += [{"name": f"{name}.txt", "sha256": name, "split": "eval"} for name in held_out]
    return SimpleNamespace(inputs=inputs, config=SimpleNamespace(eval_fraction=fraction))


@pytest.mark.parametrize(
    ("measured", "trained", "names"),
    [
        (data_of(0.1, "a"), None, []),
        (data_of(0.1, "a"), data_of(0.1, "a"), []),
        (data_of(0.05, "a"), data_of(0.1, "a"), []),
        (data_of(0.2, "a", "b"), data_of(0.1, "a"), ["a.txt"]),
        (data_of(0.0, held_out="ab"), data_of(0.1, "a"), ["a.txt"]),
        (data_of(0.0, held_out="a"), data_of(0.0, "b", held_out="a"), []),
    ],
)
def test_text_that_a_run_was_trained_on_is_told(measured, trained, names):
    assert trained_files(measured, trained) == names


def test_text_is_measured_where_the_training_data_are_gone(encoder, tmp_path):
    trained = copied(encoder, tmp_path / "run", data=f"{tmp_path}/gone")
    said = run("evaluate", trained, "--text", write_task(tmp_path))
    assert "so nothing is counted beside the model; --data gives one." in said
    assert "the model" in said
    assert "counting" not in said.partition("what predicts")[2]


def test_no_secret_of_the_address_of_a_text_is_kept_or_shown(trained, memory):
    memory["/shelf/a.txt?sig=xyzzy"] = b"The old river ran past the mill. It ran no more.\n" * 9
    said = run("evaluate", trained, "--text", "memory://shelf/a.txt?sig=xyzzy", "--words", 0)
    assert "of a.txt?sig=*** (" in said
    (kept,) = (trained / "evaluations").iterdir()
    assert b"xyzzy" not in os.fsencode(kept.name) + kept.read_bytes()
