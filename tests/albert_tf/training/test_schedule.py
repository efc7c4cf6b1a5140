"""The learning rate, at the published settings and at the edges."""

import math
from dataclasses import asdict, replace

import pytest

from albert_tf.runs.run_record import recorded_settings, recorded_training
from albert_tf.training import optimizers
from albert_tf.training.optimizers import check_steps_may_change, continued
from schemas.config import TrainConfig
from schemas.errors import SettingError
from tests.refusals import refusal
from tests.runs import write_records


def rate(step, **settings):
    return optimizers.learning_rate_of(TrainConfig(**settings).resolved(), step)


COOLDOWN = {"learning_rate": 0.5, "schedule": "constant-cooldown"}
# Settings, and the rates of steps.
RATES = {
    "the paper's": (
        {},
        {
            0: 0.0,
            1: 0.00176 / 3125,
            3124: 0.00176 * 3124 / 3125,
            3125: 0.00176 * 0.975,
            62_500: 0.00088,
            124_999: 0.00176 / 125_000,
            125_000: 0.0,
        },
    ),
    "no warm-up": ({"learning_rate": 0.5, "warmup_steps": 0, "steps": 10}, {0: 0.5}),
    "constant, with a cooldown": (
        {**COOLDOWN, "cooldown_share": 0.2, "warmup_steps": 10, "steps": 100},
        {
            **{0: 0.0, 5: 0.25, 10: 0.5, 79: 0.5, 80: 0.5},
            **{81: 0.5 * (1 - math.sqrt(1 / 20)), 85: 0.25},
            **{99: 0.5 * (1 - math.sqrt(19 / 20)), 100: 0.0},
        },
    ),
    "a cooldown of no steps": (
        {**COOLDOWN, "cooldown_share": 0.0, "warmup_steps": 0, "steps": 10},
        dict.fromkeys(range(10), 0.5),
    ),
    "falling with the root of the step before the cooldown": (
        {**COOLDOWN, "constant_steps": 25, "warmup_steps": 10, "steps": 100},
        {
            **{5: 0.25, 25: 0.5, 36: 0.5 * 5 / 6, 64: 0.5 * 5 / 8, 80: 0.5 * math.sqrt(25 / 80)},
            **{85: 0.25 * math.sqrt(25 / 80), 100: 0.0},
        },
    ),
    # A derived warm-up ends where the rate begins to fall.
    "a derived warm-up": (
        {**COOLDOWN, "constant_steps": 1000, "steps": 290_000},
        {500: 0.25, 999: 0.4995, 1000: 0.5, 4000: 0.25},
    ),
}


@pytest.mark.parametrize("kind", RATES)
def test_the_rate_of_a_step_follows_from_its_schedule(kind):
    settings, expected = RATES[kind]
    found = {step: rate(step, **settings) for step in expected}
    assert found == pytest.approx(expected, rel=1e-12)


def test_no_rate_before_the_cooldown_depends_on_the_number_of_steps():
    constant = {"schedule": "constant-cooldown", "constant_steps": 30, "warmup_steps": 7}
    first, second = ([rate(n, **constant, steps=steps) for n in range(80)] for steps in (100, 1000))
    assert first == second


def test_rate_is_scaled_by_the_root_of_the_batch_when_asked():
    assert optimizers.peak_learning_rate(TrainConfig(batch_size=256)) == 0.00176
    config = TrainConfig(batch_size=256, scale_lr_to_batch=True)
    assert optimizers.peak_learning_rate(config) == pytest.approx(0.00044)


@pytest.mark.parametrize(
    ("begun", "longer", "examples"),
    [({}, {}, 672), ({"eval_examples": 10_000}, {}, 10_000), ({}, {"eval_examples": 50}, 50)],
)
def test_a_longer_run_is_evaluated_on_as_many_examples_unless_asked(begun, longer, examples):
    settings = {"batch_size": 16, "schedule": "constant-cooldown"}
    before = TrainConfig(steps=7000, **settings, **begun)
    after = continued(TrainConfig(steps=14_000, **settings, **longer), before)
    assert after.resolved().eval_examples == examples


STEPS_100 = TrainConfig(steps=100, schedule="constant-cooldown", cooldown_share=0.2)
WARMING_100 = TrainConfig(steps=100, warmup_steps=10, masked_lm_prob="0.3:0.2,0.30..0.15")


@pytest.mark.parametrize(
    ("before", "step", "changes"),
    [
        (STEPS_100, 0, {"steps": 10}),
        (STEPS_100, 80, {"steps": 101}),
        (STEPS_100, 80, {"cooldown_share": 0.0}),
        (STEPS_100, 40, {"steps": 50}),
        (STEPS_100, 99, {"micro_batch_size": 1}),
        # Which a linear schedule has no use for.
        (TrainConfig(steps=100, warmup_steps=10), 50, {"cooldown_share": 0.5}),
        (WARMING_100, 10, {"steps": 50}),
        (WARMING_100, 10, {"steps": 200}),
    ],
)
def test_other_steps_are_taken_while_no_step_depends_on_them(tmp_path, before, step, changes):
    (tmp_path / f"checkpoints/step-{step:08}").mkdir(parents=True)
    check_steps_may_change(tmp_path, before, replace(before, **changes))


# What depends on the number of steps.
RATES_DEPEND, EXAMPLES_DEPEND = "its learning rates", "the settings of its examples"


@pytest.mark.parametrize(
    ("before", "last", "changes", "depends"),
    [
        (TrainConfig(steps=100, warmup_steps=10), 10, {"steps": 200}, RATES_DEPEND),
        (replace(STEPS_100, max_seq_length="16:0.5,32"), 50, {"steps": 200}, EXAMPLES_DEPEND),
        (replace(STEPS_100, masked_lm_prob="0.30..0.15"), 0, {"steps": 200}, EXAMPLES_DEPEND),
        (STEPS_100, 80, {"steps": 200}, RATES_DEPEND),
        (STEPS_100, 80, {"cooldown_share": 0.1}, RATES_DEPEND),
        (STEPS_100, 40, {"steps": 50}, RATES_DEPEND),
    ],
)
def test_other_steps_are_refused_if_one_depends_on_them(tmp_path, before, last, changes, depends):
    run = tmp_path / "my run"
    (run / f"checkpoints/step-{last + 1:08}").mkdir(parents=True)
    now, is_of_steps = replace(before, **changes), "steps" in changes
    flag, kept, them = ("--steps", 100, "them") if is_of_steps else ("--cooldown-share", 0.2, "it")
    assert refusal(check_steps_may_change, run, before, now, error=SettingError) == (
        f"{run} is at step {last + 1} of 100 and cannot change {flag}: after step {last} {depends} "
        f"depend on {them}; keep {flag} {kept}, or begin another run with its weights: another "
        f"--output with --init-from '{run}'."
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"micro_batch_size": 4, "warmup_steps": None}),
        ({"micro_batch_size": 2}, {"micro_batch_size": 2}),
        ({"batch_size": 3}, {"micro_batch_size": None}),
        ({"steps": 800}, {"warmup_steps": 10}),
        ({"steps": 800, "warmup_steps": 20}, {"warmup_steps": 20}),
        ({"steps": 8}, {"warmup_steps": None}),
    ],
)
def test_what_is_left_out_stays_as_a_run_has_it(tmp_path, given, expected):
    begun = {"batch_size": 8, "micro_batch_size": 4, "steps": 400, "warmup_steps": 10}
    run = write_records(tmp_path / "run", **begun)
    recorded = recorded_training(run, recorded_settings(run))
    ours = continued(TrainConfig(**{"batch_size": 8, "steps": 400} | given), recorded)
    assert asdict(ours).items() >= expected.items()
