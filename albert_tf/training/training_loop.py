"""The training loop: steps, and between them evaluations and checkpoints."""

import contextlib
import dataclasses
import itertools
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from albert_tf.data.unpadding import Fill, fill_of, unpadded
from albert_tf.hosts.hosts import ONE_HOST, Hosts
from albert_tf.model.pretrainer import Batch
from albert_tf.runs.progress import Progress
from albert_tf.training.announcement import step_text, utilization_text
from albert_tf.training.evaluations import Evaluations
from albert_tf.training.health import diverged
from albert_tf.training.interruption import Reason, StopRequest
from albert_tf.training.pace import Pace
from albert_tf.training.run_state import RunState
from albert_tf.training.saver import Saver
from albert_tf.training.schedule import learning_rate_of
from albert_tf.training.step_record import StepRecord
from albert_tf.training.steps import Counts, TrainingSteps, step_counts
from schemas.config import ResolvedTrainConfig
from schemas.errors import AlbertError
from schemas.readable import duration


@dataclasses.dataclass(kw_only=True)
class TrainingLoop:
    """A run that is ready for its next step.

    Attributes:
        run: The run directory.
        config: The resolved settings.
        steps: The step, with model and optimizer state.
        batches: What is left of the stream of examples, a step at a time.
        state: Where the run stands.
        evaluations: When to evaluate, and how.
        saver: When to save, and how.
        record: Told of every step.
        progress: Shows how the run goes.
        stop: Asked between micro-batches.
        pace: Of the steps that this process has done.
        until: The step to pause after; None for the last one.
        hosts: Those that train together.
    """

    run: Path
    config: ResolvedTrainConfig
    steps: TrainingSteps
    batches: Iterator[Batch]
    state: RunState
    evaluations: Evaluations
    saver: Saver
    record: StepRecord
    progress: Progress
    stop: StopRequest
    pace: Pace
    until: int | None = None
    hosts: Hosts = ONE_HOST

    def train(self) -> Reason | None:
        """Go on to the last step, or to a pause; why it ended earlier, if it did.

        What is done by then is saved, in either case.

        Raises:
            AlbertError: A loss or gradient overflowed, or nothing can be saved.
        """
        if not (self._is_finished or self.stop.reason or self.pace.steps):
            self._prepare()
        self._evaluate_when_due(has_bar=False)
        self._begin_bar()
        while self._may_go_on() and self._step():
            self._evaluate_when_due(has_bar=True)
            self.saver.save_when_due()
        self.saver.save_what_is_new()
        is_complete = self._is_finished and not self.evaluations.is_due(self.state.step)
        return None if is_complete else self.stop.reason

    @property
    def _devices(self) -> int:
        """Of all hosts."""
        return self.steps.num_devices * self.hosts.number

    @property
    def _is_finished(self) -> bool:
        return self.state.step >= (self.until or self.config.steps)

    def _may_go_on(self) -> bool:
        """Whether there is a step left to do, and time for it."""
        self.stop.need(self.pace.step_seconds + self.saver.seconds)
        return not (self._is_finished or self.stop.agree())

    def _prepare(self) -> None:
        """Compile and time the step, and say how long the run will take.

        The batch that is timed is put back.
        """
        self.progress.say("Compiling the step ...")
        batch = self._next_batch()
        self.batches = itertools.chain([batch], self.batches)
        counts, fills = self._agreed(batch)
        seconds = self.steps.compile(list(self._parts(batch, fills)))
        self.pace.estimate = seconds
        utilization = utilization_text(
            self.steps,
            counts,
            seconds,
            devices=self._devices,
            config=self.config,
            progress=self.progress,
        )
        number = len(batch["input_ids"]) * self.hosts.number
        rows, size = self.config.batch_size, self.state.micro_batch_size
        text = step_text(rows, seconds, number=number, size=size)
        steps_left = self.config.steps - self.state.step
        self.progress.say(
            f"{text}{utilization}; the {steps_left} steps left will take about "
            f"{duration(self._seconds_left())}."
        )

    def _begin_bar(self) -> None:
        """Begin the bar of the training, unless there is none to do."""
        if not self._is_finished:
            size = self.config.batch_size
            self.progress.start(
                "", total=self.config.steps * size, done=self.state.step * size
            )

    def _seconds_left(self) -> float:
        """Of all steps and evaluations."""
        step, step_seconds = self.state.step, self.pace.step_seconds
        evaluating = self.evaluations.seconds_left(step, step_seconds=step_seconds)
        return (self.config.steps - step) * step_seconds + evaluating

    def _step(self) -> bool:
        """Do one step; False, with nothing changed, when asked to stop."""
        start = time.perf_counter()
        batch = self._next_batch()
        waited = time.perf_counter() - start
        if not self._accumulate(batch):
            self.steps.discard()
            return False
        sums = self.steps.sums()
        self._check_is_finite(sums[0] + sums[3], "loss")
        rate = learning_rate_of(self.config, self.state.step)
        norm = self.steps.apply(rate, step=self.state.step)
        self._check_is_finite(norm, "gradient")
        self.state.step += 1
        self.state.examples += self.config.batch_size
        seconds = time.perf_counter() - start
        self.pace.add(seconds, waited=waited)
        text = self.record.add(sums, seconds, learning_rate=rate, gradient_norm=norm)
        self.progress.show(
            f"{text}, {self.pace.text()}, {duration(self._seconds_left())} left",
            is_last=self._is_finished,
        )
        self.stop.has_progress = True
        return True

    def _check_is_finite(self, value: float, what: str) -> None:
        """End the run, with the metrics up to here, if a step overflowed."""
        if math.isfinite(value):
            return
        self.record.log_window()
        step, is_saved = self.state.step + 1, self.saver.saved_step > 0
        raise diverged(value, what, step=step, run=self.run, is_saved=is_saved)

    def _next_batch(self) -> Batch:
        """The examples of the next step.

        Raises:
            AlbertError: They cannot be read; the steps before are saved first.
        """
        with self._saving_first():
            return next(self.batches)

    @contextlib.contextmanager
    def _saving_first(self) -> Iterator[None]:
        """Save the steps that are done before an error ends the run."""
        try:
            yield
        except AlbertError:
            self.saver.save_what_is_new()
            raise

    def _agreed(self, batch: Batch) -> tuple[Counts, list[Fill]]:
        """The counts of the whole step, and the fill of each part, of all hosts.

        Hosts compute a part with the same shapes, as devices do.
        """
        own = step_counts(batch)
        fills = [fill_of(part) for part in self._rows(batch)]
        told = self.hosts.gather(np.array([*own.values(), *np.ravel(fills)]))
        counts, largest = np.split(told, [len(own)], axis=1)
        return (
            dict(zip(own, counts.sum(axis=0).tolist(), strict=True)),
            [Fill(*map(int, fill)) for fill in largest.max(axis=0).reshape(-1, 2)],
        )

    def _rows(self, batch: Batch) -> Iterator[Batch]:
        """What this host computes of a step at a time: micro-batches `[N, M, ...]`."""
        devices = self.steps.num_devices
        for micro in range(0, len(batch["input_ids"]), devices):
            yield {name: v[micro : micro + devices] for name, v in batch.items()}

    def _parts(self, batch: Batch, fills: list[Fill]) -> Iterator[Batch]:
        """The same without padding, unless the run was begun with it."""
        for part, fill in zip(self._rows(batch), fills, strict=True):
            yield unpadded(part, fill) if self.state.unpadded else part

    def _accumulate(self, batch: Batch) -> bool:
        """Add up the gradients of a step; False when asked to stop."""
        left, (counts, fills) = self.config.batch_size, self._agreed(batch)
        for number, part in enumerate(self._parts(batch, fills)):
            if self.stop.reason:
                return False
            micro = number * self._devices + self.hosts.index * self.steps.num_devices
            self.steps.accumulate(
                part, counts=counts, step=self.state.step, micro=micro
            )
            rows = min(left, self._devices * self.state.micro_batch_size)
            self.progress.advance(rows)
            left -= rows
        return True

    def _evaluate_when_due(self, *, has_bar: bool) -> None:
        """Evaluate if there is time for it, save if that is the best, and log it.

        In this order, so that a run that is killed in between evaluates again.

        Args:
            has_bar: Whether the training has its bar already.

        Raises:
            AlbertError: The held-out examples cannot be read; the steps before are
                saved first.
        """
        step, step_seconds = self.state.step, self.pace.step_seconds
        if not self.evaluations.is_due(step):
            return
        seconds = self.evaluations.seconds(step, step_seconds=step_seconds)
        self.stop.need(seconds + self.saver.seconds)
        with self._saving_first():
            line = self.evaluations.measure(self.state, self.stop, has_bar=has_bar)
        if line is None:
            return
        if self.evaluations.is_best(line):
            self.saver.save(is_best=True)
        self.evaluations.record(line)
