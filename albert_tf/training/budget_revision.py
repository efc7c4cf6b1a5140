"""The steps of a budget, counted again once a run has shown its pace.

Steps that were timed before a run may have had a machine that was hot, or busy for a
moment. So a run with a budget pauses before any of its steps depends on how many there
will be, and goes on with as many as fit: it has the bytes of a run that was begun with
them.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

from albert_tf.planning.budget import EVALUATING
from albert_tf.planning.compute_cost import training_flops
from albert_tf.runs.metrics import Metrics
from albert_tf.training.continuation import first_bound
from schemas.config import (
    ModelConfig,
    ResolvedDataConfig,
    ResolvedTrainConfig,
    TrainConfig,
)
from schemas.layout import TRAIN
from schemas.phases import Sample, samples_of

# The share before the pause of those steps that do not depend on how many there will
# be: steps up to twice as slow as they were timed can still be counted anew.
PAUSED_AFTER = 0.5

# Of the steps before the pause, the first ones that do not count: many compile.
WARMING = 0.25

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
    config: ResolvedTrainConfig,
    model: ModelConfig,
    data: ResolvedDataConfig,
    lines: Sequence[Metrics],
    *,
    length: float,
    seconds: float,
) -> int:
    """The steps of a run that pauses now, in all.

    Args:
        config: Its settings.
        model: Its architecture.
        data: The settings of its data.
        lines: Its metrics up to here.
        length: Tokens in an average example.
        seconds: From now to its end.
    """
    step = pause_of(config)
    ahead = step_seconds(lines) * cost_ahead(config, model, data, length=length)
    more = (seconds - ENDING_SECONDS) / (ahead * (1 + EVALUATING))
    return max(math.ceil(PAUSED_AFTER * config.steps), step + int(more))


def step_seconds(lines: Sequence[Metrics]) -> float:
    """The seconds of a step, by lines of metrics of which the first do not count.

    >>> lines = [
    ...     {"split": "train", "step": step, "seconds": seconds}
    ...     for step, seconds in ((5, 9.0), (10, 14.0), (15, 16.0), (20, 18.0))
    ... ]
    >>> step_seconds(lines)
    0.4
    """
    trained = [
        (line["step"], line["seconds"]) for line in lines if line["split"] == TRAIN
    ]
    first_step, begun = trained[int(WARMING * len(trained))]
    last_step, done = trained[-1]
    return float((done - begun) / (last_step - first_step))


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
