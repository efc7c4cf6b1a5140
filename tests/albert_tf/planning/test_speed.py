"""How long a step takes is estimated from those of other shapes."""

import dataclasses

import pytest

from albert_tf.planning.compute_cost import training_flops
from albert_tf.planning.ladder import ladder_model
from albert_tf.planning.speed import Timing, Workload, estimated_seconds

STEP = Workload(batch_size=32, length=104, predictions=15)


def timed(layers, hidden, *, rate):
    """A step of a machine that does so many operations a second."""
    config = ladder_model(layers, hidden)
    return Timing(config, STEP, seconds=STEP.flops(config) / rate)


def rate_of(timings, config):
    return STEP.flops(config) / estimated_seconds(timings, config, STEP)


def test_the_operations_of_a_step_are_those_of_its_examples():
    config = ladder_model(4, 256)
    of_example = training_flops(config, length=104, predictions=15)
    assert STEP.flops(config) == 32 * of_example


@pytest.mark.parametrize(
    ("hidden", "rate"),
    [
        (64, 1e11),
        (128, 1e11),
        (256, 2e11),
        (362, 2.25e11),
        (512, 2.5e11),
        (768, 2.5e11),
    ],
)
def test_wider_layers_make_more_of_a_machine_whatever_was_timed_first(hidden, rate):
    timings = [
        timed(8, 512, rate=2.5e11),
        timed(2, 128, rate=1e11),
        timed(4, 256, rate=2e11),
    ]
    config = dataclasses.replace(
        ladder_model(6, 256), hidden_size=hidden, num_attention_heads=1
    )
    assert rate_of(timings, config) == pytest.approx(rate, rel=1e-3)


def test_a_shape_that_was_timed_takes_what_it_took():
    timing = timed(4, 256, rate=2e11)
    seconds = estimated_seconds([timing], timing.config, STEP)
    assert seconds == pytest.approx(timing.seconds)
