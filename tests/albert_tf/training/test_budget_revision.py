"""The steps of a budget counted again: how many, and that the run is as if begun so."""

import dataclasses
import time

import pytest

from albert_tf.planning.compute_cost import training_flops
from albert_tf.training import train as train_module
from albert_tf.training.budget_revision import (
    ENDING_SECONDS,
    Deadline,
    cost_ahead,
    pause_of,
    steps_that_fit,
)
from albert_tf.training.train import pretrain
from schemas.config import DataConfig, TrainConfig
from tests.albert_tf.training.test_train import CONFIG, final
from tests.training_data import TINY, write_dataset

BEGUN = dataclasses.replace(CONFIG, steps=40, warmup_steps=20)
DATA = DataConfig(max_seq_length=24, examples="on-the-fly").resolved(input_bytes=0)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_dataset(root)
    return root


def lines(*, until, seconds):
    """The metrics of steps that take so many seconds each, after a slow first one."""
    return [
        {"split": "train", "step": step, "seconds": 5.0 + seconds * step}
        for step in range(1, until + 1)
    ]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        # 100 s for steps of 0.2 s, and a sixteenth as long for evaluations.
        (100.0 + ENDING_SECONDS, 100 + 470),
        # Twice the time, as many again.
        (200.0 + ENDING_SECONDS, 100 + 941),
        # Too few for what is done already to be the same: half as many as planned.
        (1.0, 1000),
        (-50.0, 1000),
    ],
)
def test_as_many_steps_as_the_time_left_is_enough_for(seconds, expected):
    config = TrainConfig(steps=2000, warmup_steps=200).resolved()
    assert pause_of(config) == 100
    counted = steps_that_fit(
        config,
        TINY,
        DATA,
        lines(until=100, seconds=0.2),
        length=20.0,
        seconds=seconds,
    )
    assert counted == max(expected, 1000)


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
        ({"causal_share": 0.5}, [(0.5, 20, 20), (0.5, 20, 3)]),
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
    assert cost_ahead(config, TINY, DATA, length=20.0) == pytest.approx(expected)


@pytest.mark.parametrize("steps", [30, 52])
def test_a_run_with_other_steps_is_as_if_it_was_begun_with_them(
    data, tmp_path, monkeypatch, steps
):
    monkeypatch.setattr(train_module, "steps_that_fit", lambda *_, **__: steps)
    told = []
    deadline = Deadline(time.monotonic() + 60, told.append)
    result = pretrain(
        TINY, BEGUN, data=data, output=tmp_path / "revised", deadline=deadline
    )
    assert (result.step, result.steps, result.finished) == (steps, steps, True)
    asked = dataclasses.replace(BEGUN, steps=steps)
    assert told == [asked.resolved()]
    pretrain(TINY, asked, data=data, output=tmp_path / "begun")
    assert final(tmp_path / "revised") == final(tmp_path / "begun")


def test_a_run_that_goes_on_keeps_the_steps_it_has(data, tmp_path):
    output = tmp_path / "run"
    pretrain(TINY, BEGUN, data=data, output=output, max_seconds=0.0)
    deadline = Deadline(time.monotonic() - 60, pytest.fail)
    result = pretrain(TINY, BEGUN, data=data, output=output, deadline=deadline)
    assert (result.step, result.steps) == (40, 40)


def test_there_is_no_pause_where_the_first_step_depends_on_how_many_there_are(
    data, tmp_path
):
    config = dataclasses.replace(BEGUN, warmup_steps=0)
    deadline = Deadline(time.monotonic() - 60, pytest.fail)
    result = pretrain(TINY, config, data=data, output=tmp_path / "r", deadline=deadline)
    assert (result.step, result.steps) == (40, 40)
