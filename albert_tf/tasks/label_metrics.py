"""Measures of predicted labels, from the table of how often which label is called what.

As scikit-learn has them, where a quotient of zeros is 0.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


def confusion(
    targets: Sequence[int] | npt.NDArray[Any],
    predictions: Sequence[int] | npt.NDArray[Any],
    *,
    labels: int,
) -> Integers:
    """How often label i was called j, `[L, L]`.

    >>> confusion([0, 0, 1], [0, 1, 1], labels=2).tolist()
    [[1, 1], [0, 1]]
    """
    table = np.zeros((labels, labels), np.int64)
    np.add.at(table, (np.asarray(targets, int), np.asarray(predictions, int)), 1)
    return table


def accuracy(table: Integers) -> float:
    """The share of predictions that are right."""
    return _share(np.trace(table), table.sum())


def matthews(table: Integers) -> float:
    """Matthews' correlation; of more than two labels Gorodkin's R_K.

    0 where only one label occurs, or only one is predicted.

    >>> matthews(np.array([[2, 0], [1, 1]]))
    0.5773502691896258
    """
    numbers = table.astype(np.float64)
    total, right = numbers.sum(), np.trace(numbers)
    true, called = numbers.sum(axis=1), numbers.sum(axis=0)
    covariance = right * total - true @ called
    spread = (total**2 - called @ called) * (total**2 - true @ true)
    return float(covariance / np.sqrt(spread)) if spread else 0.0


def precision_recall_f1(table: Integers) -> Numbers:
    """Precision, recall and F1 of each label, `[3, L]`.

    >>> precision_recall_f1(np.array([[2, 0], [1, 1]])).round(3).tolist()
    [[0.667, 1.0], [1.0, 0.5], [0.8, 0.667]]
    """
    right = np.diag(table).astype(np.float64)
    called, true = table.sum(axis=0), table.sum(axis=1)
    return np.stack(
        [
            _shares(right, called),
            _shares(right, true),
            _shares(2 * right, called + true),
        ]
    )


def f1(table: Integers) -> float:
    """F1 of the second label, as MRPC and QQP have it."""
    return float(precision_recall_f1(table)[2, 1])


def macro_f1(table: Integers) -> float:
    """The mean of the F1 of the labels that occur or are predicted."""
    is_met = table.sum(axis=0) + table.sum(axis=1) > 0
    return float(precision_recall_f1(table)[2][is_met].mean())


def balanced_accuracy(table: Integers) -> float:
    """The mean of the recall of the labels that occur."""
    occurs = table.sum(axis=1) > 0
    return float(precision_recall_f1(table)[1][occurs].mean())


def tables_of_labels(
    targets: npt.NDArray[Any], predictions: npt.NDArray[Any]
) -> Integers:
    """A table `[2, 2]` for each of L independent labels, `[L, 2, 2]`.

    Args:
        targets: 0 or 1, `[N, L]`.
        predictions: 0 or 1, `[N, L]`.
    """
    columns = zip(np.transpose(targets), np.transpose(predictions), strict=True)
    return np.stack([confusion(*column, labels=2) for column in columns])


def micro_f1(tables: Integers) -> float:
    """F1 over all labels together, from `tables_of_labels`."""
    return f1(tables.sum(axis=0))


def macro_f1_of_labels(tables: Integers) -> float:
    """The mean F1 of independent labels, from `tables_of_labels`."""
    return float(np.mean([f1(table) for table in tables]))


def mean_ranks(values: Numbers) -> Numbers:
    """The rank of each value, from 1; equal values have the mean of their ranks.

    >>> mean_ranks(np.array([5.0, 1.0, 5.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Numbers = (last - (counts - 1) / 2)[places]
    return ranks


def pearson(targets: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> float:
    """Pearson's correlation of two rows of numbers; 0 where one of them is constant."""
    x, y = (np.asarray(v, np.float64) - np.mean(v) for v in (targets, predictions))
    spread = np.sqrt(x @ x) * np.sqrt(y @ y)
    return float(np.clip(x @ y / spread, -1, 1)) if spread else 0.0


def spearman(targets: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> float:
    """Spearman's correlation: Pearson's of the ranks.

    >>> spearman(np.array([1, 2, 2, 3]), np.array([10, 30, 20, 40]))
    0.9486832980505138
    """
    ranks = [mean_ranks(np.asarray(v, np.float64)) for v in (targets, predictions)]
    return pearson(*ranks)


def _shares(parts: Numbers, wholes: npt.NDArray[Any]) -> Numbers:
    shares: Numbers = np.zeros(len(parts))
    np.divide(parts, wholes, out=shares, where=wholes > 0)
    return shares


def _share(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.0
