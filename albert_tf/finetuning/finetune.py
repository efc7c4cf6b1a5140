"""Fine-tuning from end to end: training, the best checkpoint, what it is worth."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from keras import ops

from albert_tf.finetuning.baselines import baselines_of
from albert_tf.finetuning.task_evaluation import Answered, chosen_threshold, evaluated
from albert_tf.finetuning.task_logits import Compute, TaskLogits
from albert_tf.finetuning.tuned_card import tuned_card
from albert_tf.finetuning.tuning import Tuning
from albert_tf.finetuning.tuning_job import TaskRows, TuningJob
from albert_tf.model.operations import elementary
from albert_tf.model.task_model import TaskModel
from albert_tf.model.trained_model import TrainedModel, read_tuned, task_model_of
from albert_tf.runs.checkpoints import has_checkpoint
from albert_tf.runs.progress import Progress
from albert_tf.runs.task_record import TaskRecord, write_record
from albert_tf.tasks.kinds import task_of
from albert_tf.tasks.outputs import outputs_of
from albert_tf.tasks.task import Result
from albert_tf.training.begin import remove_leftovers
from schemas.files import copy_whole, write_json, write_text
from schemas.layout import (
    MODEL_CARD,
    MODEL_CONFIG,
    TASK_EVALUATION,
    TASK_PREDICTIONS,
)
from schemas.task import TaskExample, TaskSpec

# Up to this many rows nothing is compiled, which would take longer than they do.
_FEW_ROWS = 64


def finetune(
    job: TuningJob,
    *,
    vocabulary: Path,
    progress: Progress,
    before_end: Callable[[TrainedModel], None] = lambda tuned: None,
) -> Result:
    """Fine-tune, or go on with it; then measure the best checkpoint.

    Args:
        job: What to do.
        vocabulary: Its file.
        progress: Shows how it goes.
        before_end: Done with the best checkpoint before the run counts as finished.

    Returns:
        What `eval.json` says.
    """
    if not has_checkpoint(job.run):
        begin(job, vocabulary=vocabulary)
    Tuning(job, progress).train()
    return finish(job, progress=progress, before_end=before_end)


def begin(job: TuningJob, *, vocabulary: Path) -> None:
    """Write the files that never change."""
    remove_leftovers(job.run)
    write_json(job.run / MODEL_CONFIG, dataclasses.asdict(job.model_config))
    copy_whole(vocabulary, job.run / vocabulary.name)
    length = job.config.max_seq_length
    record = TaskRecord.of(
        job.spec,
        job.config,
        max_seq_length=length,
        trained_length=max(length, job.trained_length),
    )
    write_record(job.run, record)


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
    result = {
        "step": tuned.step,
        "training_examples": len(job.train.examples),
        **evaluated(answered, threshold=threshold, baselines=baselines),
    }
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


def predicted(
    tuned: TrainedModel, given: TaskRows, *, is_compiled: bool = True
) -> list[Any]:
    """The outputs of a fine-tuned model for encoded examples.

    Args:
        tuned: The model.
        given: The examples.
        is_compiled: False to compile nothing for a few rows, which changes rounding.
    """
    model = task_model_of(tuned)
    compute: Compute | None = None
    if not is_compiled and len(given.rows) <= _FEW_ROWS:
        compute = _uncompiled(model)
    longest = tuned.record.max_seq_length
    logits = TaskLogits(model, tuned.record.spec, longest=longest, compute=compute)
    return outputs_of(
        task_of(tuned.record.spec),
        given.examples,
        given.rows,
        logits.of_rows(given.rows),
        max_answer_tokens=tuned.record.max_answer_tokens,
    )


def _uncompiled(model: TaskModel) -> Compute:
    def compute(batch: Any) -> Any:
        tensors = {name: ops.convert_to_tensor(value) for name, value in batch.items()}
        with elementary():
            return ops.convert_to_numpy(model(tensors)).astype("float64")

    return compute


def prediction_lines(
    spec: TaskSpec,
    examples: Sequence[TaskExample],
    outputs: Sequence[Any],
    *,
    threshold: float | None,
) -> str:
    """Predictions as JSON lines, each with the id of its example."""
    task, pairs = task_of(spec), zip(examples, outputs, strict=True)
    return "".join(
        json.dumps(
            {"id": example.id, **task.shown(example, output, threshold=threshold)},
            ensure_ascii=False,
        )
        + "\n"
        for example, output in pairs
    )


def evaluate_tuned(tuned: TrainedModel, given: TaskRows) -> Result:
    """What a fine-tuned model is worth on further examples.

    The threshold is that of the model, not chosen on these examples.
    """
    outputs = predicted(tuned, given)
    record = tuned.record
    return {
        "step": tuned.step,
        **evaluated(
            Answered(task_of(record.spec), given.examples, outputs),
            threshold=record.threshold,
        ),
    }
