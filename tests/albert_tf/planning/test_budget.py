"""The model for a budget: not the largest, not the one with most steps."""

import pytest

from albert_tf.planning.budget import (
    LEAST_STEPS,
    Outlook,
    best,
    evaluating_share,
)
from albert_tf.planning.ladder import Law, Terms, ladder_model
from albert_tf.planning.speed import Timing, Workload
from schemas.config import TrainConfig

LAW = Law(
    Terms(a=200.0, b=100_000.0),
    margin=0.05,
    most_weights=1e7,
    most_tokens=1e8,
)
STEP = Workload(batch_size=32, length=100, predictions=15)
LADDER = [ladder_model(*shape) for shape in ((2, 128), (4, 256), (8, 512))]
# Seconds of a step: a machine of 2e11 operations a second, about.
TIMINGS = [
    Timing(config, STEP, seconds)
    for config, seconds in zip(LADDER, (0.12, 0.45, 2.4), strict=True)
]


def outlook(law=LAW):
    return Outlook(STEP, lambda steps: 1 / 16, law)


def considered(seconds, law=LAW):
    return outlook(law).candidates(LADDER, TIMINGS, seconds=seconds)


def chosen(seconds):
    found = considered(seconds)
    return LADDER[best(found)].hidden_size


def test_the_longer_the_budget_the_larger_the_model():
    assert [chosen(hours * 3600) for hours in (0.1, 5, 500)] == [128, 256, 512]


def test_evaluations_are_part_of_the_budget():
    found = outlook().candidate(LADDER[0], step_seconds=0.5, seconds=106.3)
    assert found.steps == 200
    assert found.tokens == 640_000


@pytest.mark.parametrize(
    ("settings", "held_out", "share"),
    [
        ({}, 100_000, 1.25 / 3 * 0.15),
        ({"eval_examples": 10_000}, 100_000, 1.25 / 3 * 10_000 / (400 * 32)),
        ({"eval_every": 10_000}, 100_000, 1.25 / 3 * 10_000 / (10_000 * 32)),
        ({}, 192, 1.25 / 3 * 192 / (400 * 32)),
        ({"warmup_steps": 20_000}, 0, 0.0),
    ],
)
def test_evaluations_take_what_their_number_and_their_examples_ask(
    settings, held_out, share
):
    train = TrainConfig(batch_size=32, steps=50_000, **settings)
    found = evaluating_share(10_000, train, held_out=held_out)
    assert found == pytest.approx(share)


def test_a_budget_shorter_than_a_step_still_is_a_step():
    found = outlook().candidate(LADDER[2], step_seconds=9.0, seconds=1)
    assert found.steps == 1


def test_a_model_that_would_hardly_begin_is_no_choice_if_another_is():
    certain = Law(Terms(a=200.0, b=0.0), 0.05, 1e9, 1e9)
    found = considered(2.4 * LEAST_STEPS, certain)
    assert found[2].loss_share < found[1].loss_share
    assert best(found) == 1
    short = considered(10, certain)
    assert best(short) == 2
