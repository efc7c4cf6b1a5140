"""Fine-tuning: steps, and between them evaluations, each with a checkpoint.

A step depends only on its number, so that a killed run continues from its newest
checkpoint with the same bytes.
"""

import contextlib
import dataclasses
import math
import signal
import time
from collections.abc import Iterator

import numpy as np

from albert_tf.finetuning.task_batches import (
    Array,
    batch_of,
    epoch_batches,
    micro_batches,
)
from albert_tf.finetuning.task_evaluation import Evaluator
from albert_tf.finetuning.task_loss import task_loss
from albert_tf.finetuning.tuning_job import TuningJob
from albert_tf.model.task_model import Batch
from albert_tf.runs.checkpoints import Checkpoint, assign_arrays, load_newest
from albert_tf.runs.metrics import Metrics
from albert_tf.runs.progress import Progress
from albert_tf.tasks.kinds import task_of
from albert_tf.training.begin import training_steps
from albert_tf.training.interruption import SIGNALS, StopRequest, stop_requests
from albert_tf.training.saving import MetricsLog, Saver
from albert_tf.training.schedule import learning_rate_of
from albert_tf.training.steps import shape_of
from schemas.errors import AlbertError
from schemas.layout import EVAL, TRAIN


class _Stopped(Exception):
    """A step or an evaluation was abandoned, with nothing changed."""


@dataclasses.dataclass
class TuningState:
    """Where fine-tuning stands, as `state.json` has it.

    Attributes:
        step: Steps done.
        micro_batch_size: As in the settings, which stay those of the run.
        losses: Loss and weight of the steps since the last line of metrics, added up.
        window_seconds: Time spent in those steps.
    """

    step: int
    micro_batch_size: int
    losses: tuple[float, ...] = (0.0, 0.0)
    window_seconds: float = 0.0


class Tuning:
    """A run of fine-tuning.

    Args:
        job: What to do.
        progress: Shows how the run goes.
    """

    def __init__(self, job: TuningJob, progress: Progress) -> None:
        self._job, self._progress = job, progress
        self._config = job.config.training().resolved()
        model = job.new_model()
        loss = task_loss(label_smoothing=job.config.label_smoothing)
        self._steps = training_steps(model, self._config, loss=loss)
        self._label_weights = job.label_weights()
        self._state = TuningState(step=0, micro_batch_size=job.config.micro_batch_size)
        checkpoint = load_newest(job.run, progress.say)
        if checkpoint is not None:
            self._resume(checkpoint)
        every = job.config.checkpoint_every
        self._saver = Saver(job.run, self._steps, self._state, every=every)
        self._stop = StopRequest()
        self._log = MetricsLog(job.run, step=self._state.step)
        self._evaluator = Evaluator(
            model, task_of(job.spec), job.held_out, config=job.config
        )
        self._compiled: set[tuple[int, ...]] = set()
        # The number of an epoch and its batches; none yet.
        self._epoch: tuple[int, list[Array]] = (-1, [])

    def _resume(self, checkpoint: Checkpoint) -> None:
        assign_arrays(self._steps.model.weights_by_path, checkpoint.weights)
        assign_arrays(self._steps.optimizer_state, checkpoint.optimizer_state)
        self._state = TuningState(**checkpoint.state)
        self._progress.say(f"Continuing {self._job.run} after step {self._state.step}.")

    def train(self) -> None:
        """Continue to the last step, or until patience runs out.

        A signal to end takes effect once what is done is saved.

        Raises:
            AlbertError: The loss overflowed, or the folder cannot be written.
        """
        self._progress.start("", total=self._config.steps, done=self._state.step)
        with stop_requests() as self._stop:
            with contextlib.suppress(_Stopped):
                self._go_on()
            if self._stop.reason:
                self._saver.save_what_is_new()
        self._log.close()
        if self._stop.reason:
            signal.raise_signal(SIGNALS[self._stop.reason])

    def _go_on(self) -> None:
        """Evaluations and steps to the last one."""
        steps, every = self._config.steps, self._job.config.eval_every
        while True:
            step = self._state.step
            is_due = step % every == 0 or step == steps
            if is_due and not self._is_evaluated():
                self._evaluate()
            self._saver.save_when_due()
            if step == steps or self._has_lost_patience():
                return
            self._take_step()

    def _check_stop(self) -> None:
        """Leave what is being done if the run is to end."""
        if self._stop.reason:
            raise _Stopped

    def _is_evaluated(self) -> bool:
        lines = self._log.evaluations()
        return any(line["step"] == self._state.step for line in lines)

    def _worth(self, measures: Metrics) -> tuple[float, ...]:
        """What evaluations are compared by: each measure decides between equals."""
        return tuple(measures[name] for name in self._job.spec.metrics)

    def _best(self) -> Metrics | None:
        """The best evaluation, the first of several."""
        lines = self._log.evaluations()
        return max(lines, key=self._worth) if lines else None

    def _has_lost_patience(self) -> bool:
        patience, best = self._job.config.patience, self._best()
        if patience is None or best is None:
            return False
        lines = self._log.evaluations()
        return len(lines) - 1 - lines.index(best) >= patience

    def _evaluate(self) -> None:
        """Evaluate, save and log, in an order in which a kill loses nothing.

        A line of training of this step may be there already.
        """
        measures = self._evaluator.measures(on_rows=lambda rows: self._check_stop())
        best, step = self._best(), self._state.step
        is_best = best is None or self._worth(measures) > self._worth(best)
        if self._state.losses[1]:
            self._log.write(self._training_line())
        self._saver.save(is_best=is_best)
        self._log.write({"step": step, "split": EVAL, **measures})
        shown = ", ".join(f"{name} {value:.4f}" for name, value in measures.items())
        mark = " (best)" if is_best else ""
        self._progress.say(f"step {step:,} of {self._config.steps:,}: {shown}{mark}")

    def _training_line(self) -> Metrics:
        """What the steps since the last such line come to; the next ones begin anew."""
        state = self._state
        loss, weight = state.losses
        line = {
            "step": state.step,
            "split": TRAIN,
            "loss": loss / weight,
            "learning_rate": learning_rate_of(self._config, state.step - 1),
            "seconds": state.window_seconds,
        }
        state.losses, state.window_seconds = (0.0, 0.0), 0.0
        return line

    def _take_step(self) -> None:
        start, state = time.perf_counter(), self._state
        batch = self._batch(state.step)
        counts = self._steps.loss.counts(batch)
        parts = list(self._parts(batch))
        self._prepare([part for _, part in parts])
        for micro, part in parts:
            self._check_stop()
            self._steps.accumulate(part, counts=counts, step=state.step, micro=micro)
        sums = self._steps.sums()
        rate = learning_rate_of(self._config, state.step)
        norm = self._steps.apply(rate, step=state.step)
        if not (math.isfinite(norm) and math.isfinite(sums[0])):
            raise AlbertError(
                f"The loss or gradient overflowed in step {state.step + 1}; start "
                "again with --overwrite and a lower --learning-rate."
            )
        state.step += 1
        state.losses = tuple((np.array(state.losses) + sums).tolist())
        state.window_seconds += time.perf_counter() - start
        self._progress.advance(1)
        mean = state.losses[0] / max(state.losses[1], 1e-9)
        self._progress.show(f"step {state.step:,}, loss {mean:.4f}")

    def _prepare(self, parts: list[Batch]) -> None:
        """Compile for micro-batches of a width that has not come before."""
        for part in parts:
            if shape_of(part) not in self._compiled:
                self._compiled.add(shape_of(part))
                self._steps.compile([part])

    def _parts(self, batch: Batch) -> Iterator[tuple[int, Batch]]:
        """Micro-batches that are computed together, with the number of the first."""
        size, devices = self._job.config.micro_batch_size, self._steps.num_devices
        parts = micro_batches(batch, size=size, devices=devices)
        for number, part in enumerate(parts):
            yield number * devices, part

    def _batch(self, step: int) -> Batch:
        """The rows of a step."""
        job, size = self._job, self._job.config.batch_size
        epoch, place = divmod(step, -(-len(job.train.rows) // size))
        return batch_of(
            [job.train.rows[row] for row in self._batches_of_epoch(epoch)[place]],
            job.spec,
            size=size,
            longest=job.config.max_seq_length,
            options=job.train.options,
            label_weights=self._label_weights,
        )

    def _batches_of_epoch(self, epoch: int) -> list[Array]:
        """The rows of each batch, drawn once an epoch."""
        if self._epoch[0] != epoch:
            job = self._job
            batches = epoch_batches(
                job.train.lengths,
                batch_size=job.config.batch_size,
                seed=job.config.seed,
                epoch=epoch,
            )
            self._epoch = (epoch, batches)
        return self._epoch[1]
