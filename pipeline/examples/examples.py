"""Sequences become examples: paired, written out and masked, many at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.examples.masking import Masked, budgets, mask
from pipeline.examples.pairs import (
    Pairs,
    Rows,
    assemble,
    other_segments,
    sentence_order_pairs,
    single_segments,
    split_points,
)
from pipeline.examples.sequences import Sequences
from pipeline.examples.tokens import Tokens
from schemas.config import ResolvedDataConfig

Float = npt.NDArray[np.float64]

# Rows masked at a time; array operations on fewer cost more for each row.
BATCH_ROWS = 1500


class ExampleBatch(NamedTuple):
    """R examples of one copy.

    Attributes:
        sequences: What they were made of.
        pairs: Their segments.
        rows: Written out, before masking.
        masked: After masking.
    """

    sequences: Sequences
    pairs: Pairs
    rows: Rows
    masked: Masked


def make_examples(
    sequences: Sequences,
    tokens: Tokens,
    *,
    vocab_size: int,
    config: ResolvedDataConfig,
    masked_shares: Float | None = None,
) -> Iterator[ExampleBatch]:
    """The examples of a copy, a batch at a time.

    Args:
        sequences: All or some of a copy, `[R]`.
        tokens: Of the shard.
        vocab_size: Tokens in the vocabulary.
        config: Settings as resolved.
        masked_shares: The share of its tokens to mask in each, `[R]`; that of the
            settings if None.
    """
    for first in range(0, len(sequences), BATCH_ROWS):
        rows_of_batch = slice(first, first + BATCH_ROWS)
        batch = sequences[rows_of_batch]
        pairs = make_pairs(batch, tokens, config=config)
        rows = assemble(pairs, ids=tokens.ids, word_starts=tokens.word_starts)
        budget = budgets(
            np.diff(rows.offsets),
            masked_lm_prob=config.masked_lm_prob
            if masked_shares is None
            else masked_shares[rows_of_batch],
            max_predictions_per_seq=config.max_predictions_per_seq,
        )
        masked = mask(
            rows,
            keys=pairs.keys,
            vocab_size=vocab_size,
            budget=budget,
            max_ngram=config.max_ngram,
        )
        yield ExampleBatch(batch, pairs, rows, masked)


def make_pairs(
    batch: Sequences, tokens: Tokens, *, config: ResolvedDataConfig
) -> Pairs:
    """Make the pair of each sequence of a batch."""
    if config.sentence_task == "none":
        return single_segments(batch.start, batch.end, keys=batch.keys)
    middle = split_points(
        batch.start,
        batch.end,
        sentence_starts=tokens.sentence_starts,
        may_cut=tokens.may_cut,
        keys=batch.keys,
    )
    if config.sentence_task == "sop":
        return sentence_order_pairs(batch.start, middle, batch.end, keys=batch.keys)
    rows = np.flatnonzero(batch.is_put_back)
    b_start, b_end = middle.copy(), batch.end.copy()
    b_start[rows], b_end[rows] = other_segments(
        batch.document[rows],
        (batch.end - middle)[rows],
        room=config.max_tokens - (middle - batch.start)[rows],
        sentence_starts=tokens.sentence_starts,
        document_starts=tokens.document_starts,
        may_cut=tokens.may_cut,
        keys=batch.keys[rows],
    )
    labels = batch.is_put_back.astype(np.int64)
    return Pairs(batch.start, middle, b_start, b_end, labels, batch.keys)
