"""`classify`: one label for a text.

Outputs are logits `[L]`, targets and predictions the number of the label.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from albert_tf.tasks import calibration, label_metrics
from albert_tf.tasks.task import (
    Array,
    Measure,
    Result,
    Targets,
    Task,
    most_frequent,
    scores_by_label,
    taken,
)
from schemas.task import Metric, TaskExample

_OF_TABLE = {
    "accuracy": label_metrics.accuracy,
    "matthews": label_metrics.matthews,
    "f1": label_metrics.f1,
    "macro_f1": label_metrics.macro_f1,
}


class Classify(Task):
    """One of several labels for a text or a pair of texts."""

    does = "says which label a text has"

    def target(self, example: TaskExample) -> int:
        """The number of its label."""
        assert example.label is not None
        return self.spec.label_number(example.label)

    def prediction(self, output: Any, *, threshold: float | None) -> int:
        """The number of the most likely label."""
        return int(np.argmax(output))

    def shown(
        self, example: TaskExample, output: Any, *, threshold: float | None
    ) -> Result:
        """The label, and the probability of each."""
        label = self.spec.labels[self.prediction(output, threshold=threshold)]
        probabilities = calibration.softmax(output).tolist()
        named = dict(zip(self.spec.labels, probabilities, strict=True))
        return {"label": label, "probabilities": named}

    def measure(
        self, metric: Metric, targets: Targets, predictions: Targets
    ) -> Measure:
        """From the table of how often which label is called what."""
        true, predicted = np.asarray(targets), np.asarray(predictions)
        of_table, size = _OF_TABLE[metric], len(self.spec.labels)
        return lambda rows: of_table(
            label_metrics.confusion(
                taken(true, rows), taken(predicted, rows), labels=size
            )
        )

    def majority(self, targets: Targets, examples: Sequence[TaskExample]) -> list[Any]:
        """The most frequent label."""
        return [most_frequent(Counter(targets))] * len(examples)

    def named(self, example: TaskExample, value: int, *, other: int) -> str:
        """The label."""
        return self.spec.labels[value]

    def by_label(self, targets: Targets, predictions: Targets) -> Result:
        """Precision, recall and F1 of each label; the table and the mean recall."""
        labels = self.spec.labels
        table = label_metrics.confusion(targets, predictions, labels=len(labels))
        return {
            "labels": scores_of_table(labels, table),
            "confusion": table.tolist(),
            "balanced_accuracy": label_metrics.balanced_accuracy(table),
        }

    def probability_measures(
        self,
        outputs: Sequence[Any],
        targets: Targets,
        *,
        is_first: npt.NDArray[np.bool_],
        temperature: float | None,
    ) -> Result:
        """Their calibration error, and how well two labels are told apart."""
        logits, true = np.array(outputs), np.array(targets)
        result = _calibration(logits, true, is_first=is_first, temperature=temperature)
        if len(self.spec.labels) == 2:
            ones = calibration.softmax(logits)[:, 1]
            result |= _of_two_labels(ones, true, is_first=is_first)
        return result


def scores_of_table(labels: Sequence[str], table: Array) -> Result:
    """Precision, recall, F1 and support of each label, from a table `[L, L]`."""
    columns = label_metrics.precision_recall_f1(table).T
    return scores_by_label(labels, columns, table.sum(axis=1))


def _has_halves(is_first: npt.NDArray[np.bool_]) -> bool:
    """Whether there are examples to choose on and others to measure on."""
    return bool(is_first.any() and not is_first.all())


def _calibration(
    logits: Array,
    true: Array,
    *,
    is_first: npt.NDArray[np.bool_],
    temperature: float | None,
) -> Result:
    """Whether probabilities are right, before and after one temperature.

    One that is chosen here is chosen on half of the examples, and both errors are of
    the others; else they are of all. Nothing if none is given and a half is empty.
    """
    is_measured = np.ones(len(true), bool)
    if temperature is None:
        if not _has_halves(is_first):
            return {}
        is_measured = ~is_first
        temperature = calibration.best_temperature(logits[is_first], true[is_first])

    def error(scale: float) -> float:
        shares = calibration.softmax(logits[is_measured] / scale)
        return calibration.calibration_error(shares, true[is_measured])

    return {
        "temperature": temperature,
        "calibration_error": error(1.0),
        "calibration_error_with_temperature": error(temperature),
    }


def _of_two_labels(
    ones: Array, true: Array, *, is_first: npt.NDArray[np.bool_]
) -> Result:
    """How well two labels are told apart, by all thresholds and by the best one.

    The best is chosen on half of the examples, and its F1 is of the others; it is left
    out if a half is empty.

    Args:
        ones: The probability of the second label, `[N]`.
        true: The numbers of the labels, `[N]`.
        is_first: Which examples the threshold is chosen on, `[N]`.
    """
    area = label_metrics.area_under_curve(true, ones)
    if not _has_halves(is_first):
        return {"area_under_curve": area}
    threshold = calibration.best_threshold(ones[is_first], true[is_first])

    def f1(least: float) -> float:
        predicted = (ones[~is_first] >= least).astype(int)
        return label_metrics.f1(
            label_metrics.confusion(true[~is_first], predicted, labels=2)
        )

    chosen = {"value": threshold, "f1": f1(threshold), "f1_at_half": f1(0.5)}
    return {"area_under_curve": area, "f1_threshold": chosen}
