"""What every peer is trained with: rows of the text, their masks, the learning rate."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.records.reading import read_tokens
from schemas.layout import TRAIN
from schemas.manifest import read_manifest
from schemas.special_tokens import CLS_ID, FIRST_ORDINARY_ID, MASK_ID, SEP_ID

# Tokens in a row.
LENGTH = 128

# The share of the time in which the learning rate rises.
WARMUP = 0.02

Arrays = dict[str, np.ndarray]


class Masks(NamedTuple):
    """How rows are masked.

    Attributes:
        number: P, tokens to predict in a row.
        vocab_size: V.
    """

    number: int
    vocab_size: int

    def masked(self, rows: np.ndarray, random: np.random.Generator) -> Arrays:
        """Rows `[B, S]` with `ids`, `places` and `labels` `[B, P]`."""
        batch, length = rows.shape
        order = random.random((batch, length - 2)).argsort(axis=1)
        places = np.sort(1 + order[:, : self.number], axis=1)
        labels = np.take_along_axis(rows, places, axis=1)
        others = random.integers(FIRST_ORDINARY_ID, self.vocab_size, labels.shape)
        kind = random.random(labels.shape)
        shown = np.where(kind < 0.8, MASK_ID, np.where(kind < 0.9, others, labels))
        ids = rows.copy()
        np.put_along_axis(ids, places, shown.astype(ids.dtype), axis=1)
        return {"ids": ids, "places": places.astype(np.int32), "labels": labels}


def rows_of(data: Path) -> np.ndarray:
    """The training text in rows `[N, S]` of which each has [CLS] and [SEP]."""
    manifest, inside = read_manifest(data), LENGTH - 2
    shards = manifest.shard_files(TRAIN, 0)
    read = (read_tokens(data, s, manifest, config=manifest.config) for s in shards)
    tokens = np.concatenate([shard.ids for shard in read]).astype(np.int32)
    tokens = tokens[: len(tokens) // inside * inside].reshape(-1, inside)
    return np.pad(tokens, ((0, 0), (1, 1)), constant_values=((0, 0), (CLS_ID, SEP_ID)))


def batches_of(
    rows: np.ndarray, masks: Masks, *, size: int, seed: int
) -> Iterator[Arrays]:
    """Batches without end, every epoch in another order with other masks."""
    random = np.random.default_rng(seed)
    while True:
        order = random.permutation(len(rows))
        for start in range(0, len(order) - size + 1, size):
            yield masks.masked(rows[order[start : start + size]], random)


def rate_at(share: float) -> float:
    """The learning rate after a share of the time, of the greatest.

    >>> rate_at(0.0), rate_at(0.01), round(rate_at(0.51), 2), rate_at(1.0)
    (0.0, 0.5, 0.5, 0.0)
    """
    return min(share / WARMUP, max(0.0, (1 - share) / (1 - WARMUP)))
