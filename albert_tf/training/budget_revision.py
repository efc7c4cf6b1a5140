"""The steps of a budget, counted again while a run shows its pace.

The machine may have been busy for a moment when steps were timed before a run, and an
hour of training makes many machines hot. So a run with a budget pauses now and then,
while none of its steps depends on how many there will be, and continues with as many as
fit: its weights are those of a run that was begun with that many, and with the same
warm-up.
"""

import bisect
import dataclasses
import math
from collections.abc import Callable

from albert_tf.planning.cost import training_flops
from albert_tf.training.continuation import first_bound
from schemas.config import ModelConfig, ResolvedDataConfig, TrainConfig
from schemas.errors import SettingError
from schemas.phases import Sample, mean_length, samples_of

# Of the steps that do not depend on how many there will be, the shares after which they
# are counted again: the last time when a little can still be taken off.
PAUSES = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)

# There is no pause after fewer steps than this: they say nothing about the pace.
LEAST_STEPS_TIMED = 8

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


def pause_after(share: float, config: TrainConfig) -> int:
    """The step of one of the `PAUSES`; 0 for none.

    >>> pause_after(0.4, TrainConfig(steps=4000, warmup_steps=400))
    160
    >>> pause_after(0.4, TrainConfig(steps=4000, masked_lm_prob="0.30..0.15"))
    0
    """
    step = int(share * first_bound(config).step)
    return step if step >= LEAST_STEPS_TIMED else 0


def steps_that_fit(
    step: int, *, step_seconds: float, evaluating: float, seconds: float
) -> int:
    """The steps that a run has time for, in all.

    Args:
        step: Those that are done.
        step_seconds: What one of the others will take.
        evaluating: What evaluations add, as a share of that.
        seconds: From now to the end, evaluations included.
    """
    more = (seconds - ENDING_SECONDS) / (step_seconds * (1 + evaluating))
    return step + max(0, int(more))


def least_steps(config: TrainConfig, *, step: int) -> int:
    """The fewest steps that a run can have, once this many are done.

    With fewer, some of those would have been different.

    >>> least_steps(TrainConfig(steps=4000, schedule="constant-cooldown"), step=2400)
    3000
    """

    def are_enough(steps: int) -> bool:
        try:
            return first_bound(dataclasses.replace(config, steps=steps)).step >= step
        except SettingError:
            return False  # not even for the warm-up

    fewer = range(step, config.steps)
    return step + bisect.bisect_left(fewer, True, key=are_enough)


def cost_ahead(
    config: TrainConfig,
    model: ModelConfig,
    data: ResolvedDataConfig,
    *,
    step: int,
    length: float,
) -> float:
    """What a step after a pause costs on average, in steps before it.

    Args:
        config: The settings of the run.
        model: Its architecture.
        data: The settings of its data.
        step: After which it pauses.
        length: Tokens in an average example of the data.
    """

    def flops(sample: Sample) -> int:
        tokens = mean_length(sample.config, data=data, length=length)
        predictions = round(sample.config.masked_lm_prob * tokens)
        return training_flops(model, length=tokens, predictions=predictions)

    samples = list(samples_of(data, config))
    before, done = flops(samples[0]), step / config.steps
    whole = math.fsum(sample.share * flops(sample) for sample in samples)
    return (whole / before - done) / (1 - done)
