"""Batches of random pieces, as arrays; rows end in padding, predictions too."""

import numpy as np

from schemas.example import FIRST_ORDINARY_ID


def random_batch(config, *, rows=3, length=12, predictions=4, seed=0):
    """A batch `[rows, length]` with `predictions` places, the last row the longest."""
    rng = np.random.default_rng(seed)
    lengths = np.sort(rng.integers(length // 2, length + 1, rows))
    lengths[-1] = length
    mask = (np.arange(length) < lengths[:, None]).astype("int32")
    ids = rng.integers(FIRST_ORDINARY_ID, config.vocab_size, (rows, length)) * mask
    splits = rng.integers(2, lengths - 1)
    counts = rng.integers(1, predictions + 1, rows)
    weights = (np.arange(predictions) < counts[:, None]).astype("float32")
    positions = np.stack([rng.permutation(n)[:predictions] for n in lengths])
    labels = rng.integers(FIRST_ORDINARY_ID, config.vocab_size, (rows, predictions))
    keep = weights.astype("int32")
    return {
        "input_ids": ids.astype("int32"),
        "input_mask": mask,
        "segment_ids": (np.arange(length) >= splits[:, None]).astype("int32") * mask,
        "masked_lm_positions": (positions * keep).astype("int32"),
        "masked_lm_ids": (labels * keep).astype("int32"),
        "masked_lm_weights": weights,
        "sentence_order_labels": rng.integers(0, 2, rows).astype("int32"),
    }
