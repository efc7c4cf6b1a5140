"""Fine-tuning from end to end: training, the best checkpoint, what it is worth.

A step depends only on its number, so that a killed run continues from its newest
checkpoint with the same bytes.
"""

import dataclasses
import functools
import signal
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from albert_tf.finetuning.batches import (
    batch_of,
    batch_width,
    epoch_batches,
    micro_batches,
    task_batches,
)
from albert_tf.finetuning.card import tuned_card
from albert_tf.finetuning.contrast import INPUTS, with_gradients
from albert_tf.finetuning.job import TuningJob, TuningState
from albert_tf.finetuning.predictor import Predictor, TaskEvaluations, prediction_lines
from albert_tf.model.compiling import Compiled, compile_together
from albert_tf.model.task_model import Batch, task_loss
from albert_tf.model.trained_model import TrainedModel, as_embedder, read_tuned
from albert_tf.runs.checkpoints import Checkpoint, load_newest
from albert_tf.runs.metrics import Metrics, Progress, read_metrics
from albert_tf.runs.task_record import write_record
from albert_tf.tasks.baselines import baselines_of
from albert_tf.tasks.evaluation import evaluated, with_chosen_threshold
from albert_tf.tasks.task import Result
from albert_tf.training.evaluations import MetricsLog
from albert_tf.training.loop import OverflowedError, Saver, StepParts, Training
from albert_tf.training.run import remove_leftovers, training_steps
from albert_tf.training.signals import SIGNALS, Reason, stop_requests
from albert_tf.training.steps import Counts, TrainingLoss, TrainingSteps
from schemas.errors import AlbertError
from schemas.files import copy_whole, write_json, write_text
from schemas.layout import (
    EVAL,
    HF_TOKENIZER_CONFIG,
    MODEL_CARD,
    MODEL_CONFIG,
    TASK_PREDICTIONS,
    WORDPIECE,
)


def finetune(
    job: TuningJob, *, vocabulary: Path, progress: Progress, max_seconds: float | None = None
) -> tuple[TrainedModel, Result] | None:
    """Fine-tune, or go on with it; then measure the best checkpoint.

    A signal to end takes effect once what is done is saved.

    Args:
        max_seconds: How long training may take from now on; None for no limit.

    Returns:
        The best checkpoint, and what `eval.json` is to say, which is written last: it says
        that the run is finished. None where the time was over before the last step.
    """
    checkpoint = load_newest(job.run, progress.say)
    if checkpoint is None:
        # The files that never change.
        remove_leftovers(job.run)
        write_json(job.run / MODEL_CONFIG, dataclasses.asdict(job.source.config))
        copy_whole(vocabulary, job.run / vocabulary.name)
        rules = vocabulary.with_name(HF_TOKENIZER_CONFIG)
        if vocabulary.name == WORDPIECE and rules.exists():
            copy_whole(rules, job.run / rules.name)
        write_record(job.run, job.record)
    step, reason = tune(job, checkpoint, max_seconds=max_seconds, progress=progress)
    if reason == "max-time":
        progress.say(
            f"{job.run}: stopped ({reason}) after {step:,} of {job.config.steps:,} "
            "steps; the same command continues."
        )
        return None
    if reason is not None:
        signal.raise_signal(SIGNALS[reason])
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
    return dataclasses.replace(tuned, task=record), result


def tune(
    job: TuningJob,
    checkpoint: Checkpoint | None,
    *,
    max_seconds: float | None = None,
    progress: Progress,
) -> tuple[int, Reason | None]:
    """Go on to the last step, or until patience has run out.

    Args:
        checkpoint: Where it goes on; None to begin.

    Returns:
        The step that it came to, and why it ended earlier, if it did.
    """
    with stop_requests(max_seconds) as stop:
        config = job.config.training().resolved()
        state = TuningState.of(job) if checkpoint is None else TuningState(**checkpoint.state)
        model = job.new_model(state)
        # What the loss of a batch follows from.
        vectors = Compiled(lambda of, batch: of(batch), model) if job.spec.kind == "embed" else None
        loss = functools.partial(task_loss, smoothing=job.config.label_smoothing)
        of_task = TrainingLoss(loss, step_counts)
        steps = training_steps(model, config, loss=of_task, checkpoint=checkpoint)
        if checkpoint is not None:
            progress.say(f"Continuing {job.run} after step {state.step}.")
        log = MetricsLog(job.run, step=state.step)
        saver = Saver(job.run, steps, state, every=job.config.checkpoint_every)
        training = Training(
            config=config,
            steps=steps,
            state=state,
            evaluations=TaskEvaluations(
                job, model, state, config=config, log=log, progress=progress
            ),
            saver=saver,
            stop=stop,
            progress=progress,
        )
        if not (training.has_ended or stop.reason):
            compile_widths(job, training, vectors)
        training.evaluate_when_due(has_bar=False)
        training.start_bar()
        try:
            for done, seconds in training.steps_done(steps_of(job, steps, state, vectors)):
                state.add(done, seconds)
                loss_sum, weight = state.losses
                training.show(f"step {state.step:,}, loss {loss_sum / max(weight, 1e-9):.4f}")
                if training.is_ahead:
                    continue
                training.evaluate_when_due()
                if saver.is_due(state.step):
                    saver.save_what_is_new()
        except OverflowedError as error:
            raise AlbertError(
                f"The {error.what} overflowed in step {state.step + 1}; start again with "
                "--overwrite and a lower --learning-rate."
            ) from error
        saver.save_what_is_new()
        reason = training.unfinished
        log.close()
    return state.step, reason


def steps_of(
    job: TuningJob, steps: TrainingSteps, state: TuningState, vectors: Compiled | None
) -> Generator[StepParts, None, None]:
    """The steps from where a run stands, in order.

    Args:
        vectors: Of `embed`: what a batch's loss follows from.
    """
    for batch in task_batches(job, state):
        yield StepParts(step_counts(batch), parts_of(batch, job, steps, vectors))


def parts_of(
    batch: Batch, job: TuningJob, steps: TrainingSteps, vectors: Compiled | None
) -> Iterator[Batch]:
    """A batch in micro-batches; of `embed` with what the weights of the moment make of it."""
    size = job.config.micro_batch_size
    if vectors is not None:
        steps.settle()
        is_scored = job.spec.metrics[0] == "spearman"
        batch = with_gradients(batch, vectors, size=size, is_scored=is_scored)
    yield from micro_batches(batch, size=size, devices=steps.num_devices)


def compile_widths(job: TuningJob, training: Training, vectors: Compiled | None) -> None:
    """Compile for batches of all widths; on TensorFlow each is compiled as it comes."""
    if keras.backend.backend() == "tensorflow":
        return
    programs, parts = training.evaluations.programs(), []
    longest, rows, options = job.config.max_seq_length, job.config.batch_size, job.train.options
    lengths = job.train.lengths
    # Those of the first epoch: rows are sorted, so that others have hardly any other width.
    chosen = epoch_batches(lengths, batch_size=rows, seed=job.config.seed, epoch=0)
    fullest = (max(batch.tolist(), key=lengths.__getitem__) for batch in chosen)
    for row in {batch_width(lengths[row], longest=longest): row for row in fullest}.values():
        example = job.train.rows[row]
        wide = batch_of([example], job.spec, size=rows, longest=longest, options=options)
        if vectors is not None:
            hidden = job.source.config.hidden_size
            wide["losses"] = np.zeros(rows, np.float32)
            wide["gradients"] = np.zeros((rows, options, hidden), np.float32)
        size, devices = job.config.micro_batch_size, training.steps.num_devices
        parts.append(next(micro_batches(wide, size=size, devices=devices)))
        if vectors is not None:
            programs.append(vectors.program({n: parts[-1][n][0] for n in INPUTS}))
    programs += training.steps.programs(parts)
    compile_together(programs, say=training.progress.say)


def step_counts(batch: Batch) -> Counts:
    """The weight of a whole step, which its losses are divided by."""
    return {"weight": float(np.sum(batch["weights"]))}


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
