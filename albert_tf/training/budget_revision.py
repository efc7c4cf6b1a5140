"""The steps of a budget, counted again once a run has shown its pace.

Steps that were timed before a run may have had a machine that was hot, or busy for a
moment. So a run with a budget pauses before any of its steps depends on how many there
will be, and goes on with as many as fit: it has the weights of a run that was begun
with so many, and with the same warm-up.
"""

import dataclasses
import math
from collections.abc import Callable

from albert_tf.planning.budget import EVALUATING
from albert_tf.planning.compute_cost import training_flops
from albert_tf.training.continuation import first_bound
from schemas.config import ModelConfig, ResolvedDataConfig, TrainConfig
from schemas.phases import Sample, samples_of

# The share before the pause of those steps that do not depend on how many there will
# be: steps up to twice as slow as they were timed can still be counted anew.
PAUSED_AFTER = 0.5

# With fewer steps than these before the pause there is none: they tell nothing.
LEAST_STEPS = 8

# Saving, and ending the process.
ENDING_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Deadline:
    """When the last step of a run is to be done.

    Attributes:
        at: In seconds of `time.monotonic`.
        tell: Told the settings with the steps that fit, before the first of them.
    """

    at: float
    tell: Callable[[TrainConfig], None]


def pause_of(config: TrainConfig) -> int:
    """The step after which the steps of a run are counted again; 0 for not at all.

    >>> pause_of(TrainConfig(steps=4000, warmup_steps=400))
    200
    >>> pause_of(TrainConfig(steps=4000, masked_lm_prob="0.30..0.15"))
    0
    """
    step = int(PAUSED_AFTER * first_bound(config).step)
    return step if step >= LEAST_STEPS else 0


def steps_that_fit(
    config: TrainConfig,
    model: ModelConfig,
    data: ResolvedDataConfig,
    *,
    length: float,
    step_seconds: float,
    seconds: float,
) -> int:
    """The steps of a run that pauses now, in all.

    Args:
        config: Its settings.
        model: Its architecture.
        data: The settings of its data.
        length: Tokens in an average example.
        step_seconds: What a step took before the pause.
        seconds: From now to its end.
    """
    ahead = step_seconds * cost_ahead(config, model, data, length=length)
    more = (seconds - ENDING_SECONDS) / (ahead * (1 + EVALUATING))
    return pause_of(config) + max(0, int(more))


def least_steps(config: TrainConfig) -> int:
    """The steps that a run which pauses now has at least.

    With fewer, steps that are done would have been others, or the warm-up that is begun
    would not end before the rate falls.

    >>> least_steps(TrainConfig(steps=4000, warmup_steps=400))
    2000
    >>> least_steps(TrainConfig(steps=4000, warmup_steps=3000))
    3000
    """
    share = 0.0 if config.schedule == "linear" else config.cooldown_share
    warmed = math.ceil(config.warm_up / (1 - share))
    return max(math.ceil(PAUSED_AFTER * config.steps), warmed)


def cost_ahead(
    config: TrainConfig, model: ModelConfig, data: ResolvedDataConfig, *, length: float
) -> float:
    """What a step after the pause costs on average, in steps before it.

    Args:
        config: The settings of the run.
        model: Its architecture.
        data: The settings of its data.
        length: Tokens in an average example.
    """

    def flops(sample: Sample) -> int:
        tokens = round(length * sample.config.max_seq_length / data.max_seq_length)
        share = 1.0 if sample.is_causal else sample.config.masked_lm_prob
        return training_flops(model, length=tokens, predictions=round(share * tokens))

    samples = list(samples_of(data, config))
    before, done = flops(samples[0]), pause_of(config) / config.steps
    whole = math.fsum(sample.share * flops(sample) for sample in samples)
    return (whole / before - done) / (1 - done)
