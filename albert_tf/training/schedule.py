"""The learning rate over the steps of a run, and how far their number may change.

Linear is google-research/albert's schedule. With `constant-cooldown` (Hägele et al.,
2405.18392) no rate before the cooldown depends on the number of steps, so that a run
may be given more of them.

A run continues with the same settings, so that it ends with the same bytes wherever it
was stopped. Its micro-batch may change, which affects only rounding, and its number of
steps, as long as no finished step depends on it.
"""

import dataclasses
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from albert_tf.runs.checkpoints import newest_step
from schemas.config import ResolvedTrainConfig, TrainConfig
from schemas.errors import SettingError
from schemas.phases import given, parse_schedule
from schemas.settings import flag_name

# The batch that the default learning rate is meant for.
PAPER_BATCH_SIZE = TrainConfig().batch_size

# What the rates of a schedule depend on from its cooldown on.
OF_COOLDOWN = ("steps", "cooldown_share")


def learning_rate_of(config: ResolvedTrainConfig, step: int) -> float:
    """The learning rate of a step of a run.

    Both warm-up and linear decay are counted from step 0, as published
    (`optimization.py`): the first step of a warm-up has rate 0, and at its end the rate
    drops from almost the peak to `1 - warmup_steps / steps` of it.

    >>> config = TrainConfig(learning_rate=1.0, steps=10, warmup_steps=2).resolved()
    >>> [learning_rate_of(config, step) for step in (0, 1, 2, 9)]
    [0.0, 0.5, 0.8, 0.1]
    """
    peak, warmup_steps = peak_learning_rate(config), config.warmup_steps
    if step < warmup_steps:
        return peak * step / warmup_steps
    if config.schedule == "linear":
        return peak * (config.steps - step) / config.steps
    start = config.cooldown_start
    peak *= inverse_root(min(step, start), constant_steps=config.constant_steps)
    return cooldown(step, peak=peak, start=start, steps=config.steps)


def inverse_root(step: int, *, constant_steps: int | None) -> float:
    """The share of a rate that is left when it falls with the root of the step.

    Source: Zhai et al. 2022, 2106.04560, whose long runs share one beginning too.

    Args:
        step: From 0.
        constant_steps: Those with all of it; None for all steps.

    >>> [inverse_root(step, constant_steps=100) for step in (10, 100, 400)]
    [1.0, 1.0, 0.5]
    """
    if constant_steps is None or step <= constant_steps:
        return 1.0
    return math.sqrt(constant_steps / step)


def cooldown(step: int, *, peak: float, start: int, steps: int) -> float:
    """The peak up to a step, then 1 - sqrt of the share of the cooldown that is done.

    Source: Hägele et al., 2405.18392, where this form beat the linear one.

    >>> [cooldown(s, peak=1.0, start=4, steps=8) for s in (0, 4, 5, 8)]
    [1.0, 1.0, 0.5, 0.0]
    """
    if step < start:
        return peak
    return peak * (1 - math.sqrt((step - start) / (steps - start)))


def peak_learning_rate(config: TrainConfig) -> float:
    """The highest rate of a run, scaled to its batch if that was asked for.

    The square-root rule of You et al., 1904.00962: 0.00176 at 4096 is 0.005 at 32768.
    """
    if not config.scale_lr_to_batch:
        return config.learning_rate
    return config.learning_rate * math.sqrt(config.batch_size / PAPER_BATCH_SIZE)


def continued(now: TrainConfig, begun: TrainConfig) -> TrainConfig:
    """The settings given, completed by what the run has where they would derive it.

    A warm-up derived from other steps would be another one, and evaluations on another
    number of examples would not compare.

    >>> begun = TrainConfig(steps=4000, schedule="constant-cooldown", warmup_steps=100)
    >>> longer = TrainConfig(steps=8000, schedule="constant-cooldown")
    >>> continued(longer, begun).warmup_steps
    100
    """
    kept: dict[str, int] = {}
    micro, warmup = begun.micro_batch_size, begun.resolved().warmup_steps
    if now.micro_batch_size is None and micro and micro <= now.batch_size:
        kept["micro_batch_size"] = micro
    is_derived = now.resolved().warmup_steps == warmup
    examples = begun.resolved().eval_examples
    if now.eval_examples is None and now.resolved().eval_examples != examples:
        kept["eval_examples"] = examples
    if now.warmup_steps is None and not is_derived and warmup <= now.cooldown_start:
        kept["warmup_steps"] = warmup
    return dataclasses.replace(now, **kept)  # type: ignore[arg-type]


class Bound(NamedTuple):
    """The last step up to which a quantity is independent of --steps."""

    step: int
    what: str


def first_bound(config: TrainConfig) -> Bound:
    """How many steps of a run are the same if it is given more or fewer of them.

    >>> first_bound(TrainConfig(steps=4000, warmup_steps=100)).step
    100
    >>> first_bound(TrainConfig(steps=4000, schedule="constant-cooldown")).step
    3200
    """
    return min(_bounds(config))


def _bounds(config: TrainConfig) -> Iterator[Bound]:
    """The bound of each quantity that depends on the number of steps."""
    is_linear = config.schedule == "linear"
    rates = config.warm_up if is_linear else config.cooldown_start
    yield Bound(rates, "its learning rates depend")
    for setting, text in given(config).items():
        stage, *others = parse_schedule(text, setting)
        if stage.first != stage.last:
            yield Bound(0, "the settings of its examples depend")
        elif others:
            end = round(stage.end * config.steps)
            yield Bound(end, "the settings of its examples depend")


def check_steps_may_change(run: Path, before: TrainConfig, now: TrainConfig) -> None:
    """Refuse another number of steps where a step that is done depends on it.

    Args:
        before: The settings that the run has.
        now: The same but for `OF_COOLDOWN`.
    """
    deciding = ("steps",) if before.schedule == "linear" else OF_COOLDOWN
    if all(getattr(before, name) == getattr(now, name) for name in deciding):
        return
    step = newest_step(run) or 0
    bound = min(first_bound(before), first_bound(now))
    if step <= bound.step:
        return
    changed = [n for n in deciding if getattr(before, n) != getattr(now, n)]
    flags = " and ".join(map(flag_name, changed))
    kept = " and ".join(f"{flag_name(n)} {getattr(before, n)}" for n in changed)
    raise SettingError(
        f"{run} is at step {step} of {before.steps} and cannot change {flags}: after "
        f"step {bound.step} {bound.what} on {'them' if 'steps' in changed else 'it'}; "
        f"keep {kept}, or begin another run with its weights: another --output with "
        f"--init-from {shlex.quote(str(run))}."
    )
