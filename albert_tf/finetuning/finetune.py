"""Fine-tuning from end to end: training, the best checkpoint, what it is worth.

A step depends only on its number, so that a killed run continues from its newest
checkpoint with the same bytes.
"""

import dataclasses
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from albert_tf.finetuning.batches import (
    Array,
    batch_of,
    epoch_batches,
    micro_batches,
)
from albert_tf.finetuning.card import tuned_card
from albert_tf.finetuning.job import TuningJob, TuningState
from albert_tf.finetuning.loss import task_loss
from albert_tf.finetuning.predict import TaskLogits, predicted, prediction_lines
from albert_tf.hosts.hosts import ONE_HOST
from albert_tf.model.task_model import Batch, TaskModel
from albert_tf.model.trained_model import (
    TrainedModel,
    read_tuned,
    with_scores_scaled,
)
from albert_tf.runs.checkpoints import (
    Checkpoint,
    arrays_of,
    assign_arrays,
    load_newest,
)
from albert_tf.runs.metrics import Metrics, read_metrics
from albert_tf.runs.progress import Progress
from albert_tf.runs.task_record import TaskRecord, write_record
from albert_tf.tasks.baselines import baselines_of
from albert_tf.tasks.evaluation import (
    Answered,
    chosen_threshold,
    evaluated,
    measured,
    outputs_of,
    task_of,
)
from albert_tf.tasks.task import Result
from albert_tf.training.evaluate import MetricsLog
from albert_tf.training.interruption import SIGNALS, StopRequest, stop_requests
from albert_tf.training.loop import Pace, Saver, train
from albert_tf.training.run import remove_leftovers, training_steps
from albert_tf.training.steps import Counts, StepDone
from schemas.errors import AlbertError
from schemas.files import copy_whole, write_json, write_text
from schemas.layout import (
    EVAL,
    HF_TOKENIZER_CONFIG,
    MODEL_CARD,
    MODEL_CONFIG,
    TASK_EVALUATION,
    TASK_PREDICTIONS,
    WORDPIECE,
)

# By so much a measure has to grow at the end to be likely to grow further.
_GAIN = 0.01


def finetune(
    job: TuningJob,
    *,
    vocabulary: Path,
    progress: Progress,
    before_end: Callable[[TrainedModel], None] = lambda tuned: None,
) -> Result:
    """Fine-tune, or go on with it; then measure the best checkpoint.

    A signal to end takes effect once what is done is saved.

    Args:
        vocabulary: Its file.
        before_end: Done with the best checkpoint before the run counts as finished.

    Returns:
        What `eval.json` says.
    """
    checkpoint = load_newest(job.run, progress.say)
    if checkpoint is None:
        begin(job, vocabulary=vocabulary)
    with stop_requests() as stop:
        work = FineTuning(job, checkpoint, stop=stop, progress=progress)
        reason = train(work)
        work.log.close()
    if reason is not None:
        signal.raise_signal(SIGNALS[reason])
    return finish(job, progress=progress, before_end=before_end)


def begin(job: TuningJob, *, vocabulary: Path) -> None:
    """Write the files that never change."""
    remove_leftovers(job.run)
    write_json(job.run / MODEL_CONFIG, dataclasses.asdict(job.model_config))
    copy_whole(vocabulary, job.run / vocabulary.name)
    rules = vocabulary.with_name(HF_TOKENIZER_CONFIG)
    if vocabulary.name == WORDPIECE and rules.exists():
        copy_whole(rules, job.run / rules.name)
    length = job.config.max_seq_length
    record = TaskRecord.of(
        job.spec,
        job.config,
        max_seq_length=length,
        trained_length=max(length, job.trained_length),
    )
    write_record(job.run, record)


class _Stopped(Exception):
    """An evaluation was left."""


class TaskEvaluations:
    """The `Evaluations` of fine-tuning, each with a checkpoint.

    The model is measured in float32, whatever it is trained in, so that the checkpoint
    that is the best here is the best in `eval.json`.

    Args:
        model: Measured as it is at each call.
        state: Keeps the threshold that was chosen last.
        log: Its lines tell what was evaluated before.
    """

    are_all_saved: ClassVar[bool] = True

    def __init__(
        self,
        job: TuningJob,
        model: TaskModel,
        state: TuningState,
        *,
        log: MetricsLog,
        progress: Progress,
    ) -> None:
        self._job, self._model, self._state = job, model, state
        self._log, self._progress = log, progress
        self._task, labels = task_of(job.spec), len(job.spec.labels)
        self._measured = TaskModel(job.model_config, kind=job.spec.kind, labels=labels)
        self._logits = TaskLogits(
            self._measured, job.spec, longest=job.config.max_seq_length
        )

    def is_due(self, step: int) -> bool:
        """Whether there is an evaluation after a step that was not done yet."""
        config, lines = self._job.config, self._log.evaluations()
        is_one = step % config.eval_every == 0 or step == config.steps
        return is_one and all(line["step"] != step for line in lines)

    def seconds(self, step: int, *, step_seconds: float) -> float:
        """Unknown: nothing depends on it, as fine-tuning has no limit of time."""
        return 0.0

    def seconds_left(self, step: int, *, step_seconds: float) -> float:
        """Unknown, see `seconds`."""
        return 0.0

    def measure(self, step: int, stop: StopRequest, *, has_bar: bool) -> Metrics | None:
        """Evaluate, and log what was trained since the last evaluation."""
        try:
            measures = self.measures(stop)
        except _Stopped:
            return None
        if self._state.losses[1]:
            # The line is of the steps that the checkpoint of this evaluation has.
            self._log.write(self._state.take_line())
        return {"step": step, "split": EVAL, **measures}

    def measures(self, stop: StopRequest) -> dict[str, float]:
        """The measures of the task, with a threshold that is chosen anew."""

        def check_stop(rows: int) -> None:
            if stop.reason:
                raise _Stopped

        state, held_out = self._state, self._job.held_out
        weights = arrays_of(self._model.weights_by_path)
        assign_arrays(
            self._measured.weights_by_path,
            with_scores_scaled(
                weights, mean=state.score_mean, deviation=state.score_deviation
            ),
        )
        outputs = outputs_of(
            self._task,
            held_out.examples,
            held_out.rows,
            self._logits.of_rows(held_out.rows, on_rows=check_stop),
            max_answer_tokens=self._job.config.max_answer_tokens,
        )
        answered = Answered(self._task, held_out.examples, outputs)
        state.threshold = chosen_threshold(answered)
        predictions = answered.predictions(state.threshold)
        return measured(self._task, answered.targets, predictions)

    def is_best(self, line: Metrics) -> bool:
        """Whether an evaluation that is not recorded yet is the best so far."""
        best = self.best()
        return best is None or self._worth(line) > self._worth(best)

    def record(self, line: Metrics) -> None:
        """Log an evaluation and show it."""
        mark = " (best)" if self.is_best(line) else ""
        self._log.write(line)
        values = (f"{name} {line[name]:.4f}" for name in self._job.spec.metrics)
        self._progress.say(
            f"step {line['step']:,} of {self._job.config.steps:,}: "
            f"{', '.join(values)}{mark}"
        )

    def best(self) -> Metrics | None:
        """The best evaluation, the first of several."""
        return max(self._log.evaluations(), key=self._worth, default=None)

    def since_best(self) -> int:
        """How many evaluations there were after the best one."""
        lines, best = self._log.evaluations(), self.best()
        return 0 if best is None else len(lines) - 1 - lines.index(best)

    def _worth(self, line: Metrics) -> tuple[float, ...]:
        """What evaluations are compared by: each measure decides between equals."""
        return tuple(line[name] or 0.0 for name in self._job.spec.metrics)


class FineTuning:
    """What runs: a model of a task with its optimizer and its log; see `loop.Work`.

    Args:
        checkpoint: Where it goes on; None to begin.
    """

    hosts = ONE_HOST

    def __init__(
        self,
        job: TuningJob,
        checkpoint: Checkpoint | None,
        *,
        stop: StopRequest,
        progress: Progress,
    ) -> None:
        self.job, self.stop, self.progress = job, stop, progress
        self.config = job.config.training().resolved()
        self.pace = Pace(self.config.batch_size)
        self.state = TuningState.of(job)
        if checkpoint is not None:
            self.state = TuningState(**checkpoint.state)
        model = job.new_model(self.state)
        loss = task_loss(label_smoothing=job.config.label_smoothing)
        self.steps = training_steps(model, self.config, loss=loss)
        if checkpoint is not None:
            assign_arrays(model.weights_by_path, checkpoint.weights)
            assign_arrays(self.steps.optimizer_state, checkpoint.optimizer_state)
            progress.say(f"Continuing {job.run} after step {self.state.step}.")
        every = job.config.checkpoint_every
        # Without a number of steps every evaluation has a checkpoint, and that is all.
        self.saver = Saver(job.run, self.steps, self.state, every=every)
        self.log = MetricsLog(job.run, step=self.state.step)
        self.evaluations = TaskEvaluations(
            job, model, self.state, log=self.log, progress=progress
        )

    @property
    def is_over(self) -> bool:
        """Whether patience has run out."""
        patience = self.job.config.patience
        return patience is not None and self.evaluations.since_best() >= patience

    def batches(self) -> Generator[Batch, None, None]:
        """The rows from where the run stands, a step at a time `[B, ...]`."""
        job, size = self.job, self.job.config.batch_size
        label_weights = job.label_weights()
        epoch, place = divmod(self.state.step, -(-len(job.train.rows) // size))
        while True:
            for rows in self._rows_of_epoch(epoch)[place:]:
                batch = batch_of(
                    [job.train.rows[row] for row in rows],
                    job.spec,
                    size=size,
                    longest=job.config.max_seq_length,
                    options=job.train.options,
                    label_weights=label_weights,
                )
                yield self._standardised(batch)
            epoch, place = epoch + 1, 0

    def _rows_of_epoch(self, epoch: int) -> list[Array]:
        config = self.job.config
        return epoch_batches(
            self.job.train.lengths,
            batch_size=config.batch_size,
            seed=config.seed,
            epoch=epoch,
        )

    def _standardised(self, batch: Batch) -> Batch:
        """The same batch; scores of the training set have mean 0 and deviation 1."""
        if self.job.spec.kind != "regress":
            return batch
        targets = batch["targets"] - self.state.score_mean
        targets = (targets / self.state.score_deviation).astype("float32")
        return {**batch, "targets": targets}

    def parts(self, batch: Batch) -> tuple[Counts, Iterator[Batch]]:
        """What a step computes, a few micro-batches at a time."""
        size, devices = self.job.config.micro_batch_size, self.steps.num_devices
        counts = self.steps.loss.counts(batch)
        return counts, micro_batches(batch, size=size, devices=devices)

    def prepare(self, batch: Batch) -> None:
        """Nothing: batches have many widths, each compiled when it comes first."""

    def record(self, done: StepDone, seconds: float) -> str:
        """Count the step that was just done; its mean loss."""
        self.state.add(done, seconds)
        loss, weight = self.state.losses
        return f"step {self.state.step:,}, loss {loss / max(weight, 1e-9):.4f}"

    def overflow(self, value: float, what: str) -> AlbertError:
        """The error of a loss or gradient that is not finite."""
        return AlbertError(
            f"The {what} overflowed in step {self.state.step + 1}; start again with "
            "--overwrite and a lower --learning-rate."
        )


def finish(
    job: TuningJob,
    *,
    progress: Progress,
    before_end: Callable[[TrainedModel], None],
) -> Result:
    """Measure the best checkpoint and write predictions, record, card and result."""
    tuned = read_tuned(job.run, say=progress.say)
    outputs = predicted(tuned, job.held_out)
    answered = Answered(task_of(job.spec), job.held_out.examples, outputs)
    threshold = chosen_threshold(answered)
    progress.say("Measuring what guessing and words alone give.")
    baselines = baselines_of(job.spec, job.train.examples, job.held_out.examples)
    result: dict[str, Any] = {
        "step": tuned.step,
        "training_examples": len(job.train.examples),
        **evaluated(answered, threshold=threshold, baselines=baselines),
    }
    lines = [line for line in read_metrics(job.run) if line["split"] == EVAL]
    if is_improving(lines, job.spec.metrics[0], steps=job.config.steps):
        steps_of_epoch = -(-len(job.train.rows) // job.config.batch_size)
        epochs = -(-job.config.steps // steps_of_epoch)
        result["still_improving_after_epochs"] = epochs
    record = dataclasses.replace(tuned.record, threshold=threshold)
    write_record(job.run, record)
    write_text(
        job.run / TASK_PREDICTIONS,
        prediction_lines(job.spec, job.held_out.examples, outputs, threshold=threshold),
    )
    write_text(job.run / MODEL_CARD, tuned_card(record, job, result))
    before_end(dataclasses.replace(tuned, task=record))
    # Last, because it says that the run is finished.
    write_json(job.run / TASK_EVALUATION, result)
    return result


def is_improving(lines: Sequence[Metrics], metric: str, *, steps: int) -> bool:
    """Whether more steps are likely to make a model better.

    The last evaluation is the best one, by more than chance would have it at the end of
    a schedule: by a hundredth above all of the first three quarters of the steps.

    >>> lines = [{"step": n, "f1": f1} for n, f1 in enumerate((0.1, 0.3, 0.4, 0.45))]
    >>> is_improving(lines, "f1", steps=3), is_improving(lines[:3], "f1", steps=3)
    (True, False)
    """
    worth = {line["step"]: line[metric] or 0.0 for line in lines}
    before = [value for step, value in worth.items() if step <= 0.75 * steps]
    last = worth.get(steps)
    if last is None or not before:
        return False
    return bool(last >= max(worth.values()) and last > max(before) + _GAIN)
