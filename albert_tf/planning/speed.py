"""How long a step of any shape takes on a machine that was measured at a few."""

import dataclasses

import numpy as np

from albert_tf.planning.compute_cost import training_flops
from schemas.config import ModelConfig


@dataclasses.dataclass(frozen=True)
class Timing:
    """A step that was timed.

    Attributes:
        config: The architecture.
        batch_size: Examples in the step.
        length: Tokens in an average example.
        predictions: Of them predicted.
        seconds: What the step took.
    """

    config: ModelConfig
    batch_size: int
    length: int
    predictions: int
    seconds: float

    @property
    def flops(self) -> float:
        """Operations a second."""
        return (
            self.batch_size
            * training_flops(
                self.config, length=self.length, predictions=self.predictions
            )
            / self.seconds
        )


def estimated_seconds(
    timings: list[Timing],
    config: ModelConfig,
    *,
    batch_size: int,
    length: int,
    predictions: int,
) -> float:
    """The seconds of a step of a shape, from those of others on the same machine.

    Wide layers make more of a machine than narrow ones: operations a second follow the
    logarithm of the width between two shapes that were timed, and beyond the outermost
    they stay as they are.

    Args:
        timings: One or more.
        config: The architecture.
        batch_size: Examples in the step.
        length: Tokens in an average example.
        predictions: Of them predicted.

    >>> at = lambda width: ModelConfig(hidden_size=width, intermediate_size=4 * width)
    >>> asked = {"batch_size": 32, "length": 104, "predictions": 15}
    >>> timings = [
    ...     Timing(at(width), **asked, seconds=seconds)
    ...     for width, seconds in ((192, 2.0), (768, 16.0))
    ... ]
    >>> round(estimated_seconds(timings, at(192), **asked), 2)
    2.0
    """
    by_width = sorted(timings, key=lambda timing: timing.config.hidden_size)
    rate = np.interp(
        np.log(config.hidden_size),
        np.log([timing.config.hidden_size for timing in by_width]),
        [timing.flops for timing in by_width],
    )
    work = batch_size * training_flops(config, length=length, predictions=predictions)
    return float(work / rate)
