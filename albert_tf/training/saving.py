"""What a run keeps while it trains: where it stands, checkpoints and metrics."""

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import tensorflow as tf

from albert_tf.data.on_the_fly import BEGINNING
from albert_tf.runs.checkpoints import Checkpoint, arrays_of, save_checkpoint
from albert_tf.runs.metrics import Metrics, Sums, read_metrics
from albert_tf.training.steps import Array, TrainingSteps
from schemas.errors import AlbertError
from schemas.files import write_text
from schemas.layout import EVAL, METRICS, TENSORBOARD

# Between checkpoints when --checkpoint-every is not given.
CHECKPOINT_SECONDS = 30 * 60


class State(Protocol):
    """Where a training stands: a dataclass, whose fields `state.json` has.

    Attributes:
        step: Steps done.
        micro_batch_size: Kept unless another is asked for, which rounds differently.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    step: int
    micro_batch_size: int


@dataclasses.dataclass
class RunState:
    """The `State` of pretraining.

    Attributes:
        unpadded: Whether padding is left out where it can be, as when the run began.
        examples: Training examples that the steps have had.
        landmark: Where reading can begin to reach the next one, if examples are made of
            documents; see `albert_tf.data.on_the_fly`.
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


class Saver:
    """Saves checkpoints of the last whole step.

    Args:
        run: The folder.
        steps: With model and optimizer state.
        state: Where the run stands; at this step it is saved already.
        every: Steps between checkpoints; None for every half hour.
        is_writer: Whether this host writes them; the others only know of them.
        before_save: Brings the state up to date.

    Attributes:
        saved_step: The step of the newest checkpoint, 0 if there is none.
        seconds: What the last checkpoint took, 0 before the first.
    """

    def __init__(
        self,
        run: Path,
        steps: TrainingSteps,
        state: State,
        *,
        every: int | None,
        is_writer: bool = True,
        before_save: Callable[[], None] = lambda: None,
    ) -> None:
        self._run, self._steps, self._state = run, steps, state
        self._every, self._before_save = every, before_save
        self._is_writer = is_writer
        self._saved_at = time.monotonic()
        self.saved_step = state.step
        self.seconds = 0.0

    def save(self, *, is_best: bool = False) -> None:
        """Save a checkpoint."""
        start = time.monotonic()
        if self._is_writer:
            self._before_save()
            checkpoint = Checkpoint(
                arrays_of(self._steps.model.weights_by_path),
                arrays_of(self._steps.optimizer_state),
                dataclasses.asdict(self._state),
            )
            save_checkpoint(self._run, checkpoint, is_best=is_best)
        self._saved_at = time.monotonic()
        self.saved_step, self.seconds = self._state.step, self._saved_at - start

    def save_what_is_new(self) -> None:
        """Save unless the newest checkpoint is of this step."""
        if self._state.step > self.saved_step:
            self.save()

    def save_when_due(self) -> None:
        """Save every so many steps or minutes."""
        if self._every is None:
            is_due = time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS
        else:
            is_due = self._state.step % self._every == 0
        if is_due:
            self.save_what_is_new()


class RememberedMetrics:
    """The metrics of a run, oldest first, on a host that writes none of them."""

    def __init__(self, lines: list[Metrics]) -> None:
        self.lines = lines

    def write(self, line: Metrics) -> None:
        """Add one line: `step`, `split` and what was measured."""
        self.lines.append(line)

    def evaluations(self) -> list[Metrics]:
        """The lines of the eval split, oldest first."""
        return [line for line in self.lines if line["split"] == EVAL]

    def close(self) -> None:
        """There is nothing to finish."""


class MetricsLog(RememberedMetrics):
    """`metrics.jsonl` and TensorBoard of a run, cut back to the step it resumes from.

    TensorBoard's event files cannot be cut, so they are written again from the lines.
    """

    def __init__(self, run: Path, *, step: int) -> None:
        self._path = run / METRICS
        super().__init__([line for line in read_metrics(run) if line["step"] <= step])
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        write_text(self._path, text)
        directory = run / TENSORBOARD
        for old in directory.glob("events.out.tfevents.*"):
            old.unlink()
        self._writer = tf.summary.create_file_writer(str(directory))
        for line in self.lines:
            self._show(line)

    def write(self, line: Metrics) -> None:
        """Append one line to the files as well."""
        super().write(line)
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            self._show(line)
            self._writer.flush()
        except (OSError, tf.errors.OpError) as error:
            raise AlbertError(
                f"{self._path.parent} cannot be written to: {error}; free some space "
                "and run the same command again to continue from the last checkpoint."
            ) from error

    def close(self) -> None:
        """Finish the event file."""
        self._writer.close()

    def _show(self, line: Metrics) -> None:
        split, step = line["split"], line["step"]
        with self._writer.as_default():
            for name, value in line.items():
                if name not in ("step", "split") and value is not None:
                    tf.summary.scalar(f"{split}/{name}", value, step=step)
