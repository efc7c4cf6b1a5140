"""The learning rate, at the published settings and at the edges."""

import math

import pytest

from albert_tf.training.schedule import learning_rate_of, peak_learning_rate
from schemas.config import TrainConfig


def rate(step, **settings):
    """The learning rate of a step, from 0."""
    return learning_rate_of(TrainConfig(**settings).resolved(), step)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (0, 0.0),
        (1, 0.00176 / 3125),
        (3124, 0.00176 * 3124 / 3125),
        (3125, 0.00176 * 0.975),
        (62_500, 0.00088),
        (124_999, 0.00176 / 125_000),
        (125_000, 0.0),
    ],
)
def test_paper_schedule(step, expected):
    assert rate(step) == pytest.approx(expected, rel=1e-12)


def test_without_warm_up_the_first_step_has_the_peak_rate():
    assert rate(0, learning_rate=0.5, warmup_steps=0, steps=10) == 0.5


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (0, 0.0),
        (5, 0.25),
        (10, 0.5),
        (79, 0.5),
        (80, 0.5),
        (81, 0.5 * (1 - math.sqrt(1 / 20))),
        (85, 0.25),
        (99, 0.5 * (1 - math.sqrt(19 / 20))),
        (100, 0.0),
    ],
)
def test_constant_with_cooldown(step, expected):
    settings = {"learning_rate": 0.5, "warmup_steps": 10, "steps": 100}
    ours = rate(step, schedule="constant-cooldown", cooldown_share=0.2, **settings)
    assert ours == pytest.approx(expected, rel=1e-12)


def test_a_cooldown_of_no_steps_leaves_the_rate_constant():
    settings = {"learning_rate": 0.5, "warmup_steps": 0, "steps": 10}
    rates = {
        rate(step, schedule="constant-cooldown", cooldown_share=0.0, **settings)
        for step in range(10)
    }
    assert rates == {0.5}


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (5, 0.25),
        (25, 0.5),
        (36, 0.5 * 5 / 6),
        (64, 0.5 * 5 / 8),
        (80, 0.5 * math.sqrt(25 / 80)),
        (85, 0.25 * math.sqrt(25 / 80)),
        (100, 0.0),
    ],
)
def test_a_rate_that_falls_with_the_root_of_the_step_before_its_cooldown(
    step, expected
):
    settings = {"learning_rate": 0.5, "warmup_steps": 10, "steps": 100}
    ours = rate(step, schedule="constant-cooldown", constant_steps=25, **settings)
    assert ours == pytest.approx(expected, rel=1e-12)


def test_a_derived_warm_up_ends_where_the_rate_begins_to_fall():
    settings = {"schedule": "constant-cooldown", "constant_steps": 1000}
    rates = [
        rate(step, learning_rate=1.0, steps=290_000, **settings)
        for step in (500, 999, 1000, 1001, 4000)
    ]
    assert rates == pytest.approx([0.5, 0.999, 1.0, 1.0, 0.5], rel=1e-3)


def test_no_rate_before_the_cooldown_depends_on_the_number_of_steps():
    first, second = (
        [
            rate(
                step,
                schedule="constant-cooldown",
                constant_steps=30,
                warmup_steps=7,
                steps=steps,
            )
            for step in range(80)
        ]
        for steps in (100, 1000)
    )
    assert first == second


def test_rate_is_scaled_by_the_root_of_the_batch_when_asked():
    assert peak_learning_rate(TrainConfig(batch_size=256)) == 0.00176
    config = TrainConfig(batch_size=256, scale_lr_to_batch=True)
    assert peak_learning_rate(config) == pytest.approx(0.00044)
