"""The model for a budget: not the largest, not the one with most steps."""

import dataclasses
import functools

import pytest

from albert_tf.planning import budget
from albert_tf.planning.budget import (
    LEAST_STEPS,
    SHAPES,
    Law,
    Outlook,
    Workload,
    best,
    effective_weights,
    estimated_seconds,
    evaluating_share,
    ladder_model,
)
from albert_tf.planning.cost import training_flops
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig

LAW = Law(a=200.0, b=100_000.0, c=0.0, most_weights=1e7, most_tokens=1e8)
STEP = Workload(batch_size=32, length=100, predictions=15)
LADDER = [ladder_model(*shape) for shape in ((2, 128), (4, 256), (8, 512))]
# Seconds of a step: a machine of 2e11 operations a second, about.
STEP_SECONDS = (0.12, 0.45, 2.4)


def outlook(law=LAW):
    return Outlook(STEP, lambda steps: 1 / 16, text=1_000_000, law=law)


def considered(seconds, law=LAW):
    return outlook(law).candidates(LADDER, STEP_SECONDS, seconds=seconds)


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
def test_evaluations_take_what_their_number_and_their_examples_ask(settings, held_out, share):
    train = TrainConfig(batch_size=32, steps=50_000, **settings)
    found = evaluating_share(10_000, train, held_out=held_out)
    assert found == pytest.approx(share)


def test_a_budget_shorter_than_a_step_still_is_a_step():
    found = outlook().candidate(LADDER[2], step_seconds=9.0, seconds=1)
    assert found.steps == 1


def test_a_model_that_would_hardly_begin_is_no_choice_if_another_is():
    certain = LAW._replace(b=0.0, most_weights=1e9, most_tokens=1e9)
    found = considered(2.4 * LEAST_STEPS, certain)
    assert found[2].loss_share < found[1].loss_share
    assert best(found) == 1
    short = considered(10, certain)
    assert best(short) == 2


def test_a_run_far_beyond_those_measured_is_told_from_one_among_them():
    assert not LAW.is_outside(weights=1e6, tokens=199_000_000)
    assert LAW.is_outside(weights=1e6, tokens=201_000_000)
    assert LAW.is_outside(weights=1e9, tokens=1_000_000)


@pytest.mark.parametrize(
    ("weights", "tokens", "text", "is_fitted"),
    [
        (393_216, 3_987_130, 1_000_000, True),
        (4_718_592, 60_000_000, 38_000_000, True),
        (393_216, 320_000, 320_000, True),
        # Planned before a step is timed, and perhaps half of it is done.
        (393_216, 200_000, 320_000, False),
        (100_000, 10_000_000, 1_000_000, False),
        # Six layers of 384, as a GPU trains in minutes.
        (10_616_832, 10_000_000, 1_000_000, False),
        (4_718_592, 75_000_000, 38_000_000, False),
        (393_216, 3_987_130, 80_000, False),
        (393_216, 3_987_130, 4_000_000_000, True),
    ],
)
def test_a_loss_is_told_only_where_runs_like_it_were_fitted(weights, tokens, text, is_fitted):
    found = budget.LAW.is_fitted(weights=weights, tokens=tokens, text=text)
    assert found == is_fitted


def test_no_run_is_expected_to_end_worse_than_it_begins():
    found = outlook(budget.LAW).candidate(LADDER[0], step_seconds=1.0, seconds=2.0)
    assert found.loss_share > found.expected_share == 1.1


def test_more_weights_and_more_tokens_never_promise_less():
    share = functools.partial(budget.LAW.share, text=1e6)
    at = [share(weights=1e6, tokens=tokens) for tokens in (1e6, 1e7, 1e8)]
    assert at == sorted(at, reverse=True)
    of = [share(weights=weights, tokens=1e7) for weights in (1e5, 1e6, 1e7)]
    assert of == sorted(of, reverse=True)


@pytest.mark.parametrize(
    ("changes", "worth"),
    [
        ({}, 12),
        ({"intermediate_size": 512}, 8),
        ({"sharing": "all"}, 12 * 4**-0.54),
        ({"sharing": "all", "num_hidden_groups": 4}, 12),
        ({"sharing": "all", "num_hidden_groups": 2}, 12 * 2**-0.54),
        ({"sharing": "attention"}, 4 * 4**-0.54 + 8),
        ({"sharing": "ffn"}, 4 + 8 * 4**-0.54),
    ],
)
def test_weights_count_for_what_they_are_worth(changes, worth):
    model = ladder_model(4, 256, **changes)
    assert effective_weights(model) == pytest.approx(4 * 256 * 256 * worth)


def test_the_widest_rung_is_albert_base_without_sharing():
    assert ladder_model(*SHAPES[-1]) == ModelConfig(sharing="none")


def test_every_rung_has_a_head_for_each_neighbour():
    models = [ladder_model(*shape) for shape in SHAPES]
    assert min(model.num_attention_heads for model in models) == 4


def test_the_operations_of_a_step_are_those_of_its_examples():
    config = ladder_model(4, 256)
    of_example = training_flops(config, length=100, predictions=15)
    assert STEP.flops(config) == 32 * of_example


@pytest.mark.parametrize(
    ("hidden", "rate"),
    [(64, 1e11), (128, 1e11), (256, 2e11), (362, 2.25e11), (512, 2.5e11), (768, 2.5e11)],
)
def test_wider_layers_make_more_of_a_machine_whatever_was_timed_first(hidden, rate):
    rates = {512: 2.5e11, 128: 1e11, 256: 2e11}
    config = dataclasses.replace(ladder_model(6, 256), hidden_size=hidden, num_attention_heads=1)
    seconds = estimated_seconds(rates, config, STEP)
    assert STEP.flops(config) / seconds == pytest.approx(rate, rel=1e-3)
