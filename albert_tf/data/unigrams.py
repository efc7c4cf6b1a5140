"""How frequent each token is among those that are to be predicted."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Batch = dict[str, Any]

# Sightings that every token is credited with, so that none has the logarithm of 0.
SMOOTHING = 0.5


def unigram_log_shares(
    batches: Iterable[Batch], *, vocab_size: int
) -> npt.NDArray[np.float32]:
    """The logarithm of the share that each token has in the labels, `[V]`.

    Args:
        batches: With `masked_lm_ids` and `masked_lm_weights` `[..., P]`.
        vocab_size: V.

    >>> labels = {"masked_lm_ids": np.array([[1, 1, 2, 0]])}
    >>> batch = labels | {"masked_lm_weights": np.array([[1.0, 1.0, 1.0, 0.0]])}
    >>> np.exp(unigram_log_shares([batch], vocab_size=4)).round(3).astype(str).tolist()
    ['0.1', '0.5', '0.3', '0.1']
    """
    counts = np.full(vocab_size, SMOOTHING)
    for batch in batches:
        is_label = np.asarray(batch["masked_lm_weights"]) > 0
        labels = np.asarray(batch["masked_lm_ids"])[is_label]
        counts += np.bincount(labels, minlength=vocab_size)
    shares: npt.NDArray[np.float32] = np.log(counts / counts.sum()).astype(np.float32)
    return shares


def unigram_entropy(batches: Iterable[Batch], *, vocab_size: int) -> float:
    """The loss of whoever guesses labels by how frequent they are, in nats.

    Args:
        batches: As for `unigram_log_shares`.
        vocab_size: V.

    >>> labels = {"masked_lm_ids": np.array([[1, 2] * 500])}
    >>> batch = labels | {"masked_lm_weights": np.ones([1, 1000])}
    >>> round(unigram_entropy([batch], vocab_size=4), 2)
    0.7
    """
    logarithms = unigram_log_shares(batches, vocab_size=vocab_size)
    return float(-np.sum(np.exp(logarithms) * logarithms))
