"""Probabilities of logits, and the threshold from which a label is given.

A threshold that is chosen on the examples it is measured on looks better than it is, so
it is chosen on half of them. The measures of a task are those of all examples.
"""

import hashlib

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def softmax(logits: npt.NDArray[np.floating]) -> Numbers:
    """Probabilities of logits `[..., C]`."""
    wide = np.asarray(logits, np.float64)
    shares = np.exp(wide - wide.max(axis=-1, keepdims=True))
    result: Numbers = shares / shares.sum(axis=-1, keepdims=True)
    return result


def sigmoid(logits: npt.NDArray[np.floating]) -> Numbers:
    """Probabilities of independent labels."""
    wide = np.asarray(logits, np.float64)
    result: Numbers = 0.5 * (1 + np.tanh(wide / 2))
    return result


def best_threshold(scores: Numbers, targets: Integers) -> float:
    """The score from which to predict label 1 for the highest F1 of label 1.

    The highest of several, and between two scores that occur.

    >>> best_threshold(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 1, 1]))
    0.4
    """
    order = np.argsort(-scores, kind="stable")
    ordered, right = scores[order], np.cumsum(targets[order] == 1)
    said = np.arange(1, len(scores) + 1)
    f1 = 2 * right / (said + max(int((targets == 1).sum()), 1))
    # Not between equal scores.
    is_last = np.append(ordered[1:] != ordered[:-1], True)
    best = int(np.argmax(np.where(is_last, f1, -1)))
    after = ordered[best + 1] if best + 1 < len(ordered) else 0.0
    return float((ordered[best] + after) / 2)


def halves(ids: list[str]) -> npt.NDArray[np.bool_]:
    """Which examples are of the half that something is chosen on, `[N]`.

    By a hash of what they are called, so that neither order nor other examples matter.
    """
    digests = (hashlib.sha256(name.encode("utf-8", "replace")).digest() for name in ids)
    return np.array([digest[0] % 2 == 0 for digest in digests], bool)
