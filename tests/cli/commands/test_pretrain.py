"""`albert pretrain`: what it leaves when it fails, how long it takes, what it says."""

import json
import time

import pytest

from cli.commands import pretrain
from cli.support.console import Console
from schemas.config import ModelConfig, TrainConfig
from tests.commands import attempt, run


@pytest.fixture
def command(small, tmp_path):
    return (
        *("pretrain", "--data", small / "data", "--output", tmp_path / "run"),
        *("--model", "tiny", "--steps", 2, "--batch-size", 2, "--eval-examples", 2),
    )


def test_a_run_that_fails_before_its_first_checkpoint_keeps_what_it_measured(
    command, tmp_path
):
    folder = tmp_path / "run"
    code, said = attempt(*command, "--learning-rate", 9e18, "--warmup-steps", 0)
    assert code == 1
    assert said.endswith(f"; what was measured is in {folder}/metrics.jsonl.\n")
    assert json.loads((folder / "config.json").read_bytes())["learning_rate"] == 9e18
    splits = [
        json.loads(line)["split"]
        for line in (folder / "metrics.jsonl").read_text().splitlines()
    ]
    assert splits[0] == "eval"
    # It is no run to continue, so other settings may take its place.
    said = run(*command)
    assert json.loads((folder / "config.json").read_bytes())["learning_rate"] == 0.00176
    assert said.splitlines()[-4] == f"{folder}: finished, 2 steps"
    assert said.splitlines()[-3].startswith(f"Next:  albert evaluate {folder} --data ")


def test_the_time_allowed_counts_from_when_the_command_was_entered(
    monkeypatch, tmp_path
):
    given = {}

    def train(*_, max_seconds, **__):
        given["max_seconds"] = max_seconds

    monkeypatch.setattr("albert_tf.training.train.pretrain", train)
    monkeypatch.setattr(pretrain, "STARTED", time.monotonic() - 50)
    paths = {"data": tmp_path, "output": tmp_path, "init_from": None}
    for max_time, left in ((60.0, pytest.approx(10.0, abs=1.0)), (None, None)):
        pretrain.train(
            ModelConfig(),
            TrainConfig(),
            paths=paths,
            max_time=max_time,
            console=Console(quiet=True),
        )
        assert given["max_seconds"] == left
