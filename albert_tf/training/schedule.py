"""The learning rate over the steps of a run: ALBERT's schedule, or with a cooldown.

Linear is google-research/albert's. With `constant-cooldown` (Hägele et al., 2405.18392)
no rate before the cooldown depends on the number of steps, so that a run may be given
more of them, and many budgets share one beginning.
"""

import math

from schemas.config import ResolvedTrainConfig, TrainConfig

# The batch that the default learning rate is meant for.
PAPER_BATCH_SIZE = TrainConfig().batch_size


def learning_rate_of(config: ResolvedTrainConfig, step: int) -> float:
    """The learning rate of a step of a run.

    Both warm-up and linear decay are counted from step 0, as published: the first step
    of a warm-up has rate 0.

    Args:
        config: The resolved settings.
        step: From 0.
    """
    peak, warmup_steps = peak_learning_rate(config), config.warmup_steps
    if step < warmup_steps:
        return peak * step / warmup_steps
    if config.schedule == "linear":
        return linear_decay(step, peak=peak, steps=config.steps)
    start = config.cooldown_start
    peak *= inverse_root(min(step, start), constant_steps=config.constant_steps)
    return cooldown(step, peak=peak, start=start, steps=config.steps)


def linear_decay(step: int, *, peak: float, steps: int) -> float:
    """Linear decay to 0, counted from step 0, as published (`optimization.py`).

    So at the end of the warm-up the rate drops from almost `peak` to
    `peak * (1 - warmup_steps / steps)`.

    >>> [linear_decay(step, peak=1.0, steps=10) for step in (2, 9)]
    [0.8, 0.1]
    """
    return peak * (steps - step) / steps


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
