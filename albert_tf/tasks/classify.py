"""`classify`: one label for a text.

Outputs are logits `[L]`, targets and predictions the number of the label.
"""

from collections import Counter
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


def scores_of_table(labels: Sequence[str], table: Array) -> Result:
    """Precision, recall, F1 and support of each label, from a table `[L, L]`."""
    columns = label_metrics.precision_recall_f1(table).T
    return scores_by_label(labels, columns, table.sum(axis=1))
