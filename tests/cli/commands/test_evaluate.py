"""`albert evaluate`: what it says before it measures, and how it shows metrics."""

import dataclasses
import json
import shutil

import pytest

from albert_tf.training import evaluation
from cli.commands.evaluate import table
from tests.commands import attempt, make_data, run
from tests.exported_runs import SMALL_RUN, write_run

METRICS = {"step": 7, "examples": 3, "mlm_loss": 5.5, "sentence_accuracy": None}


@pytest.fixture
def measured(monkeypatch):
    """The arguments that a measurement is asked for; nothing is computed."""
    asked = []

    def evaluate(run, **arguments):
        asked.append(arguments)
        return METRICS

    monkeypatch.setattr(evaluation, "evaluate", evaluate)
    return asked


def said(folder, data, *arguments):
    """What is said before the metrics."""
    lines = run("evaluate", folder, "--data", data, "--json", *arguments).splitlines()
    assert json.loads(lines.pop()) == METRICS
    return lines


def test_nothing_is_said_of_data_as_a_run_was_trained_on(small, tmp_path, measured):
    write_run(tmp_path / "run", SMALL_RUN, small)
    assert said(tmp_path / "run", small / "data") == []


def test_positions_that_were_never_trained_are_said(small, tmp_path, measured):
    write_run(tmp_path / "run", SMALL_RUN, small)
    code, _ = make_data(small, "--max-seq-length", 40, output=tmp_path / "data")
    assert code == 0
    assert said(tmp_path / "run", tmp_path / "data") == [
        f"{tmp_path}/data has sequences of 40 tokens and {tmp_path}/run was trained on "
        "at most 32: the positions after that were never trained."
    ]
    assert said(tmp_path / "run", tmp_path / "data", "--quiet") == []


@pytest.mark.parametrize(
    ("task", "lines"),
    [
        (
            "nsp",
            "The sentence task of RUN is nsp and the labels of DATA are of sop: "
            "sentence_loss and sentence_accuracy say little.",
        ),
        ("none", ""),
    ],
)
def test_labels_of_another_sentence_task_are_said(
    small, tmp_path, measured, task, lines
):
    config = dataclasses.replace(SMALL_RUN, sentence_task=task)
    write_run(tmp_path / "run", config, small)
    (line,) = said(tmp_path / "run", small / "data") or [""]
    line = line.replace(f"{tmp_path}/run", "RUN").replace(f"{small}/data", "DATA")
    assert line == lines


def test_the_best_checkpoint_can_be_measured(small, tmp_path, measured):
    write_run(tmp_path / "run", SMALL_RUN, small)
    said(tmp_path / "run", small / "data", "--checkpoint", "best")
    assert [arguments["which"] for arguments in measured] == ["best"]


def test_a_person_reads_counts_losses_and_shares():
    metrics = {"step": 1200, "mlm_loss": 5.25, "mlm_accuracy": 0.125}
    assert table(metrics).split() == [
        *("step", "1,200", "mlm_loss", "5.2500", "mlm_accuracy", "12.50%")
    ]


def test_an_export_says_what_its_run_was_trained_on(small, tmp_path):
    write_run(tmp_path / "run", SMALL_RUN, small)
    run("export", tmp_path / "run", "--to", "hf", "--output", tmp_path / "hf")
    shutil.rmtree(tmp_path / "run")
    code, _ = make_data(small, "--max-seq-length", 40, output=tmp_path / "data")
    assert code == 0
    _, lines = attempt(
        "analyze", "layers", tmp_path / "hf", "--data", tmp_path / "data"
    )
    assert lines.startswith(
        f"{tmp_path}/data has sequences of 40 tokens and {tmp_path}/hf was trained on "
        "at most 32: the positions after that were never trained.\n"
    )
