"""The steps of a training, and what comes between them: evaluations and checkpoints.

Pretraining and fine-tuning share it. Several hosts do all of it together.
"""

import dataclasses
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from albert_tf.hosts import ONE_HOST, Hosts
from albert_tf.model.pretrainer import Batch
from albert_tf.planning.budget import cost_ahead, cost_at
from albert_tf.runs.checkpoints import Checkpoint, arrays_of, save_checkpoint
from albert_tf.runs.metrics import Progress
from albert_tf.training.evaluations import Evaluations
from albert_tf.training.optimizers import learning_rate_of
from albert_tf.training.signals import Reason, StopRequest
from albert_tf.training.steps import Counts, StepDone, TrainingSteps
from albert_tf.training.timing import Pace
from schemas.config import ResolvedTrainConfig
from schemas.errors import AlbertError
from schemas.readable import duration

# Up to the first checkpoint, and between others, when --checkpoint-every is not given.
FIRST_SECONDS, CHECKPOINT_SECONDS = 60, 30 * 60


class State(Protocol):
    """Where a training stands: a dataclass, whose fields `state.json` has."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    step: int
    micro_batch_size: int


class StepParts(NamedTuple):
    """What a step computes.

    Attributes:
        counts: What its losses are divided by.
        parts: What this host computes of it at a time: N micro-batches `[N, M, ...]`.
    """

    counts: Counts
    parts: Iterable[Batch]


class Begun(NamedTuple):
    """A step that is handed to the devices.

    Attributes:
        start: When that began, or the step before ended, by `time.perf_counter`.
        waited: Seconds of it, for the batch.
        accumulated: What its losses are added up from, see `TrainingSteps`.
        norm: Of its gradients, perhaps still to be computed.
    """

    start: float
    waited: float
    accumulated: list[Any]
    learning_rate: float
    norm: Any


class OverflowedError(AlbertError):
    """A loss or gradient is not finite.

    Attributes:
        what: Which of them.
    """

    def __init__(self, what: str, value: float) -> None:
        super().__init__(f"The {what} is {value}.")
        self.what, self.value = what, value


class Saver:
    """Saves checkpoints of the last whole step.

    Args:
        state: Where the run stands; at this step it is saved already.
        every: Steps between checkpoints; None for one after a minute and every half hour.
        is_writer: Whether this host writes them; the others only know of them.

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
    ) -> None:
        self._run, self._steps, self._state = run, steps, state
        self._every = every
        self._is_writer = is_writer
        self._saved_at = time.monotonic()
        self.saved_step = state.step
        self.seconds = 0.0

    def save(self, *, is_best: bool = False) -> None:
        """Save a checkpoint."""
        start = time.monotonic()
        self._steps.settle()
        if self._is_writer:
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

    def is_due(self, step: int) -> bool:
        """Whether so many steps or minutes have passed that a step is to be saved."""
        if self._every is None:
            most = CHECKPOINT_SECONDS if self.saved_step else FIRST_SECONDS
            return time.monotonic() - self._saved_at >= most
        return step % self._every == 0


@dataclasses.dataclass(kw_only=True)
class Training:
    """A training at the step where it stands.

    Attributes:
        costs: What its steps cost beside each other, see `sample_flops`; empty if all
            cost the same.
        hosts: Those that train together.
        ends_at: When it ends, on the monotonic clock, if its steps follow from that.
        pause: The step after which these are counted again, None for none.
        is_ahead: Whether the devices compute a step already whose turn has not come.
    """

    config: ResolvedTrainConfig
    steps: TrainingSteps
    state: State
    evaluations: Evaluations
    saver: Saver
    stop: StopRequest
    progress: Progress
    costs: Sequence[tuple[float, int]] = ()
    hosts: Hosts = ONE_HOST
    ends_at: float | None = None
    pause: int | None = None
    is_ahead: bool = False

    def __post_init__(self) -> None:
        self.pace = Pace(self.config.batch_size)

    @property
    def has_ended(self) -> bool:
        """Whether no step is left."""
        return self.evaluations.are_enough or self.state.step >= self.config.steps

    @property
    def unfinished(self) -> Reason | None:
        """Why something is left to do, if it is."""
        is_evaluated = not self.evaluations.is_due(self.state.step)
        return None if self.has_ended and is_evaluated else self.stop.reason

    def steps_done(self, batches: Iterator[StepParts]) -> Iterator[tuple[StepDone, float]]:
        """Each step once it is done, with its seconds, up to the last one or a stop.

        The devices compute a step while the one before is recorded, unless something has to
        come between the two.
        """
        ahead: Begun | None = None
        while not self.has_ended:
            step = self.state.step + (ahead is not None)
            # Something comes next that needs the step, or it is done already. Several hosts
            # have to exchange the losses of all steps in the same order.
            if ahead and (
                isinstance(ahead.norm, float)
                or step in (self.config.steps, self.pause)
                or self.hosts.number > 1
                or self.evaluations.is_due(step)
                or self.saver.is_due(step)
            ):
                yield self._ended(ahead)
                ahead = None
                continue
            self.stop.need(self.pace.step_seconds + self.saver.seconds)
            if self.stop.agree():
                break
            try:
                begun = self.begin(batches, step)
            except AlbertError:
                if ahead:
                    yield self._ended(ahead)
                self.saver.save_what_is_new()
                raise
            if begun is None:
                break
            if ahead:
                self.is_ahead = True
                yield self._ended(ahead)
                self.is_ahead = False
                begun = begun._replace(start=time.perf_counter())
            ahead = begun
        if ahead:
            yield self._ended(ahead)

    def begin(self, batches: Iterator[StepParts], step: int) -> Begun | None:
        """Begin a step; None, with nothing changed, when asked to stop.

        Add up the gradients of its micro-batches, clip them, apply them.
        """
        start = time.perf_counter()
        counts, parts = next(batches)
        waited = time.perf_counter() - start
        steps = self.steps
        rows_left = self.config.batch_size
        for number, part in enumerate(parts):
            if self.stop.reason is not None:
                steps.discard()
                return None
            # Those of all hosts that are computed at the same time stand together.
            micro = (number * self.hosts.number + self.hosts.index) * steps.num_devices
            steps.accumulate(part, counts=counts, step=step, micro=micro)
            at_once = steps.num_devices * self.hosts.number * self.state.micro_batch_size
            self.progress.advance(min(rows_left, at_once))
            rows_left -= min(rows_left, at_once)
        accumulated, rate = steps.accumulated, learning_rate_of(self.config, step)
        norm = steps.apply(rate, step=step)
        self.stop.has_progress = True
        return Begun(start, waited, accumulated, rate, norm)

    def _ended(self, begun: Begun) -> tuple[StepDone, float]:
        """Wait for a step, and count it."""
        sums, norm = self.steps.sums(begun.accumulated), float(begun.norm)
        for value, what in ((float(sums.sum()), "loss"), (norm, "gradient")):
            if not math.isfinite(value):
                raise OverflowedError(what, value)
        self.state.step += 1
        seconds = time.perf_counter() - begun.start
        self.pace.add(seconds, waited=begun.waited)
        if self.costs:
            numbers = self.state.step - 1, self.state.step
            before, after = (cost_at(self.costs, done=n / self.config.steps) for n in numbers)
            if before != after:  # steps take longer, or shorter, from here on
                self.pace.estimate = self.pace.step_seconds * after / before
                self.pace.newest.clear()
        return StepDone(sums, begun.learning_rate, norm), seconds

    def start_bar(self) -> None:
        """Show how far it is, from here on."""
        if not self.has_ended:
            size = self.config.batch_size
            self.progress.start("", total=self.config.steps * size, done=self.state.step * size)

    def show(self, text: str) -> None:
        """Show what a step came to, and how fast it goes on."""
        text += f", {self.pace.text()}, {duration(self.seconds_left())} left"
        is_last = self.has_ended or self.state.step == self.pause
        self.progress.show(text, is_last=is_last)

    def evaluate_when_due(self, *, has_bar: bool = True) -> None:
        """Evaluate if there is time for it, save if that is the best, and log it.

        In this order, so that a run that is killed in between evaluates again.
        """
        step, evaluations = self.state.step, self.evaluations
        if not evaluations.is_due(step):
            return
        seconds = evaluations.seconds(step, step_seconds=self.pace.step_seconds)
        self.stop.need(seconds + self.saver.seconds)
        self.steps.settle()
        try:
            line = evaluations.measure(step, self.stop, has_bar=has_bar)
        except AlbertError:
            self.saver.save_what_is_new()
            raise
        if line is None:
            return
        is_best = evaluations.is_best(line)
        if is_best or evaluations.are_all_saved:
            self.saver.save(is_best=is_best)
        evaluations.record(line)

    def steps_left(self) -> float:
        """The steps to come, counted in such as are done at the moment."""
        left = self.config.steps - self.state.step
        return left * cost_ahead(self.costs, done=self.state.step / self.config.steps)

    def seconds_left(self) -> float:
        """What is left of its time, or what the steps and evaluations left take."""
        if self.ends_at is not None:
            return max(0.0, self.ends_at - time.monotonic())
        step_seconds = self.pace.step_seconds
        evaluating = self.evaluations.seconds_left(self.state.step, step_seconds=step_seconds)
        return self.steps_left() * step_seconds + evaluating
