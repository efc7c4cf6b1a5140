"""What a model of a task says of encoded examples, and what that is worth.

Rows of like length are computed together. Padding has no influence on a row, so the
rest of its batch makes no difference, except in rounding.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from albert_tf.finetuning.batches import batch_width, batches_to_predict
from albert_tf.finetuning.job import TuningJob, TuningState
from albert_tf.model.compiling import Compiled, Program, Stop, compile_together, never
from albert_tf.model.task_model import Batch, TaskModel
from albert_tf.model.trained_model import TrainedModel, task_model_of, with_scores_scaled
from albert_tf.runs.checkpoints import arrays_of, assign_arrays
from albert_tf.runs.metrics import Metrics, Progress
from albert_tf.tasks.evaluation import (
    Answered,
    answers_from,
    evaluated,
    measured,
    task_of,
    with_chosen_threshold,
)
from albert_tf.tasks.task import Result
from albert_tf.training.evaluations import Evaluations, MetricsLog
from albert_tf.training.signals import StopRequest
from schemas.config import ResolvedTrainConfig
from schemas.layout import EVAL
from schemas.task import EncodedExample, TaskRows, TaskSpec

Array = npt.NDArray[np.float64]
Compute = Callable[[Batch], npt.NDArray[Any]]

# Up to this many rows nothing is compiled, which would take longer than they do.
FEW_ROWS = 64


def logits_of(
    rows: Sequence[EncodedExample],
    compute: Compute,
    spec: TaskSpec,
    *,
    longest: int,
    should_stop: Stop = never,
) -> list[Array] | None:
    """The logits of each row without those of padding; None if stopped.

    Args:
        compute: Computes a batch `[B, ...]`.

    Returns:
        `[L]`, `[1]` (`regress`), `[O]` (`choose`), `[S, L]` (`tag`), `[S, 2]`
        (`answer`) or `[O, H]` (`embed`) for each row.
    """
    found: list[Any] = [None] * len(rows)
    for numbers, batch in batches_to_predict(rows, spec.kind, longest=longest):
        for number, logits in zip(numbers, compute(batch), strict=False):
            are_of_tokens = spec.kind in ("tag", "answer")
            found[number] = logits[: rows[number].length] if are_of_tokens else logits
        if should_stop():
            return None
    return found


def programs_for(
    rows: Sequence[EncodedExample], compute: Compiled, spec: TaskSpec, *, longest: int
) -> list[Program]:
    """What compiles all that `logits_of` computes of rows; nothing on TensorFlow."""
    if keras.backend.backend() == "tensorflow":
        return []
    # One row of each shape: its batch is filled up to that of many.
    some = {(batch_width(row.length, longest=longest), len(row.sequences)): row for row in rows}
    batches = batches_to_predict([*some.values()], spec.kind, longest=longest)
    return [compute.program(batch) for _, batch in batches]


class Predictor:
    """What a fine-tuned model says of examples, as often as it is asked.

    Args:
        is_compiled: False to compile nothing for a few rows, which changes rounding.
        compute: Computes a batch in the model's place.
    """

    def __init__(
        self, tuned: TrainedModel, *, is_compiled: bool = True, compute: Compute | None = None
    ) -> None:
        self._tuned, self._is_compiled, self._given = tuned, is_compiled, compute
        # The same model, compiled or not.
        self._computes: dict[bool, Compute] = {}

    def logits(self, rows: Sequence[EncodedExample]) -> list[Array]:
        """The logits of each row, see `logits_of`."""
        record = self._tuned.record
        compute = self._given or self._compute(rows)
        logits = logits_of(rows, compute, record.spec, longest=record.max_seq_length)
        assert logits is not None, "nobody stops it"
        return logits

    def _compute(self, rows: Sequence[EncodedExample]) -> Compute:
        is_compiled = self._is_compiled or len(rows) > FEW_ROWS
        if is_compiled not in self._computes:
            model, record = task_model_of(self._tuned, is_compiled=is_compiled), self._tuned.record

            def eager(batch: Batch) -> Any:
                tensors = {n: ops.convert_to_tensor(each) for n, each in batch.items()}
                return ops.convert_to_numpy(model(tensors)).astype("float64")

            self._computes[is_compiled] = eager
            if is_compiled:
                compiled = Compiled(lambda of, batch: of(batch), model)
                longest = record.max_seq_length
                compile_together(programs_for(rows, compiled, record.spec, longest=longest))
                self._computes[is_compiled] = compiled
        return self._computes[is_compiled]

    def answers(self, given: TaskRows) -> Answered:
        """What the model says of each example."""
        record, logits = self._tuned.record, self.logits(given.rows)
        task = task_of(
            record.spec, threshold=record.threshold, max_answer_tokens=record.max_answer_tokens
        )
        return answers_from(task, given.examples, given.rows, logits)


def prediction_lines(answered: Answered) -> str:
    """Predictions as JSON lines, each with the id of its example."""
    return "".join(
        json.dumps({"id": example.id, **shown}, ensure_ascii=False) + "\n"
        for example, shown in zip(answered.examples, answered.shown(), strict=True)
    )


def evaluate_tuned(tuned: TrainedModel, given: TaskRows) -> Result:
    """What a fine-tuned model is worth on further examples.

    The threshold is that of the model, not chosen on these examples.
    """
    return {"step": tuned.step, **evaluated(Predictor(tuned).answers(given))}


class TaskEvaluations(Evaluations):
    """Those of fine-tuning, each with a checkpoint.

    The model is measured in float32, whatever it is trained in, so that the checkpoint
    that is the best here is the best in `eval.json`.

    Args:
        state: Keeps the threshold that was chosen last.
    """

    are_all_saved = True

    def __init__(
        self,
        job: TuningJob,
        model: TaskModel,
        state: TuningState,
        *,
        config: ResolvedTrainConfig,
        log: MetricsLog,
        progress: Progress,
    ) -> None:
        super().__init__(config, log=log, progress=progress)
        self._job, self._model, self._state = job, model, state
        self._task = task_of(job.spec, max_answer_tokens=job.config.max_answer_tokens)
        labels = len(job.spec.labels)
        self._measured = TaskModel(job.source.config, kind=job.spec.kind, labels=labels)
        self._compute = Compiled(lambda of, batch: of(batch), self._measured)

    @property
    def are_enough(self) -> bool:
        """See `Evaluations.are_enough`: patience has run out, so many came after the best one."""
        patience = self._job.config.patience
        if patience is None:
            return False
        lines, best = self.log.evaluations(), self.best()
        return best is not None and len(lines) - 1 - lines.index(best) >= patience

    def programs(self) -> list[Program]:
        """See `Evaluations.programs`."""
        rows, longest = self._job.held_out.rows, self._job.config.max_seq_length
        return programs_for(rows, self._compute, self._job.spec, longest=longest)

    def measure(self, step: int, stop: StopRequest, *, has_bar: bool) -> Metrics | None:
        """See `Evaluations.measure`; logs what was trained since the last evaluation too.

        The threshold is chosen anew.
        """
        state, held_out = self._state, self._job.held_out
        weights = arrays_of(self._model.weights_by_path)
        assign_arrays(
            self._measured.weights_by_path,
            with_scores_scaled(weights, mean=state.score_mean, deviation=state.score_deviation),
        )
        logits = logits_of(
            held_out.rows,
            self._compute,
            self._job.spec,
            longest=self._job.config.max_seq_length,
            should_stop=lambda: stop.reason,
        )
        if logits is None:
            return None
        answered = with_chosen_threshold(
            answers_from(self._task, held_out.examples, held_out.rows, logits)
        )
        state.threshold = answered.task.threshold
        measures = measured(self._task, answered.targets, answered.predictions)
        if state.losses[1]:
            # The line is of the steps that the checkpoint of this evaluation has.
            self.log.write(state.take_line())
        return {"step": step, "split": EVAL, **measures}

    def is_best(self, line: Metrics) -> bool:
        """See `Evaluations.is_best`."""
        best = self.best()
        return best is None or self._worth(line) > self._worth(best)

    def record(self, line: Metrics) -> None:
        """See `Evaluations.record`."""
        mark = " (best)" if self.is_best(line) else ""
        self.log.write(line)
        values = (f"{name} {line[name]:.4f}" for name in self._job.spec.metrics)
        self.progress.say(
            f"step {line['step']:,} of {self._job.config.steps:,}: {', '.join(values)}{mark}"
        )

    def best(self) -> Metrics | None:
        """The best evaluation, the first of several."""
        return max(self.log.evaluations(), key=self._worth, default=None)

    def _worth(self, line: Metrics) -> tuple[float, ...]:
        """What evaluations are compared by: each measure decides between equals."""
        return tuple(line[name] or 0.0 for name in self._job.spec.metrics)
