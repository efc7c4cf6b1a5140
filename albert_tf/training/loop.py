"""The training loop: steps, between them evaluations and checkpoints, and what ends it.

Ctrl-C, a signal to end, the time allowed: none of these interrupts anything. Each is
noted as a request to stop, which the loop looks for between micro-batches; on several
hosts between steps, since all have to stop after the same.

Pretraining and fine-tuning share it. What they do not share is their `Work`: batches
and loss, what is measured, what is best.
"""

import contextlib
import dataclasses
import itertools
import math
import os
import signal
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from albert_tf.hosts.hosts import ONE_HOST, Hosts
from albert_tf.model.pretrainer import Batch
from albert_tf.runs.checkpoints import Checkpoint, arrays_of, save_checkpoint
from albert_tf.runs.metrics import Metrics, Progress
from albert_tf.training.optimizers import learning_rate_of
from albert_tf.training.steps import Counts, StepDone, TrainingSteps
from albert_tf.training.timing import Pace
from schemas.config import ResolvedTrainConfig
from schemas.errors import ENDING, AlbertError
from schemas.readable import duration

# Up to the first checkpoint, and between others, when --checkpoint-every is not given.
FIRST_SECONDS, CHECKPOINT_SECONDS = 60, 30 * 60


Reason = Literal["interrupted", "terminated", "max-time"]

# In the order in which they win where hosts have different ones.
REASONS: tuple[Reason | None, ...] = (None, "max-time", "interrupted", "terminated")

# The signal that stands for a reason.
SIGNALS: dict[Reason, signal.Signals] = {"interrupted": signal.SIGINT, "terminated": signal.SIGTERM}

_REASONS: dict[int, Reason] = {signal.SIGINT: "interrupted", **dict.fromkeys(ENDING, "terminated")}


class StopRequest:
    """Why to stop, once there is a reason; on several hosts, once all know it.

    Args:
        max_seconds: How long the run may take from now on; None for no limit.
        hosts: Those that stop together.

    Attributes:
        has_progress: Set once a step is done. Before that the time allowed ends
            nothing, so that a run which is continued again and again gets on.
    """

    def __init__(self, max_seconds: float | None = None, hosts: Hosts = ONE_HOST) -> None:
        self.has_progress = False
        self._hosts = hosts
        self._reason: Reason | None = None
        self._agreed: Reason | None = None
        self._deadline = math.inf
        if max_seconds is not None:
            self._deadline = time.monotonic() + max_seconds

    @property
    def reason(self) -> Reason | None:
        """Why to stop, None to go on."""
        self.need(0.0)
        return self._reason if self._hosts.number == 1 else self._agreed

    def agree(self) -> Reason | None:
        """The `reason` after all hosts have shared theirs; all have to ask together."""
        if self._hosts.number > 1:
            self.need(0.0)
            told = self._hosts.gather(np.array([REASONS.index(self._reason)]))
            self._agreed = REASONS[int(told.max())]
        return self.reason

    def need(self, seconds: float) -> None:
        """Make it a reason to stop if less than this many seconds are left."""
        is_over = time.monotonic() + seconds > self._deadline
        if is_over and self.has_progress and self._reason is None:
            self._reason = "max-time"

    def receive(self, number: int, frame: Any = None) -> None:
        """Note a signal; the next one of its kind ends the process at once."""
        self._reason = _REASONS[number]
        if os.isatty(2):
            os.write(2, b"\nStopping after this step ...\n")
        # A limit of processor time sends its signal every second until the hard limit.
        is_repeated = number == signal.SIGXCPU
        signal.signal(number, signal.SIG_IGN if is_repeated else signal.SIG_DFL)


@contextlib.contextmanager
def stop_requests(
    max_seconds: float | None = None, hosts: Hosts = ONE_HOST
) -> Iterator[StopRequest]:
    """Turn signals into a request while the block runs.

    Python delivers signals to the main thread only; in any other, only the time counts.
    An ignored SIGHUP stays ignored: so `nohup` asks for it.
    """
    request = StopRequest(max_seconds, hosts)
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    heard = set(_REASONS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        heard.remove(signal.SIGHUP)
    before = {number: signal.signal(number, request.receive) for number in heard}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class State(Protocol):
    """Where a training stands: a dataclass, whose fields `state.json` has."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    step: int
    micro_batch_size: int


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


class Evaluations(Protocol):
    """What is measured between steps."""

    @property
    def are_all_saved(self) -> bool:
        """Whether every evaluation has a checkpoint, or the best ones only."""

    def is_due(self, step: int) -> bool:
        """Whether there is an evaluation after a step that was not done yet."""

    def seconds(self, step: int, *, step_seconds: float) -> float:
        """About what the evaluation after a step takes."""

    def seconds_left(self, step: int, *, step_seconds: float) -> float:
        """What all evaluations after a step take together."""

    def measure(self, step: int, stop: StopRequest, *, has_bar: bool) -> Metrics | None:
        """The line of metrics after a step, with a bar if asked; None if stopped."""

    def is_best(self, line: Metrics) -> bool:
        """Whether an evaluation that is not recorded yet is the best so far."""

    def record(self, line: Metrics) -> None:
        """Log an evaluation and show it."""


class Work(Protocol):
    """A training at the step where it stands."""

    steps: TrainingSteps
    saver: Saver
    stop: StopRequest
    progress: Progress
    pace: Pace

    @property
    def config(self) -> ResolvedTrainConfig:
        """Its steps, batch and learning rates."""

    @property
    def state(self) -> State:
        """Where it stands."""

    @property
    def evaluations(self) -> Evaluations:
        """What is measured between steps."""

    @property
    def hosts(self) -> Hosts:
        """Those that train together."""

    @property
    def is_over(self) -> bool:
        """Whether it ends before its last step."""

    @property
    def ends_at(self) -> float | None:
        """When it ends, on the monotonic clock, if its steps follow from that."""

    def batches(self) -> Generator[Any, None, None]:
        """The examples from where it stands, a step at a time."""

    def parts(self, batch: Any) -> tuple[Counts, Iterable[Batch]]:
        """What a step computes.

        Returns:
            What the losses of the step are divided by, and what this host computes of
            it at a time: N micro-batches `[N, M, ...]`.
        """

    def prepare(self, batch: Any) -> None:
        """Done once in a process, with the batch of its first step."""

    def record(self, done: StepDone, seconds: float) -> str:
        """Count the step that was just done; what to show of it."""

    def overflow(self, value: float, what: str) -> AlbertError:
        """The error that ends a training whose loss or gradient is not finite."""


def train(work: Work, *, until: int | None = None) -> Reason | None:
    """Go on to the last step, or to a pause; why it ended earlier, if it did.

    What is done by then is saved, in either case.
    """
    last = until or work.config.steps
    # Reading has threads, and Python at its end may wait for them for ever.
    with contextlib.closing(work.batches()) as batches:
        stream: Iterator[Any] = batches
        if not (_is_finished(work, last) or work.stop.reason or work.pace.steps):
            with _saving_first(work):
                first = next(batches)
            work.prepare(first)
            stream = itertools.chain([first], batches)
        _evaluate_when_due(work, has_bar=False)
        if not _is_finished(work, last):
            size = work.config.batch_size
            total, done = work.config.steps * size, work.state.step * size
            work.progress.start("", total=total, done=done)
        # The device computes a step while the one before is recorded.
        ahead: Begun | None = None
        while not _is_finished(work, last):
            step = work.state.step + (ahead is not None)
            if ahead and _is_to_end(work, ahead, step, last=last):
                _end(work, ahead, last=last)
                ahead = None
                _evaluate_when_due(work, has_bar=True)
                if work.saver.is_due(step):
                    work.saver.save_what_is_new()
                continue
            work.stop.need(work.pace.step_seconds + work.saver.seconds)
            if work.stop.agree():
                break
            try:
                begun = _begin(work, stream, step)
            except AlbertError:
                if ahead:
                    _end(work, ahead, last=last)
                work.saver.save_what_is_new()
                raise
            if begun is None:
                break
            if ahead:
                _end(work, ahead, last=last)
                begun = begun._replace(start=time.perf_counter())
            ahead = begun
        if ahead:
            _end(work, ahead, last=last)
        work.saver.save_what_is_new()
    is_evaluated = not work.evaluations.is_due(work.state.step)
    return None if _is_finished(work, last) and is_evaluated else work.stop.reason


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


def _is_to_end(work: Work, begun: Begun, step: int, *, last: int) -> bool:
    """Whether a step has to be done before anything else begins, or is done already.

    Several hosts wait for each one: they have to exchange its losses in the same order.
    """
    is_used = work.evaluations.is_due(step) or work.saver.is_due(step)
    is_done = isinstance(begun.norm, float)
    return is_done or is_used or step == last or work.hosts.number > 1


def _begin(work: Work, batches: Iterator[Any], step: int) -> Begun | None:
    """Begin a step; None, with nothing changed, when asked to stop.

    Add up the gradients of its micro-batches, clip them, apply them.
    """
    start = time.perf_counter()
    batch = next(batches)
    waited = time.perf_counter() - start
    steps, hosts, state = work.steps, work.hosts, work.state
    counts, parts = work.parts(batch)
    rows_left = work.config.batch_size
    for number, part in enumerate(parts):
        if work.stop.reason is not None:
            steps.discard()
            return None
        # Those of all hosts that are computed at the same time stand together.
        micro = (number * hosts.number + hosts.index) * steps.num_devices
        steps.accumulate(part, counts=counts, step=step, micro=micro)
        at_once = steps.num_devices * hosts.number * state.micro_batch_size
        work.progress.advance(min(rows_left, at_once))
        rows_left -= min(rows_left, at_once)
    accumulated, rate = steps.accumulated, learning_rate_of(work.config, step)
    norm = steps.apply(rate, step=step)
    work.stop.has_progress = True
    return Begun(start, waited, accumulated, rate, norm)


def _end(work: Work, begun: Begun, *, last: int) -> None:
    """Wait for a step, and record it."""
    state, sums, norm = work.state, work.steps.sums(begun.accumulated), float(begun.norm)
    for value, what in ((float(sums.sum()), "loss"), (norm, "gradient")):
        if not math.isfinite(value):
            raise work.overflow(value, what)
    state.step += 1
    seconds = time.perf_counter() - begun.start
    work.pace.add(seconds, waited=begun.waited)
    text = work.record(StepDone(sums, begun.learning_rate, norm), seconds)
    text += f", {work.pace.text()}, {duration(seconds_left(work))} left"
    work.progress.show(text, is_last=_is_finished(work, last))


def _evaluate_when_due(work: Work, *, has_bar: bool) -> None:
    """Evaluate if there is time for it, save if that is the best, and log it.

    In this order, so that a run that is killed in between evaluates again.
    """
    step, evaluations = work.state.step, work.evaluations
    if not evaluations.is_due(step):
        return
    seconds = evaluations.seconds(step, step_seconds=work.pace.step_seconds)
    work.stop.need(seconds + work.saver.seconds)
    work.steps.settle()
    with _saving_first(work):
        line = evaluations.measure(step, work.stop, has_bar=has_bar)
    if line is None:
        return
    is_best = evaluations.is_best(line)
    if is_best or evaluations.are_all_saved:
        work.saver.save(is_best=is_best)
    evaluations.record(line)


def _is_finished(work: Work, last: int) -> bool:
    return work.is_over or work.state.step >= last


def seconds_left(work: Work) -> float:
    """What is left of its time, or what the steps and evaluations left take."""
    if work.ends_at is not None:
        return max(0.0, work.ends_at - time.monotonic())
    step, step_seconds = work.state.step, work.pace.step_seconds
    evaluating = work.evaluations.seconds_left(step, step_seconds=step_seconds)
    return (work.config.steps - step) * step_seconds + evaluating


@contextlib.contextmanager
def _saving_first(work: Work) -> Iterator[None]:
    """Save the steps that are done before an error ends the run."""
    try:
        yield
    except AlbertError:
        work.saver.save_what_is_new()
        raise
