"""What a model computes of many encoded examples, each as if it were alone.

Rows of like length are computed together. Padding has no influence on a row, so the
rest of its batch makes no difference, except in rounding.
"""

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.evaluation.held_out import compiled
from albert_tf.finetuning.batches import inputs_of, width_of
from albert_tf.finetuning.job import TaskRows
from albert_tf.model.task_model import Batch, TaskModel
from albert_tf.model.trained_model import TrainedModel, task_model_of
from albert_tf.tasks.evaluation import Answered, evaluated, outputs_of, task_of
from albert_tf.tasks.task import Result
from schemas.task import EncodedExample, TaskExample, TaskSpec

Array = npt.NDArray[np.float64]
Compute = Callable[[Batch], npt.NDArray[Any]]

# Tokens that are computed at a time.
TOKENS = 4096

# Up to this many rows nothing is compiled, which would take longer than they do.
FEW_ROWS = 64


class TaskLogits:
    """The logits of a model as it is at each call, compiled once for each width.

    Args:
        model: Of the task.
        spec: The task.
        longest: Tokens of the longest row that there may be.
        compute: Computes a batch `[B, ...]`; without it the model is compiled, which
            takes too long for a few texts.
    """

    def __init__(
        self,
        model: TaskModel,
        spec: TaskSpec,
        *,
        longest: int,
        compute: Compute | None = None,
    ) -> None:
        self._spec, self._longest = spec, longest
        self._compute = compute or compiled(_logits, model)

    def of_rows(
        self,
        rows: Sequence[EncodedExample],
        *,
        on_rows: Callable[[int], None] = lambda rows: None,
    ) -> list[Array]:
        """The logits of each row without those of padding.

        Args:
            rows: Encoded examples, whose targets are not looked at.
            on_rows: Told how many rows were computed since it was last told.

        Returns:
            `[L]`, `[1]` (`regress`), `[O]` (`choose`), `[S, L]` (`tag`) or `[S, 2]`
            (`answer`) for each row.
        """
        found: list[Any] = [None] * len(rows)
        tokens = [width_of(row.length, longest=self._longest) for row in rows]
        for width in sorted(set(tokens), reverse=True):
            numbers = [n for n, size in enumerate(tokens) if size == width]
            for options in sorted({len(rows[n].sequences) for n in numbers}):
                alike = [n for n in numbers if len(rows[n].sequences) == options]
                size = max(1, TOKENS // (width * options))
                for first in range(0, len(alike), size):
                    chosen = alike[first : first + size]
                    for number, logits in self._of_batch(rows, chosen, size=size):
                        found[number] = logits
                    on_rows(len(chosen))
        return found

    def _of_batch(
        self, rows: Sequence[EncodedExample], chosen: list[int], *, size: int
    ) -> list[tuple[int, Array]]:
        asked = [rows[number] for number in chosen]
        logits = self._compute(
            inputs_of(asked, self._spec.kind, size=size, longest=self._longest)
        )
        return [(n, _of_row(logits[i], rows[n])) for i, n in enumerate(chosen)]


def _logits(model: TaskModel, batch: Batch) -> Any:
    return model(batch)


def _of_row(logits: Array, row: EncodedExample) -> Array:
    """Of tokens without those of padding; all of others."""
    return logits[: row.length] if logits.ndim == 2 else logits


class Predictor:
    """The outputs of a fine-tuned model for examples, as often as it is asked.

    Args:
        is_compiled: False to compile nothing for a few rows, which changes rounding.
    """

    def __init__(self, tuned: TrainedModel, *, is_compiled: bool = True) -> None:
        self._tuned, self._is_compiled = tuned, is_compiled

    def outputs(self, given: TaskRows) -> list[Any]:
        """What the model says of each example, as `Task.prediction` takes it."""
        record = self._tuned.record
        is_few = not self._is_compiled and len(given.rows) <= FEW_ROWS
        logits = self._of_few if is_few else self._of_many
        return outputs_of(
            task_of(record.spec),
            given.examples,
            given.rows,
            logits.of_rows(given.rows),
            max_answer_tokens=record.max_answer_tokens,
        )

    @functools.cached_property
    def _of_few(self) -> TaskLogits:
        model = task_model_of(self._tuned, is_compiled=False)
        return self._logits(model, compute=_uncompiled(model))

    @functools.cached_property
    def _of_many(self) -> TaskLogits:
        return self._logits(task_model_of(self._tuned))

    def _logits(
        self, model: TaskModel, *, compute: Compute | None = None
    ) -> TaskLogits:
        record = self._tuned.record
        longest = record.max_seq_length
        return TaskLogits(model, record.spec, longest=longest, compute=compute)


def predicted(tuned: TrainedModel, given: TaskRows) -> list[Any]:
    """The outputs of a fine-tuned model for encoded examples."""
    return Predictor(tuned).outputs(given)


def _uncompiled(model: TaskModel) -> Compute:
    def compute(batch: Any) -> Any:
        tensors = {name: ops.convert_to_tensor(value) for name, value in batch.items()}
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
