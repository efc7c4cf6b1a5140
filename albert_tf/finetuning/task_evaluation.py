"""What a fine-tuned model is worth on examples whose labels are known."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.finetuning.task_logits import TaskLogits
from albert_tf.finetuning.tuning_job import TaskRows
from albert_tf.model.task_model import TaskModel
from albert_tf.tasks.calibration import halves
from albert_tf.tasks.measures import interval_of, measured
from albert_tf.tasks.outputs import outputs_of
from albert_tf.tasks.task import Result, Task
from schemas.finetune_config import ResolvedFineTuneConfig
from schemas.task import TaskExample

# Errors that are reported, the most confident first, and characters of their text.
_ERRORS, _CHARACTERS = 20, 300


@dataclasses.dataclass(frozen=True)
class Answered:
    """Examples whose labels are known, and what a model says of them.

    Attributes:
        task: The task.
        examples: With labels.
        outputs: Of the model, for each.
    """

    task: Task
    examples: Sequence[TaskExample]
    outputs: Sequence[Any]

    @functools.cached_property
    def targets(self) -> list[Any]:
        """What is right, in the form of predictions."""
        return [self.task.target(example) for example in self.examples]

    @functools.cached_property
    def is_first(self) -> npt.NDArray[np.bool_]:
        """Which of them something is chosen on, `[N]`."""
        return halves([example.id for example in self.examples])

    def predictions(self, threshold: float | None) -> list[Any]:
        """What the model says of each, in the form of a target."""
        return [
            self.task.prediction(output, threshold=threshold) for output in self.outputs
        ]


class Evaluator:
    """The examples that a model is measured on again and again.

    Args:
        model: Measured as it is at each call.
        task: The task.
        held_out: Encoded examples whose labels are known.
        config: The settings.
    """

    def __init__(
        self,
        model: TaskModel,
        task: Task,
        held_out: TaskRows,
        *,
        config: ResolvedFineTuneConfig,
    ) -> None:
        self._task, self._held_out, self._config = task, held_out, config
        self._logits = TaskLogits(model, task.spec, longest=config.max_seq_length)

    def measures(self, *, on_rows: Callable[[int], None]) -> dict[str, float]:
        """The measures of the task.

        Args:
            on_rows: See `TaskLogits.of_rows`.
        """
        outputs = outputs_of(
            self._task,
            self._held_out.examples,
            self._held_out.rows,
            self._logits.of_rows(self._held_out.rows, on_rows=on_rows),
            max_answer_tokens=self._config.max_answer_tokens,
        )
        answered = Answered(self._task, self._held_out.examples, outputs)
        predictions = answered.predictions(chosen_threshold(answered))
        return measured(self._task, answered.targets, predictions)


def chosen_threshold(answered: Answered) -> float | None:
    """The threshold that is best on half of the examples (`calibration.halves`).

    For `multilabel` and for `answer` with unanswerable questions, else None.
    """
    rows = np.flatnonzero(answered.is_first).tolist()
    return answered.task.best_threshold(
        [answered.outputs[row] for row in rows],
        [answered.targets[row] for row in rows],
    )


def evaluated(
    answered: Answered,
    *,
    threshold: float | None,
    baselines: Mapping[str, Sequence[Any]] | None = None,
) -> Result:
    """All that is reported of a model on some examples, as JSON has it.

    Args:
        answered: The examples, and what it says of them.
        threshold: See `chosen_threshold`.
        baselines: What guessing says of the examples, by name.
    """
    task, targets = answered.task, answered.targets
    predictions = answered.predictions(threshold)
    result: Result = {
        "examples": len(answered.examples),
        "metric": task.spec.metrics[0],
        "metrics": measured(task, targets, predictions),
        "intervals": {
            name: interval_of(task, name, targets, predictions)
            for name in task.spec.metrics
        },
        "baselines": {
            name: measured(task, targets, guesses)
            for name, guesses in (baselines or {}).items()
        },
        "threshold": threshold,
    }
    result |= task.by_label(targets, predictions)
    return result | _errors(answered, predictions)


def _errors(answered: Answered, predictions: Sequence[Any]) -> Result:
    """The errors that the model is surest of, with their text."""
    task, examples, targets = answered.task, answered.examples, answered.targets
    wrong = [
        (task.sureness(output, true, predicted), number)
        for number, (output, true, predicted) in enumerate(
            zip(answered.outputs, targets, predictions, strict=True)
        )
        if not task.is_right(true, predicted)
    ]
    wrong.sort(key=lambda pair: (-pair[0], pair[1]))
    return {
        "errors": [
            {
                "id": examples[number].id,
                "text": examples[number].text[:_CHARACTERS],
                "text_pair": (examples[number].text_pair or "")[:_CHARACTERS] or None,
                "right": task.named(examples[number], true, other=predicted),
                "predicted": task.named(examples[number], predicted, other=true),
                "sureness": sureness,
            }
            for sureness, number in wrong[:_ERRORS]
            for true, predicted in [(targets[number], predictions[number])]
        ]
    }
