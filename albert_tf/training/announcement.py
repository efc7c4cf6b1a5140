"""What is said before the first step: what it takes, and its share of the machine."""

import math

from albert_tf.model.pretrainer import Batch
from albert_tf.planning.compute_cost import training_flops
from albert_tf.training.matrix_rate import rate_for_training
from albert_tf.training.progress import Progress
from albert_tf.training.steps import TrainingSteps
from schemas.config import TrainConfig
from schemas.readable import duration, prefixed


def timed_step(steps: TrainingSteps, batch: Batch) -> float:
    """Compile the step; the seconds that a whole one will take.

    Nothing of this changes the run.

    Args:
        steps: Compiled here.
        batch: Of a whole step, `[K, M, ...]`.
    """
    devices = steps.num_devices
    part = {name: values[:devices] for name, values in batch.items()}
    return steps.compile(part) * math.ceil(len(batch["input_ids"]) / devices)


def step_text(batch: Batch, seconds: float) -> str:
    """What a step consists of and how long it takes.

    >>> import numpy as np
    >>> step_text({"input_ids": np.zeros((2, 4, 128))}, 1.5)
    'A step of 8 sequences (2 x 4) takes about 1.5 s'
    """
    number, size, _ = batch["input_ids"].shape
    return (
        f"A step of {number * size} sequences ({number} x {size}) takes about "
        f"{duration(seconds)}"
    )


def utilization_text(
    steps: TrainingSteps,
    batch: Batch,
    seconds: float,
    *,
    config: TrainConfig,
    progress: Progress,
) -> str:
    """The MFU of a step, with what it is a share of; empty if nothing is shown.

    The machine is measured for it, which takes a second.
    """
    if progress.is_quiet:
        return ""
    rate = rate_for_training(config.precision, progress.say) * steps.num_devices
    number, size, length = batch["input_ids"].shape
    flops = training_flops(
        steps.model.config, length=length, predictions=batch["masked_lm_ids"].shape[-1]
    )
    return f" ({mfu_text(number * size * flops / seconds, rate=rate)})"


def mfu_text(achieved: float, *, rate: float) -> str:
    """How much of the machine's rate of matrix products is made use of, in FLOP/s.

    The rate is measured in the same minute on one shape of matrices, so a step can seem
    to reach more than all of it; that is told as all.

    >>> mfu_text(6.15e10, rate=1.23e11), mfu_text(1.27e11, rate=1.23e11)
    ('MFU 50% of 123 GFLOP/s', 'MFU 100% of 123 GFLOP/s')
    """
    return f"MFU {min(1.0, achieved / rate):.0%} of {prefixed(rate, 'FLOP')}/s"
