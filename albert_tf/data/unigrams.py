"""How frequent each token is among those that are to be predicted."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Batch = dict[str, Any]
Integers = npt.NDArray[np.int64]

# Sightings that every token is credited with, so that none has the logarithm of 0.
SMOOTHING = 0.5


def labels_of(batch: Batch) -> Integers:
    """The tokens that are to be predicted, `[N]`.

    Args:
        batch: With `masked_lm_ids` and `masked_lm_weights` `[..., P]`.

    >>> labels = {"masked_lm_ids": np.array([[7, 5], [8, 0]])}
    >>> labels_of(labels | {"masked_lm_weights": np.array([[1.0, 1.0], [1.0, 0.0]])})
    array([7, 5, 8])
    """
    labels: Integers = np.asarray(batch["masked_lm_ids"])[
        batch["masked_lm_weights"] > 0
    ]
    return labels


def unigram_log_shares(
    labels: Iterable[Integers], *, vocab_size: int
) -> npt.NDArray[np.float32]:
    """The logarithm of the share that each token has in the labels, `[V]`.

    Args:
        labels: Tokens, `[N]` each.
        vocab_size: V.

    >>> shares = np.exp(unigram_log_shares([np.array([1, 1, 2])], vocab_size=4))
    >>> shares.round(3).astype(str).tolist()
    ['0.1', '0.5', '0.3', '0.1']
    """
    counts = np.full(vocab_size, SMOOTHING)
    for tokens in labels:
        counts += np.bincount(tokens, minlength=vocab_size)
    shares: npt.NDArray[np.float32] = np.log(counts / counts.sum()).astype(np.float32)
    return shares
