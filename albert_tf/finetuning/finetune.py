"""Fine-tuning from end to end: training, the best checkpoint, what it is worth.

A step depends only on its number, so that a killed run continues from its newest
checkpoint with the same bytes.
"""

import dataclasses
import functools
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from albert_tf.evaluation.held_out import Compiled, compile_together
from albert_tf.finetuning.batches import (
    batch_of,
    epoch_batches,
    micro_batches,
    training_batches,
    width_of,
)
from albert_tf.finetuning.card import tuned_card
from albert_tf.finetuning.contrast import INPUTS, with_gradients
from albert_tf.finetuning.evaluate import Predictor, TaskEvaluations, prediction_lines
from albert_tf.finetuning.job import TuningJob, TuningState
from albert_tf.model.task_model import Batch, task_loss
from albert_tf.model.trained_model import TrainedModel, as_embedder, read_tuned
from albert_tf.runs.checkpoints import Checkpoint, load_newest
from albert_tf.runs.metrics import Metrics, Progress, read_metrics
from albert_tf.runs.run_record import write_record
from albert_tf.tasks.baselines import baselines_of
from albert_tf.tasks.evaluation import evaluated, with_chosen_threshold
from albert_tf.tasks.task import Result
from albert_tf.training.evaluate import MetricsLog
from albert_tf.training.loop import Saver, Training
from albert_tf.training.run import remove_leftovers, training_steps
from albert_tf.training.signals import SIGNALS, StopRequest, stop_requests
from albert_tf.training.steps import Counts, StepDone, TrainingLoss
from albert_tf.training.timing import Pace
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


def finetune(
    job: TuningJob,
    *,
    vocabulary: Path,
    progress: Progress,
    max_seconds: float | None = None,
    before_end: Callable[[TrainedModel], None] = lambda tuned: None,
) -> Result | None:
    """Fine-tune, or go on with it; then measure the best checkpoint.

    A signal to end takes effect once what is done is saved.

    Args:
        max_seconds: How long training may take from now on; None for no limit.
        before_end: Done with the best checkpoint before the run counts as finished.

    Returns:
        What `eval.json` says; None where the time was over before the last step.
    """
    checkpoint = load_newest(job.run, progress.say)
    if checkpoint is None:
        begin(job, vocabulary=vocabulary)
    with stop_requests(max_seconds) as stop:
        work = FineTuning(job, checkpoint, stop=stop, progress=progress)
        reason = work.train()
        work.log.close()
    if reason == "max-time":
        progress.say(
            f"{job.run}: stopped ({reason}) after {work.state.step:,} of {work.config.steps:,} "
            "steps; the same command continues."
        )
        return None
    if reason is not None:
        signal.raise_signal(SIGNALS[reason])
    return finish(job, progress=progress, before_end=before_end)


def begin(job: TuningJob, *, vocabulary: Path) -> None:
    """Write the files that never change."""
    remove_leftovers(job.run)
    write_json(job.run / MODEL_CONFIG, dataclasses.asdict(job.source.config))
    copy_whole(vocabulary, job.run / vocabulary.name)
    rules = vocabulary.with_name(HF_TOKENIZER_CONFIG)
    if vocabulary.name == WORDPIECE and rules.exists():
        copy_whole(rules, job.run / rules.name)
    write_record(job.run, job.record)


class FineTuning(Training):
    """What runs: a model of a task with its optimizer and its log.

    Args:
        checkpoint: Where it goes on; None to begin.
    """

    state: TuningState
    evaluations: TaskEvaluations

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
        # Of `embed`: what a batch's loss follows from.
        self._vectors = None
        if checkpoint is not None:
            self.state = TuningState(**checkpoint.state)
        model = job.new_model(self.state)
        if job.spec.kind == "embed":
            self._vectors = Compiled(lambda of, batch: of(batch), model)
        loss = functools.partial(task_loss, smoothing=job.config.label_smoothing)
        self.steps = training_steps(
            model, self.config, loss=TrainingLoss(loss, step_counts), checkpoint=checkpoint
        )
        if checkpoint is not None:
            progress.say(f"Continuing {job.run} after step {self.state.step}.")
        every = job.config.checkpoint_every
        # Without a number of steps every evaluation has a checkpoint, and that is all.
        self.saver = Saver(job.run, self.steps, self.state, every=every)
        self.log = MetricsLog(job.run, step=self.state.step)
        self.evaluations = TaskEvaluations(
            job, model, self.state, config=self.config, log=self.log, progress=progress
        )

    @property
    def is_over(self) -> bool:
        """Whether patience has run out: so many evaluations came after the best one."""
        patience = self.job.config.patience
        if patience is None:
            return False
        lines, best = self.log.evaluations(), self.evaluations.best()
        return best is not None and len(lines) - 1 - lines.index(best) >= patience

    def batches(self) -> Generator[Batch, None, None]:
        """The rows from where the run stands, a step at a time `[B, ...]`."""
        return training_batches(self.job, self.state)

    def parts(self, batch: Batch) -> tuple[Counts, Iterator[Batch]]:
        """What a step computes, a few micro-batches at a time."""
        size, devices = self.job.config.micro_batch_size, self.steps.num_devices
        if self._vectors is not None:
            is_scored = self.job.spec.metrics[0] == "spearman"
            self.steps.settle()
            batch = with_gradients(batch, self._vectors, size=size, is_scored=is_scored)
        return step_counts(batch), micro_batches(batch, size=size, devices=devices)

    def prepare(self, batch: Batch) -> None:
        """Compile for batches of all widths; on TensorFlow each is compiled as it comes."""
        if keras.backend.backend() == "tensorflow":
            return
        job, programs, parts = self.job, self.evaluations.programs(), []
        longest, rows, options = job.config.max_seq_length, job.config.batch_size, job.train.options
        lengths = job.train.lengths
        # Those of the first epoch: rows are sorted, so that others have hardly any other width.
        chosen = epoch_batches(lengths, batch_size=rows, seed=job.config.seed, epoch=0)
        fullest = (max(batch.tolist(), key=lengths.__getitem__) for batch in chosen)
        for row in {width_of(lengths[row], longest=longest): row for row in fullest}.values():
            example = job.train.rows[row]
            wide = batch_of([example], job.spec, size=rows, longest=longest, options=options)
            if self._vectors is not None:
                hidden = job.source.config.hidden_size
                wide["losses"] = np.zeros(rows, np.float32)
                wide["gradients"] = np.zeros((rows, options, hidden), np.float32)
            size, devices = job.config.micro_batch_size, self.steps.num_devices
            parts.append(next(micro_batches(wide, size=size, devices=devices)))
            if self._vectors is not None:
                programs.append(self._vectors.program({n: parts[-1][n][0] for n in INPUTS}))
        programs += self.steps.programs(parts)
        compile_together(programs, say=self.progress.say)

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


def step_counts(batch: Batch) -> Counts:
    """The weight of a whole step, which its losses are divided by."""
    return {"weight": float(np.sum(batch["weights"]))}


def finish(
    job: TuningJob, *, progress: Progress, before_end: Callable[[TrainedModel], None]
) -> Result:
    """Measure the best checkpoint and write predictions, record, card and result."""
    tuned = read_tuned(job.run, say=progress.say)
    answered = with_chosen_threshold(Predictor(tuned).answers(job.held_out))
    progress.say("Measuring what guessing and words alone give.")
    baselines = baselines_of(job.spec, job.train.examples, job.held_out.examples)
    if job.spec.kind == "embed" and job.source.weights:
        source = dataclasses.replace(as_embedder(job.source), task=job.record)
        before = Predictor(source).answers(job.held_out).predictions
        baselines = {"before": before, **baselines}
    result: dict[str, Any] = {
        "step": tuned.step,
        "training_examples": len(job.train.examples),
        **evaluated(answered, baselines=baselines),
    }
    lines = [line for line in read_metrics(job.run) if line["split"] == EVAL]
    if is_improving(lines, job.spec.metrics[0], steps=job.config.steps):
        steps_of_epoch = -(-len(job.train.rows) // job.config.batch_size)
        epochs = -(-job.config.steps // steps_of_epoch)
        result["still_improving_after_epochs"] = epochs
        result["still_improving_after_steps"] = job.config.steps
    record = dataclasses.replace(tuned.record, threshold=answered.task.threshold)
    write_record(job.run, record)
    write_text(job.run / TASK_PREDICTIONS, prediction_lines(answered))
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
    return bool(last >= max(worth.values()) and last > max(before) + 0.01)
