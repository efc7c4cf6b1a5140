"""The learning rate over the steps of a run, as google-research/albert has it."""

import math

from schemas.config import ResolvedTrainConfig, TrainConfig

# The batch that the default learning rate is meant for.
PAPER_BATCH_SIZE = TrainConfig().batch_size


def learning_rate(step: int, *, peak: float, warmup_steps: int, steps: int) -> float:
    """Linear warm-up, then linear decay to 0, both counted from step 0.

    So the first step has rate 0, and at the end of the warm-up the rate drops from
    almost `peak` to `peak * (1 - warmup_steps / steps)`, as published.

    >>> [learning_rate(s, peak=1.0, warmup_steps=2, steps=10) for s in (0, 1, 2, 9)]
    [0.0, 0.5, 0.8, 0.1]
    """
    if step < warmup_steps:
        return peak * step / warmup_steps
    return peak * (steps - step) / steps


def learning_rate_of(config: ResolvedTrainConfig, step: int) -> float:
    """The learning rate of a step, from 0, of a run with these resolved settings."""
    return learning_rate(
        step,
        peak=peak_learning_rate(config),
        warmup_steps=config.warmup_steps,
        steps=config.steps,
    )


def peak_learning_rate(config: TrainConfig) -> float:
    """The highest rate of a run, scaled to its batch if that was asked for.

    The square-root rule of You et al., 1904.00962: 0.00176 at 4096 is 0.005 at 32768.
    """
    if not config.scale_lr_to_batch:
        return config.learning_rate
    return config.learning_rate * math.sqrt(config.batch_size / PAPER_BATCH_SIZE)
