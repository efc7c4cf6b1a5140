"""What a model says of the examples of a task, and what that is worth.

A threshold that is chosen on the examples it is measured on looks better than it is, so
it is chosen on half of them. The measures of a task are those of all examples.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from albert_tf.runs.metrics import interval
from albert_tf.tasks.answers import AnswerInPassage
from albert_tf.tasks.tags import Tag
from albert_tf.tasks.task import Array, Examples, Result, Targets, Task
from albert_tf.tasks.text_labels import Choose, Classify, MultiLabel, Regress
from albert_tf.tasks.vectors import Embed
from schemas.task import EncodedExample, Kind, Metric, TaskSpec

_KINDS: dict[Kind, type[Task]] = {
    "classify": Classify,
    "multilabel": MultiLabel,
    "regress": Regress,
    "choose": Choose,
    "answer": AnswerInPassage,
    "tag": Tag,
    "embed": Embed,
}

# Measures from -1 to 1, and the examples without which nothing is known of one.
_CORRELATIONS: tuple[Metric, ...] = ("pearson", "spearman", "matthews")
_LEAST_CORRELATED = 4

# Errors that are reported, the most confident first, and characters of their text.
_ERRORS, _CHARACTERS = 20, 300


def task_of(spec: TaskSpec, *, threshold: float | None = None, max_answer_tokens: int = 0) -> Task:
    """A task, as its kind computes and measures it."""
    of_kind = _KINDS[spec.kind]
    return of_kind(spec, threshold=threshold, max_answer_tokens=max_answer_tokens)


@dataclasses.dataclass(frozen=True)
class Answered:
    """Examples, and what a model says of them.

    Attributes:
        outputs: Of the model, for each example, as `Task.prediction` takes them.
    """

    task: Task
    examples: Examples
    outputs: Sequence[Any]

    @functools.cached_property
    def targets(self) -> list[Any]:
        """What is right, in the form of predictions, where labels are known."""
        return [self.task.target(example) for example in self.examples]

    @functools.cached_property
    def predictions(self) -> list[Any]:
        """What the model says of each, in the form of a target."""
        return self.task.predictions(self.outputs)

    def shown(self) -> Iterator[Result]:
        """What the model says of each, for a person and for JSON."""
        return map(self.task.shown, self.examples, self.outputs)


def answers_from(
    task: Task, examples: Examples, rows: Sequence[EncodedExample], logits: Sequence[Array]
) -> Answered:
    """What a model says of each example.

    Args:
        rows: Of all examples, in any order.
        logits: Of each row, from `logits_of`.
    """
    places: list[list[int]] = [[] for _ in examples]
    for place, row in enumerate(rows):
        places[row.example].append(place)
    outputs = [
        task.output(example, [rows[place] for place in own], [logits[place] for place in own])
        for example, own in zip(examples, places, strict=True)
    ]
    return Answered(task, examples, outputs)


def with_chosen_threshold(answered: Answered) -> Answered:
    """The same with the threshold that is best on half of the examples.

    For `multilabel` and for `answer` with unanswerable questions, else None.
    """
    # By a hash of what they are called, so that neither order nor other examples matter.
    names = (example.id.encode("utf-8", "replace") for example in answered.examples)
    rows = [row for row, name in enumerate(names) if hashlib.sha256(name).digest()[0] % 2 == 0]
    threshold = answered.task.best_threshold(
        [answered.outputs[row] for row in rows], [answered.targets[row] for row in rows]
    )
    task = dataclasses.replace(answered.task, threshold=threshold)
    return dataclasses.replace(answered, task=task)


def measured(task: Task, targets: Targets, predictions: Targets) -> dict[str, float]:
    """All measures of a task, by name."""
    return {
        metric: task.measure(metric, targets, predictions)(None) for metric in task.spec.metrics
    }


def interval_of(
    task: Task, metric: Metric, targets: Targets, predictions: Targets
) -> tuple[float, float]:
    """The 95 % interval of a measure.

    For a share Wilson's; for others the middle 95 % of 200 samples, drawn from the
    examples with replacement. Where all samples agree, as of a few examples that are
    all right, it is that of a share of as many examples. A correlation of fewer than
    four examples may be any (Fisher's interval divides by n - 3).
    """
    measure, number = task.measure(metric, targets, predictions), len(targets)
    if metric in task.share_metrics:
        return interval(measure(None), number)
    if metric in _CORRELATIONS and number < _LEAST_CORRELATED:
        return -1.0, 1.0
    rng = np.random.Generator(np.random.PCG64(number))
    values = [measure(rng.integers(0, number, number)) for _ in range(200)]
    if len({*values}) == 1 and (metric not in _CORRELATIONS or values[0] == 1):
        return interval(values[0], number)
    low, high = np.percentile(values, (2.5, 97.5))
    return float(low), float(high)


def evaluated(
    answered: Answered, *, baselines: Mapping[str, Sequence[Any]] | None = None
) -> Result:
    """All that is reported of a model on some examples, as JSON has it.

    Args:
        baselines: What guessing says of the examples, by name.
    """
    task, targets = answered.task, answered.targets
    predictions, guesses = answered.predictions, baselines or {}

    def intervals(said: Targets) -> dict[str, tuple[float, float]]:
        return {name: interval_of(task, name, targets, said) for name in task.spec.metrics}

    result: Result = {
        "examples": len(answered.examples),
        "metric": task.spec.metrics[0],
        "metrics": measured(task, targets, predictions),
        "intervals": intervals(predictions),
        "baselines": {name: measured(task, targets, said) for name, said in guesses.items()},
        "baseline_intervals": {name: intervals(said) for name, said in guesses.items()},
        "threshold": task.threshold,
    }
    result |= task.by_label(targets, predictions)
    return result | _errors(answered)


def _errors(answered: Answered) -> Result:
    """The errors that the model is surest of, with their text."""
    task = answered.task
    said = zip(
        answered.examples, answered.outputs, answered.targets, answered.predictions, strict=True
    )
    wrong = [
        (task.sureness(output, true, predicted), example, true, predicted)
        for example, output, true, predicted in said
        if not task.is_right(true, predicted)
    ]
    wrong.sort(key=lambda error: -error[0])
    return {
        "errors": [
            {
                "id": example.id,
                "text": example.text[:_CHARACTERS],
                "text_pair": (example.text_pair or "")[:_CHARACTERS] or None,
                "right": task.named(example, true, other=predicted),
                "predicted": task.named(example, predicted, other=true),
                "sureness": sureness,
            }
            for sureness, example, true, predicted in wrong[:_ERRORS]
        ]
    }
