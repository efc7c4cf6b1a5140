"""What a whole text has: a label, several labels, a score, or one of its options.

Outputs are logits: `[L]` of `classify` and `multilabel`, `[1]` of `regress`, `[O]` of
`choose`. Labels are measured by scikit-learn, scores by scipy.
"""

import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats
from sklearn import metrics

from albert_tf.tasks.task import (
    Array,
    Measure,
    Result,
    Targets,
    Task,
    best_threshold,
    mean_of,
    most_frequent,
    scores_by_label,
    sigmoid,
    softmax,
    taken,
)
from schemas.task import Metric, TaskExample

_f1 = functools.partial(metrics.f1_score, average="macro", zero_division=0.0)

# F1 of the second label, as MRPC and QQP have it.
_f1_of_second = functools.partial(_f1, labels=[1])


def _matthews(true: Array, predicted: Array) -> float:
    """Matthews' correlation; of a single label, which scikit-learn warns of, 0."""
    if not all(map(np.ptp, (true, predicted))):
        return 0.0
    return float(metrics.matthews_corrcoef(true, predicted))


_OF_CLASSES = {
    "accuracy": metrics.accuracy_score,
    "matthews": _matthews,
    "f1": _f1_of_second,
    "macro_f1": _f1,
}
_CORRELATIONS = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}


class Classify(Task):
    """One of several labels for a text or a pair of texts.

    Targets and predictions are the number of the label.
    """

    does = "says which label a text has"

    def target(self, example: TaskExample) -> int:
        """The number of its label."""
        assert example.label is not None
        return self.number_of(example.label)

    def prediction(self, output: Any) -> int:
        """The number of the most likely label."""
        return int(np.argmax(output))

    def shown(self, example: TaskExample, output: Any) -> Result:
        """The label, and the probability of each."""
        label = self.spec.labels[self.prediction(output)]
        probabilities = softmax(output).tolist()
        named = dict(zip(self.spec.labels, probabilities, strict=True))
        return {"label": label, "probabilities": named}

    def measure(self, metric: Metric, targets: Targets, predictions: Targets) -> Measure:
        """The measure of scikit-learn."""
        true, predicted = np.asarray(targets), np.asarray(predictions)
        score = _OF_CLASSES[metric]
        return lambda rows: float(score(taken(true, rows), taken(predicted, rows)))

    def majority(self, targets: Targets, examples: Sequence[TaskExample]) -> list[Any]:
        """The most frequent label."""
        return [most_frequent(Counter(targets))] * len(examples)

    def named(self, example: TaskExample, value: int, *, other: int) -> str:
        """The label."""
        return self.spec.labels[value]

    def by_label(self, targets: Targets, predictions: Targets) -> Result:
        """Precision, recall and F1 of each label; the table and the mean recall."""
        labels = self.spec.labels
        scores = label_scores(targets, predictions, number=len(labels))
        table = metrics.confusion_matrix(targets, predictions, labels=range(len(labels)))
        recall, support = scores[1], scores[3]
        return {
            "labels": scores_by_label(labels, scores),
            "confusion": table.tolist(),
            "balanced_accuracy": float(recall[support > 0].mean()),
        }


def label_scores(targets: Any, predictions: Any, *, number: int) -> Sequence[Array]:
    """Precision, recall, F1 and support of each label, `[L]` each."""
    scores: Sequence[Array] = metrics.precision_recall_fscore_support(
        targets, predictions, labels=range(number), average=None, zero_division=0.0
    )
    return scores


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
                return float(_f1_of_second(*map(np.ravel, both)))
            is_there = np.logical_or(*both).any(axis=0)
            scores = _scores_of_columns(*both)[2][is_there]
            return float(scores.mean()) if len(scores) else 0.0

        return f1

    def majority(self, targets: Targets, examples: Sequence[TaskExample]) -> list[Any]:
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
        return {"labels": scores_by_label(self.spec.labels, scores)}

    def _names(self, value: Sequence[int]) -> list[str]:
        pairs = zip(self.spec.labels, value, strict=True)
        return [label for label, is_given in pairs if is_given]


def _scores_of_columns(true: Array, predicted: Array) -> Sequence[Array]:
    """Precision, recall, F1 and support, `[L]` each, of 0 or 1 for each label `[N, L]`.

    scikit-learn takes a single column for two labels, 0 and 1.
    """
    labels = [1] if true.shape[1] == 1 else None
    scores: Sequence[Array] = metrics.precision_recall_fscore_support(
        true, predicted, labels=labels, average=None, zero_division=0.0
    )
    return scores


class Regress(Task):
    """A score for a text or a pair of texts; so are targets and predictions."""

    does = "gives a text a score"
    share_metrics = ()

    def target(self, example: TaskExample) -> Any:
        """The score."""
        return example.score

    def prediction(self, output: Any) -> float:
        """The score."""
        return float(output[0])

    def shown(self, example: TaskExample, output: Any) -> Result:
        """The score."""
        return {"score": self.prediction(output)}

    def measure(self, metric: Metric, targets: Targets, predictions: Targets) -> Measure:
        """A correlation; 0 where targets or predictions are all the same."""
        true, predicted = np.asarray(targets), np.asarray(predictions)
        correlation = _CORRELATIONS[metric]

        def measure(rows: Array | None) -> float:
            both = taken(true, rows), taken(predicted, rows)
            return float(correlation(*both)[0]) if all(map(np.ptp, both)) else 0.0

        return measure

    def majority(self, targets: Targets, examples: Sequence[TaskExample]) -> list[Any]:
        """The mean score."""
        return [float(np.mean(targets))] * len(examples)

    def named(self, example: TaskExample, value: float, *, other: float) -> float:
        """The score."""
        return value

    def sureness(self, output: Any, target: Any, prediction: Any) -> float:
        """How far the score is from the right one."""
        return abs(float(target) - float(prediction))


class Choose(Task):
    """One of the options of each example, whose number is target and prediction."""

    does = "chooses one of several options"

    def target(self, example: TaskExample) -> Any:
        """The number of the right option."""
        return example.choice

    def prediction(self, output: Any) -> int:
        """The number of the most likely option."""
        return int(np.argmax(output))

    def shown(self, example: TaskExample, output: Any) -> Result:
        """The option, and the probability of each."""
        choice = self.prediction(output)
        return {
            "choice": choice,
            "option": example.options[choice],
            "probabilities": softmax(output).tolist(),
        }

    def measure(self, metric: Metric, targets: Targets, predictions: Targets) -> Measure:
        """Accuracy."""
        return mean_of(np.asarray(targets) == np.asarray(predictions))

    def majority(self, targets: Targets, examples: Sequence[TaskExample]) -> list[Any]:
        """The option whose number is right most often."""
        return [most_frequent(Counter(targets))] * len(examples)

    def named(self, example: TaskExample, value: int, *, other: int) -> str:
        """The text of the option."""
        return example.options[value]
