"""Causal batches: every token is predicted from those before it, as a first phase.

At the same cost, causal steps and then masked ones made better encoders than masked
ones alone (Gisserot-Boukhlef et al. 2025, 2507.00994). The weights are the same, so the
model goes on as an ALBERT.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from albert_tf.data.unmasking import whole_texts
from schemas.config import ResolvedDataConfig
from schemas.example import NO_LABEL

Batch = dict[str, Any]


def causal(batch: Batch) -> Batch:
    """The same examples, whose tokens are to be predicted from those before them.

    Masked tokens are put back. There is no pair to tell, as [CLS] sees nothing of it.

    Args:
        batch: Arrays `[K, M, ...]`, features as `pretrainer.BATCH_FEATURES`.

    Returns:
        The same with a prediction of the next token at each of the first S - 1 places
        `[K, M, S - 1]`, and with `attendable` `[K, S, S]`.

    >>> masked = {
    ...     "input_ids": np.array([[[2, 4, 3, 0]]]),
    ...     "input_mask": np.array([[[1, 1, 1, 0]]]),
    ...     "masked_lm_positions": np.array([[[1, 0]]]),
    ...     "masked_lm_ids": np.array([[[9, 0]]]),
    ...     "masked_lm_weights": np.array([[[1.0, 0.0]]]),
    ...     "sentence_order_labels": np.array([[1]]),
    ... }
    >>> for name, values in causal(masked).items():
    ...     print(name, values[0].tolist())
    input_ids [[2, 9, 3, 0]]
    input_mask [[1, 1, 1, 0]]
    masked_lm_positions [[0, 1, 2]]
    masked_lm_ids [[9, 3, 0]]
    masked_lm_weights [[1.0, 1.0, 0.0]]
    sentence_order_labels [-1]
    attendable [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    """
    masked, weights = batch["input_ids"], batch["masked_lm_weights"]
    ids = whole_texts(batch).reshape(masked.shape).astype(masked.dtype)
    length, nexts = ids.shape[-1], ids[..., 1:]
    earlier = np.tri(length, dtype=ids.dtype)
    places = np.arange(length - 1, dtype=batch["masked_lm_positions"].dtype)
    labels = batch["sentence_order_labels"]
    return {
        **batch,
        "input_ids": ids,
        "masked_lm_positions": np.tile(places, (*nexts.shape[:-1], 1)),
        "masked_lm_ids": nexts,
        "masked_lm_weights": batch["input_mask"][..., 1:].astype(weights.dtype),
        "sentence_order_labels": np.full_like(labels, NO_LABEL),
        "attendable": np.tile(earlier, (len(ids), 1, 1)),
    }


def most_predictions(
    samples: Iterable[ResolvedDataConfig], *, has_causal_phase: bool
) -> int:
    """Predictions in an example, at most.

    Args:
        samples: Settings of the examples.
        has_causal_phase: Whether all tokens are predicted of some.
    """
    return max(
        sample.max_seq_length - 1
        if has_causal_phase
        else sample.max_predictions_per_seq
        for sample in samples
    )
