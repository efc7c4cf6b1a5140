"""How long a step of any shape takes on a machine that was measured at a few."""

import dataclasses
from typing import NamedTuple

import numpy as np

from albert_tf.planning.compute_cost import training_flops
from schemas.config import ModelConfig


class Workload(NamedTuple):
    """What a step consists of.

    Attributes:
        batch_size: Examples in it.
        length: Tokens in an average example.
        predictions: Of them predicted.
    """

    batch_size: int
    length: int
    predictions: int

    def flops(self, config: ModelConfig) -> float:
        """Operations of a step of an architecture."""
        length, predictions = self.length, self.predictions
        of_example = training_flops(config, length=length, predictions=predictions)
        return self.batch_size * of_example


@dataclasses.dataclass(frozen=True)
class Timing:
    """A step that was timed.

    Attributes:
        config: The architecture.
        workload: Of the step.
        seconds: What it took.
    """

    config: ModelConfig
    workload: Workload
    seconds: float

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.workload.flops(self.config) / self.seconds


def estimated_seconds(
    timings: list[Timing], config: ModelConfig, workload: Workload
) -> float:
    """The seconds of a step of a shape, from those of others on the same machine.

    Wide layers make more of a machine than narrow ones: operations a second follow the
    logarithm of the width between two shapes that were timed, and beyond the outermost
    they stay as they are.

    Args:
        timings: One or more.
        config: The architecture.
        workload: Of the step.

    >>> at = lambda width: ModelConfig(hidden_size=width, intermediate_size=4 * width)
    >>> workload = Workload(batch_size=32, length=104, predictions=15)
    >>> timings = [
    ...     Timing(at(width), workload, seconds)
    ...     for width, seconds in ((192, 2.0), (768, 16.0))
    ... ]
    >>> round(estimated_seconds(timings, at(192), workload), 2)
    2.0
    """
    by_width = sorted(timings, key=lambda timing: timing.config.hidden_size)
    rate = np.interp(
        np.log(config.hidden_size),
        np.log([timing.config.hidden_size for timing in by_width]),
        [timing.rate for timing in by_width],
    )
    return float(workload.flops(config) / rate)
