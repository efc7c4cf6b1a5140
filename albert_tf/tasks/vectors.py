"""`embed`: how alike two texts are by their vectors, and whether they find each other.

Outputs are vectors of length 1, `[O, H]`, of a text, of its partner and of a text that
is none. A target is a score. A prediction is how alike the first two are where scores
are known (`spearman`); else how many partners of other texts are nearer, or as near.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from albert_tf.tasks.task import Examples, Measure, Result, Targets, mean_of
from albert_tf.tasks.text_labels import Regress
from schemas.task import Metric, TaskExample

# Texts that are compared with all others at a time.
_AT_ONCE = 256


class Embed(Regress):
    """A vector for a text; how alike two texts are is a score."""

    does = "turns texts into vectors that are near each other where texts belong together"
    share_metrics = ("recall_at_1", "recall_at_10")

    def prediction(self, output: Any) -> float:
        """How alike a text and its partner are, from -1 to 1."""
        return float(output[0] @ output[1])

    def predictions(self, outputs: Sequence[Any]) -> list[Any]:
        """How alike, or the places of the partners among all of them, from 0."""
        if self.spec.metrics[0] == "spearman":
            return super().predictions(outputs)
        return ranks(*(np.stack([output[place] for output in outputs]) for place in (0, 1)))

    def shown(self, example: TaskExample, output: Any) -> Result:
        """How alike both texts are, or the vector of one."""
        if len(output) == 1:
            return {"vector": output[0].tolist()}
        return {"similarity": self.prediction(output)}

    def measure(self, metric: Metric, targets: Targets, predictions: Targets) -> Measure:
        """Spearman's correlation, or the share of partners among the nearest."""
        if metric == "spearman":
            return super().measure(metric, targets, predictions)
        return mean_of(np.asarray(predictions) < int(metric.removeprefix("recall_at_")))

    def majority(self, targets: Targets, examples: Examples) -> list[Any]:
        """All alike, or none nearer than any other."""
        return [len(examples) / 2] * len(examples)

    def is_right(self, target: Any, prediction: Any) -> bool:
        """Yes: no vector is an error by itself."""
        return True


def ranks(first: Any, second: Any) -> list[int]:
    """How many of N partners are as near to each text as its own, or nearer.

    Args:
        first: Of the texts, `[N, H]`, sparse or not.
        second: Of their partners, likewise.

    >>> texts = np.array([[3.0, 1.0, 2.0], [0.0, 1.0, 1.0], [2.0, 1.0, 0.0]])
    >>> ranks(texts, np.eye(3))
    [0, 1, 2]
    """
    found: list[int] = []
    for place in range(0, first.shape[0], _AT_ONCE):
        scores = first[place : place + _AT_ONCE] @ second.T
        scores = scores.toarray() if sparse.issparse(scores) else scores
        own = scores.diagonal(place)
        found += ((scores >= own[:, None]).sum(axis=1) - 1).tolist()
    return found


def similarities(first: Any, second: Any) -> list[float]:
    """The product of each row of a sparse matrix and its partner in another."""
    found: list[float] = np.asarray(first.multiply(second).sum(axis=1)).ravel().tolist()
    return found
