"""What fine-tuning measures between steps: the model on its held-out examples."""

from typing import ClassVar

from albert_tf.finetuning.job import TuningJob, TuningState
from albert_tf.finetuning.predict import TaskLogits
from albert_tf.model.task_model import TaskModel
from albert_tf.model.trained_model import with_scores_scaled
from albert_tf.runs.checkpoints import arrays_of, assign_arrays
from albert_tf.runs.metrics import Metrics
from albert_tf.runs.progress import Progress
from albert_tf.tasks.evaluation import (
    Answered,
    chosen_threshold,
    measured,
    outputs_of,
    task_of,
)
from albert_tf.training.interruption import StopRequest
from albert_tf.training.saving import MetricsLog
from schemas.layout import EVAL


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
