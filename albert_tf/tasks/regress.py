"""`regress`: a score for a text.

Outputs are logits `[1]`, targets and predictions scores.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from albert_tf.tasks import label_metrics
from albert_tf.tasks.task import Measure, Result, Targets, Task, taken
from schemas.task import Metric, TaskExample

_CORRELATIONS = {
    "pearson": label_metrics.pearson,
    "spearman": label_metrics.spearman,
}


class Regress(Task):
    """A score for a text or a pair of texts."""

    does = "gives a text a score"
    share_metrics = ()

    def target(self, example: TaskExample) -> Any:
        """The score."""
        return example.score

    def prediction(self, output: Any, *, threshold: float | None) -> float:
        """The score."""
        return float(output[0])

    def shown(
        self, example: TaskExample, output: Any, *, threshold: float | None
    ) -> Result:
        """The score."""
        return {"score": self.prediction(output, threshold=threshold)}

    def measure(
        self, metric: Metric, targets: Targets, predictions: Targets
    ) -> Measure:
        """A correlation."""
        true, predicted = np.asarray(targets), np.asarray(predictions)
        correlation = _CORRELATIONS[metric]
        return lambda rows: correlation(taken(true, rows), taken(predicted, rows))

    def majority(self, targets: Targets, examples: Sequence[TaskExample]) -> list[Any]:
        """The mean score."""
        return [float(np.mean(targets))] * len(examples)

    def named(self, example: TaskExample, value: float, *, other: float) -> float:
        """The score."""
        return value

    def sureness(self, output: Any, target: Any, prediction: Any) -> float:
        """How far the score is from the right one."""
        return abs(float(target) - float(prediction))
