"""`multilabel`: any number of labels for a text.

Outputs are logits `[L]`, targets and predictions 0 or 1 for each label.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from albert_tf.tasks import calibration, label_metrics
from albert_tf.tasks.task import (
    Array,
    Measure,
    Result,
    Targets,
    Task,
    scores_by_label,
    taken,
)
from schemas.task import Metric, TaskExample

# The probability from which a label is given, unless one was chosen.
_HALF = 0.5


class MultiLabel(Task):
    """Independent labels for a text or a pair of texts."""

    does = "says which labels a text has"

    def target(self, example: TaskExample) -> tuple[int, ...]:
        """0 or 1 for each label."""
        numbers = [self.spec.label_number(label) for label in example.labels or ()]
        return tuple(int(n in numbers) for n in range(len(self.spec.labels)))

    def prediction(self, output: Any, *, threshold: float | None) -> tuple[int, ...]:
        """0 or 1 for each label, 1 from a probability of `threshold` on."""
        least = _HALF if threshold is None else threshold
        return tuple(int(p >= least) for p in calibration.sigmoid(output))

    def shown(
        self, example: TaskExample, output: Any, *, threshold: float | None
    ) -> Result:
        """The labels, and the probability of each."""
        prediction = self.prediction(output, threshold=threshold)
        probabilities = calibration.sigmoid(output).tolist()
        named = dict(zip(self.spec.labels, probabilities, strict=True))
        return {"labels": self._names(prediction), "probabilities": named}

    def measure(
        self, metric: Metric, targets: Targets, predictions: Targets
    ) -> Measure:
        """Over all labels; accuracy is the share of examples with no label wrong."""
        true, predicted = np.asarray(targets), np.asarray(predictions)
        return lambda rows: _measured(metric, taken(true, rows), taken(predicted, rows))

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
        return float(np.abs(calibration.sigmoid(output) - np.array(target)).max())

    def best_threshold(self, outputs: Sequence[Any], targets: Targets) -> float | None:
        """The probability for the highest F1 over all labels."""
        if not outputs:
            return None
        scores = calibration.sigmoid(np.array(outputs))
        return calibration.best_threshold(scores.ravel(), np.array(targets).ravel())

    def by_label(self, targets: Targets, predictions: Targets) -> Result:
        """Precision, recall and F1 of each label."""
        tables = label_metrics.tables_of_labels(
            np.array(targets), np.array(predictions)
        )
        columns = [label_metrics.precision_recall_f1(table)[:, 1] for table in tables]
        supports = tables[:, 1].sum(axis=1)
        return {"labels": scores_by_label(self.spec.labels, columns, supports)}

    def _names(self, value: Sequence[int]) -> list[str]:
        pairs = zip(self.spec.labels, value, strict=True)
        return [label for label, is_given in pairs if is_given]


def _measured(metric: Metric, targets: Array, predictions: Array) -> float:
    """Measures of independent labels `[N, L]`."""
    if metric == "accuracy":
        return float((targets == predictions).all(axis=1).mean())
    tables = label_metrics.tables_of_labels(targets, predictions)
    if metric == "micro_f1":
        return label_metrics.micro_f1(tables)
    return label_metrics.macro_f1_of_labels(tables)
