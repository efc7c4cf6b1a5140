"""What a checkpoint remembers besides the weights and the state of the optimizer."""

import dataclasses
from typing import Any

import numpy as np

from albert_tf.data.on_the_fly import BEGINNING
from albert_tf.runs.metrics import Sums

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclasses.dataclass
class RunState:
    """Where a run stands, as `state.json` has it.

    Attributes:
        micro_batch_size: Kept unless another is asked for, which rounds differently.
        unpadded: Whether padding is left out where it can be, kept likewise.
        step: Steps done.
        examples: Training examples consumed, the position in the data.
        landmark: Where reading can begin to reach that position, if examples are made
            of documents; see `albert_tf.data.on_the_fly`.
        seconds: Time spent in steps.
        window: The `Sums` since the last line of metrics.
        window_seconds: Time spent in those steps.
        window_steps: How many they are.
    """

    micro_batch_size: int
    # A state without this field is of a run that was begun with padding.
    unpadded: bool = False
    step: int = 0
    examples: int = 0
    landmark: tuple[int, int, int] = BEGINNING
    seconds: float = 0.0
    window: tuple[float, ...] = (0.0,) * len(Sums._fields)
    window_seconds: float = 0.0
    window_steps: int = 0

    def add_to_window(self, sums: Array, seconds: float) -> None:
        """Count a step that took so long, with its sums `[6]`."""
        self.seconds += seconds
        self.window = tuple((np.array(self.window) + sums).tolist())
        self.window_seconds += seconds
        self.window_steps += 1

    def clear_window(self) -> None:
        """Begin the next line of metrics."""
        self.window = (0.0,) * len(Sums._fields)
        self.window_seconds, self.window_steps = 0.0, 0
