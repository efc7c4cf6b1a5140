"""The texts of masked examples: their tokens with the masked ones put back."""

from typing import Any

import numpy as np
import numpy.typing as npt

Batch = dict[str, Any]
Integers = npt.NDArray[np.int64]


def whole_texts(batch: Batch) -> Integers:
    """The tokens of examples with their labels put back, `[B, S]`.

    Args:
        batch: As `pretrainer.BATCH_FEATURES`, `[..., S]` and `[..., P]`.

    >>> ids = np.array([[2, 4, 9, 3, 0]])
    >>> labels = {"masked_lm_positions": np.array([[1, 0]])}
    >>> labels |= {"masked_lm_ids": np.array([[8, 0]])}
    >>> labels |= {"masked_lm_weights": np.array([[1.0, 0.0]])}
    >>> whole_texts({"input_ids": ids} | labels).tolist()
    [[2, 8, 9, 3, 0]]
    """
    ids = np.array(batch["input_ids"], np.int64)
    ids = ids.reshape(-1, ids.shape[-1])
    width = batch["masked_lm_positions"].shape[-1]
    positions, labels, weights = (
        np.reshape(batch[f"masked_lm_{name}"], (-1, width))
        for name in ("positions", "ids", "weights")
    )
    rows, places = np.nonzero(weights > 0)
    ids[rows, positions[rows, places]] = labels[rows, places]
    return ids
