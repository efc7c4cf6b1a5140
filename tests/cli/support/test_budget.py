"""`--budget`: what is chosen is said, frozen into the run, and gone on with."""

import json
import time

import pytest

from albert_tf.planning.ladder import SHAPES
from albert_tf.training import budget_choice
from cli.commands import pretrain
from cli.support import budget
from cli.support.budget import overrides_of
from schemas.presets import PRESETS
from tests.commands import attempt, run


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A machine on which so many steps fit that a test has time for."""
    monkeypatch.setattr(budget, "STARTED", time.monotonic())
    monkeypatch.setattr(budget_choice, "OVERHEAD_SECONDS", 0.0)
    monkeypatch.setattr(budget_choice, "step_seconds", lambda *_, length: 20.0)
    monkeypatch.setattr(budget_choice, "fed_step_seconds", lambda *_, seconds: 20.0)
    monkeypatch.setattr(
        budget_choice, "matrix_rate", {"bfloat16": 1.0, "float32": 1.0}.get
    )


@pytest.fixture
def command(small, tmp_path):
    return (
        *("pretrain", "--data", small / "data", "--output", tmp_path / "run"),
        *("--eval-examples", 2, "--batch-size", 2),
    )


def config_of(folder):
    return json.loads((folder / "config.json").read_bytes())


def test_the_choice_is_frozen_so_that_the_same_command_goes_on(command, tmp_path):
    given = (*command, "--model", "tiny", "--budget", "80s")
    said = run(*given)
    assert "chosen: 4 layers of 256, sharing none, 3 steps of 2 sequences" in said
    config = config_of(tmp_path / "run")
    assert (config["steps"], config["batch_size"]) == (3, 2)
    assert (config["optimizer"], config["initializer"]) == ("muon", "positional-heads")
    assert config["chosen_for_budget"]["seconds"] == 80.0
    again = run(*given)
    assert again.splitlines()[-1].endswith("is finished already; nothing to do.")
    assert "chosen:" not in again
    code, said = attempt(*command, "--model", "tiny", "--budget", "2h")
    assert code == 2
    assert said == (
        f"Error: {tmp_path}/run was begun with --budget 80s; give the same to go on, "
        "or another --output.\n"
    )


def test_steps_are_counted_again_while_a_run_shows_its_pace_and_kept(
    command, tmp_path, monkeypatch
):
    # The budget is over at the first pause, so that nothing but the cooldown is left.
    monkeypatch.setattr(pretrain, "STARTED", time.monotonic() - 3600)
    monkeypatch.setattr(budget_choice, "fed_step_seconds", lambda *_, seconds: 0.4)
    given = (*command, "--budget", "60s", "--model", "tiny")
    given = (*given, "--set", "num_hidden_layers=1", "--set", "intermediate_size=64")
    said = run(*given)
    config = config_of(tmp_path / "run")
    planned = config["began"]["steps"]
    # 60 s less what was spent before, at 0.4 s a step and a sixteenth for evaluations.
    assert 80 <= planned <= int(60 / (0.4 * 1.0625))
    assert f", {planned} steps of 2 sequences" in said
    # A fifth of the four fifths before the cooldown; a twentieth is too few to tell.
    pause = int(0.2 * (planned - round(0.2 * planned)))
    steps = config["steps"]
    assert steps - round(0.2 * steps) == pause
    assert (
        f"At the pace so far {pause} steps fill the budget, not {planned}, and it can "
        f"have no fewer than {steps} now.\n"
    ) in said
    assert config["identity"]["steps"] == steps
    assert config["warmup_steps"] == planned // 40
    again = run(*given)
    assert again.splitlines()[-1].endswith("is finished already; nothing to do.")


def test_steps_and_a_budget_do_not_go_together(command):
    code, said = attempt(*command, "--budget", "80s", "--steps", 10)
    assert code == 2
    assert said == "Error: --budget chooses the steps; leave it or --steps out.\n"


def test_a_plan_tells_the_ladder_and_the_command(small):
    said = run("plan", "--budget", "1h", "--data", small / "data")
    rungs = [line for line in said.splitlines() if line[:1].isdigit()]
    assert [line.split(",")[0] for line in rungs] == [
        f"{layers} layers of {hidden}" for layers, hidden in SHAPES
    ]
    assert said.count("  chosen\n") == 1
    assert "Next:  albert pretrain --budget 3600s --data " in said


def test_a_plan_for_a_budget_needs_data():
    code, said = attempt("plan", "--budget", "1h")
    assert code == 2
    assert said == "Error: --budget plans for a data set; name it with --data.\n"


def test_a_preset_itself_needs_no_overrides():
    assert overrides_of(PRESETS["tiny"]) == ()
    assert "hidden_size=768" in overrides_of(PRESETS["base"])
