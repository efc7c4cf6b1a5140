"""The steps of a budget counted again: how many, and that the run is as if begun so."""

import dataclasses
import time

import pytest

from albert_tf.planning.cost import training_flops
from albert_tf.training import train as train_module
from albert_tf.training.budget_revision import (
    ENDING_SECONDS,
    PAUSES,
    Deadline,
    cost_ahead,
    least_steps,
    pause_after,
    steps_that_fit,
)
from albert_tf.training.continuation import first_bound
from schemas.config import DataConfig, TrainConfig
from schemas.errors import SettingError
from tests.albert_tf.training.test_train import (
    CONFIG,
    OF_DOCUMENTS,
    final,
    train,
)
from tests.commands import make_data
from tests.training_data import TINY, write_dataset

BEGUN = dataclasses.replace(CONFIG, steps=40, schedule="constant-cooldown")
DATA = DataConfig(max_seq_length=24, examples="on-the-fly").resolved(input_bytes=0)


# What of the recipe for budgets depends on the number of steps, or might.
RECIPE = {
    "masked_lm_prob": "0.30:0.8,0.30..0.15",
    "unigram_bias": True,
    "pmi_embeddings": True,
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_dataset(root)
    return root


@pytest.fixture(scope="module")
def documents(small, tmp_path_factory):
    output = tmp_path_factory.mktemp("documents") / "data"
    make_data(small, "--eval-fraction", 0.3, "--examples", "on-the-fly", output=output)
    return output


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        # Steps of 0.2 s, and a sixteenth as long for evaluations.
        (100.0 + ENDING_SECONDS, 100 + 470),
        (200.0 + ENDING_SECONDS, 100 + 941),
        (-50.0, 100),
    ],
)
def test_as_many_steps_as_the_time_left_is_enough_for(seconds, expected):
    settings = {"step_seconds": 0.2, "evaluating": 1 / 16, "seconds": seconds}
    assert steps_that_fit(100, **settings) == expected


@pytest.mark.parametrize("schedule", ["linear", "constant-cooldown"])
@pytest.mark.parametrize("warmup", [0, 1, 70])
@pytest.mark.parametrize("masked", [None, "0.30:0.5,0.15", "0.30:0.8,0.30..0.15"])
@pytest.mark.parametrize("share", PAUSES)
def test_the_fewest_steps_are_those_of_which_none_that_is_done_would_be_another(
    schedule, warmup, masked, share
):
    config = TrainConfig(
        steps=1000, schedule=schedule, warmup_steps=warmup, masked_lm_prob=masked
    )
    step = pause_after(share, config)
    least = least_steps(config, step=step)
    assert first_bound(dataclasses.replace(config, steps=least)).step >= step
    for steps in range(max(1, least - 3), least):
        try:
            fewer = dataclasses.replace(config, steps=steps)
        except SettingError:
            continue
        assert steps < step or first_bound(fewer).step < step


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        # The share of the steps, tokens in an example, and those to predict.
        ({}, [(1.0, 20, 3)]),
        (
            {"masked_lm_prob": "0.30:0.1,0.30..0.15"},
            [(0.1, 20, 6), (0.45, 20, 5), (0.45, 20, 4)],
        ),
        ({"max_seq_length": "24:0.9,48"}, [(0.9, 20, 3), (0.1, 40, 6)]),
    ],
)
def test_steps_ahead_cost_what_their_examples_do(settings, parts):
    config = TrainConfig(steps=2000, warmup_steps=200, **settings)
    costs = [
        training_flops(TINY, length=length, predictions=predictions)
        for _, length, predictions in parts
    ]
    whole = sum(share * cost for (share, *_), cost in zip(parts, costs, strict=True))
    # A twentieth of the steps is done, at the first cost.
    expected = (whole - 0.05 * costs[0]) / (0.95 * costs[0])
    ahead = cost_ahead(config, TINY, DATA, step=100, length=20.0)
    assert ahead == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("stored", 30),
        ("stored", 52),
        ("documents", 52),
        pytest.param("documents", 30, marks=pytest.mark.slow),
    ],
)
def test_a_run_with_other_steps_is_as_if_it_was_begun_with_them(
    kind, steps, request, tmp_path, monkeypatch
):
    model, config, data = TINY, BEGUN, request.getfixturevalue(kind)
    if kind == "documents":
        model, config = OF_DOCUMENTS, dataclasses.replace(BEGUN, **RECIPE)
    monkeypatch.setattr(train_module, "steps_that_fit", lambda *_, **__: steps)
    told = []
    deadline = Deadline(time.monotonic() + 60, told.append)
    result = train(
        data, tmp_path / "revised", model=model, config=config, deadline=deadline
    )
    assert (result.step, result.steps, result.finished) == (steps, steps, True)
    asked = dataclasses.replace(config, steps=steps)
    assert told == [asked.resolved()]
    train(data, tmp_path / "begun", model=model, config=asked)
    assert final(tmp_path / "revised") == final(tmp_path / "begun")


def test_a_run_that_is_killed_before_its_new_steps_are_kept_has_the_old_ones(
    stored, tmp_path
):
    def killed(config):
        raise KeyboardInterrupt

    output = tmp_path / "run"
    deadline = Deadline(time.monotonic() + 60, killed)
    with pytest.raises(KeyboardInterrupt):
        train(stored, output, config=BEGUN, deadline=deadline)
    result = train(stored, output, config=BEGUN)
    assert (result.step, result.finished) == (40, True)
    train(stored, tmp_path / "whole", config=BEGUN)
    assert final(output) == final(tmp_path / "whole")


def test_a_run_that_goes_on_keeps_the_steps_it_has(stored, tmp_path):
    output = tmp_path / "run"
    train(stored, output, config=BEGUN, max_seconds=0.0)
    deadline = Deadline(time.monotonic() - 60, pytest.fail)
    result = train(stored, output, config=BEGUN, deadline=deadline)
    assert (result.step, result.steps) == (40, 40)


def test_there_is_no_pause_where_the_first_step_depends_on_how_many_there_are(
    stored, tmp_path
):
    config = dataclasses.replace(CONFIG, steps=40, warmup_steps=0)
    deadline = Deadline(time.monotonic() - 60, pytest.fail)
    result = train(stored, tmp_path / "r", config=config, deadline=deadline)
    assert (result.step, result.steps) == (40, 40)
