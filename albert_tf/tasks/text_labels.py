"""What a whole text has: a label, several labels, a score, or one of its options.

Outputs are logits: `[L]` of `classify` and `multilabel`, `[1]` of `regress`, `[O]` of
`choose`.
"""

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn import metrics

from albert_tf.tasks.task import (
    MEASURES,
    Array,
    Examples,
    Measure,
    Result,
    Targets,
    Task,
    best_threshold,
    label_scores,
    mean_of,
    sigmoid,
    softmax,
    taken,
)
from schemas.task import Metric, TaskExample


class Classify(Task):
    """One of several labels for a text or a pair of texts.

    Targets and predictions are the number of the label.
    """

    does = "says which label a text has"

    def target(self, example: TaskExample) -> int:
        """The number of its label."""
        assert example.label is not None
        return self.number_of(example.label)

    def shown(self, example: TaskExample, output: Any) -> Result:
        """The label, and the probability of each."""
        label = self.spec.labels[self.prediction(output)]
        probabilities = softmax(output).tolist()
        named = dict(zip(self.spec.labels, probabilities, strict=True))
        return {"label": label, "probabilities": named}

    def named(self, example: TaskExample, value: int, *, other: int) -> str:
        """The label."""
        return self.spec.labels[value]

    def by_label(self, targets: Targets, predictions: Targets) -> Result:
        """Precision, recall and F1 of each label; the table and the mean recall."""
        numbers = range(len(self.spec.labels))
        scores = label_scores(targets, predictions, numbers)
        table = metrics.confusion_matrix(targets, predictions, labels=numbers)
        recalls = [each["recall"] for each in scores if each["support"]]
        return {
            "labels": dict(zip(self.spec.labels, scores, strict=True)),
            "confusion": table.tolist(),
            "balanced_accuracy": float(np.mean(recalls)),
        }


class MultiLabel(Task):
    """Independent labels for a text or a pair of texts, any number of them.

    Targets and predictions are 0 or 1 for each label.
    """

    does = "says which labels a text has"

    def target(self, example: TaskExample) -> tuple[int, ...]:
        """0 or 1 for each label."""
        numbers = set(map(self.number_of, example.labels or ()))
        return tuple(int(n in numbers) for n in range(len(self.spec.labels)))

    def prediction(self, output: Any) -> tuple[int, ...]:
        """0 or 1 for each label, 1 from a probability of `threshold` on, or of half."""
        least = 0.5 if self.threshold is None else self.threshold
        return tuple(int(p >= least) for p in sigmoid(output))

    def shown(self, example: TaskExample, output: Any) -> Result:
        """The labels, and the probability of each."""
        prediction = self.prediction(output)
        probabilities = sigmoid(output).tolist()
        named = dict(zip(self.spec.labels, probabilities, strict=True))
        return {"labels": self._names(prediction), "probabilities": named}

    def measure(self, metric: Metric, targets: Targets, predictions: Targets) -> Measure:
        """Over the labels that are there; accuracy is the share of examples all right.

        As of a single label, one that no example has and none was given does not count.
        """
        true, predicted = np.asarray(targets), np.asarray(predictions)
        if metric == "accuracy":
            return mean_of((true == predicted).all(axis=1))

        def f1(rows: Array | None) -> float:
            both = taken(true, rows), taken(predicted, rows)
            if metric == "micro_f1":
                return float(MEASURES["f1"](*map(np.ravel, both)))
            is_there: Any = np.logical_or(*both).any(axis=0)
            scores = [
                each["f1"] for each in itertools.compress(_scores_of_columns(*both), is_there)
            ]
            return float(np.mean(scores)) if scores else 0.0

        return f1

    def majority(self, targets: Targets, examples: Examples) -> list[Any]:
        """The labels that half of the examples have."""
        shares = np.mean(targets, axis=0)
        return [tuple(int(share >= 0.5) for share in shares)] * len(examples)

    def named(
        self, example: TaskExample, value: Sequence[int], *, other: Sequence[int]
    ) -> list[str]:
        """The labels."""
        return self._names(value)

    def sureness(self, output: Any, target: Any, prediction: Any) -> float:
        """The largest distance of a label's probability from its target."""
        return float(np.abs(sigmoid(output) - np.array(target)).max())

    def best_threshold(self, outputs: Sequence[Any], targets: Targets) -> float | None:
        """The probability for the highest F1 over all labels."""
        if not outputs:
            return None
        scores = sigmoid(np.array(outputs))
        return best_threshold(scores.ravel(), np.array(targets).ravel())

    def by_label(self, targets: Targets, predictions: Targets) -> Result:
        """Precision, recall and F1 of each label."""
        scores = _scores_of_columns(np.asarray(targets), np.asarray(predictions))
        return {"labels": dict(zip(self.spec.labels, scores, strict=True))}

    def _names(self, value: Sequence[int]) -> list[str]:
        pairs = zip(self.spec.labels, value, strict=True)
        return [label for label, is_given in pairs if is_given]


def _scores_of_columns(true: Array, predicted: Array) -> list[Result]:
    """The measures of each label, of 0 or 1 for each `[N, L]`.

    scikit-learn takes a single column for two labels, 0 and 1.
    """
    return label_scores(true, predicted, [1] if true.shape[1] == 1 else None)


class Regress(Task):
    """A score for a text or a pair of texts; so are targets and predictions."""

    does = "gives a text a score"
    share_metrics: ClassVar[tuple[Metric, ...]] = ()

    def prediction(self, output: Any) -> float:
        """The score."""
        return float(output[0])

    def shown(self, example: TaskExample, output: Any) -> Result:
        """The score."""
        return {"score": self.prediction(output)}

    def majority(self, targets: Targets, examples: Examples) -> list[Any]:
        """The mean score."""
        return [float(np.mean(targets))] * len(examples)

    def sureness(self, output: Any, target: Any, prediction: Any) -> float:
        """How far the score is from the right one."""
        return abs(float(target) - float(prediction))


class Choose(Task):
    """One of the options of each example, whose number is target and prediction."""

    does = "chooses one of several options"

    def shown(self, example: TaskExample, output: Any) -> Result:
        """The option, and the probability of each."""
        choice = self.prediction(output)
        return {
            "choice": choice,
            "option": example.options[choice],
            "probabilities": softmax(output).tolist(),
        }

    def named(self, example: TaskExample, value: int, *, other: int) -> str:
        """The text of the option."""
        return example.options[value]
