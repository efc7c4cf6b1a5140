"""What is said before the first step: what it takes, and its share of the machine."""

from albert_tf.planning.cost import training_flops
from albert_tf.runs.progress import Progress
from albert_tf.training.matrix_rate import rate_for_training
from albert_tf.training.steps import Counts, TrainingSteps
from schemas.config import TrainConfig
from schemas.readable import duration, prefixed


def step_text(rows: int, seconds: float, *, number: int, size: int) -> str:
    """What a step consists of and how long it takes.

    Args:
        rows: Sequences.
        seconds: What it takes.
        number: Micro-batches; the last ones may have room for more.
        size: Sequences in one.

    >>> step_text(7, 1.5, number=2, size=4)
    'A step of 7 sequences (2 x 4) takes about 1.5 s'
    """
    return (
        f"A step of {rows} sequences ({number} x {size}) takes about "
        f"{duration(seconds)}"
    )


def utilization_text(
    steps: TrainingSteps,
    counts: Counts,
    seconds: float,
    *,
    devices: int,
    config: TrainConfig,
    progress: Progress,
) -> str:
    """The MFU of a step, with what it is a share of; empty if nothing is shown.

    The machine is measured for it, which takes a second. Padding counts as no work.

    Args:
        steps: Compiled.
        counts: Of the step.
        seconds: What it takes.
        devices: That compute it.
        config: The settings.
        progress: Asked whether anything is shown.
    """
    if progress.is_quiet:
        return ""
    rate = rate_for_training(config.precision, progress.say) * devices
    flops = config.batch_size * training_flops(
        steps.model.config,
        length=round(counts["piece_count"] / config.batch_size),
        predictions=round(counts["mlm_count"] / config.batch_size),
    )
    return f" ({mfu_text(flops / seconds, rate=rate)})"


def mfu_text(achieved: float, *, rate: float) -> str:
    """How much of the machine's rate of matrix products is made use of, in FLOP/s.

    The rate is measured in the same minute on one shape of matrices, so a step can seem
    to exceed it; that is reported as 100 %.

    >>> mfu_text(6.15e10, rate=1.23e11), mfu_text(1.27e11, rate=1.23e11)
    ('MFU 50% of 123 GFLOP/s', 'MFU 100% of 123 GFLOP/s')
    """
    return f"MFU {min(1.0, achieved / rate):.0%} of {prefixed(rate, 'FLOP')}/s"
