"""When a run is saved."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol

from albert_tf.runs.checkpoints import Checkpoint, arrays_of, save_checkpoint
from albert_tf.training.steps import TrainingSteps

# Between checkpoints when --checkpoint-every is not given.
CHECKPOINT_SECONDS = 30 * 60


class State(Protocol):
    """Where a training stands: a dataclass, whose fields `state.json` has.

    Attributes:
        step: Steps done.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    step: int


class Saver:
    """Saves checkpoints of the last whole step.

    Args:
        run: The run directory.
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
        """Save a checkpoint.

        Raises:
            AlbertError: It cannot be written.
        """
        start = time.monotonic()
        if self._is_writer:
            self._write(is_best=is_best)
        self._saved_at = time.monotonic()
        self.saved_step, self.seconds = self._state.step, self._saved_at - start

    def _write(self, *, is_best: bool) -> None:
        self._before_save()
        checkpoint = Checkpoint(
            arrays_of(self._steps.model.weights_by_path),
            arrays_of(self._steps.optimizer_state),
            dataclasses.asdict(self._state),
        )
        save_checkpoint(self._run, checkpoint, is_best=is_best)

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
