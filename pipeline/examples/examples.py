"""The examples of a shard: its documents packed into sequences, paired and masked."""

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Int, Keys, draws, happens, purpose_keys
from pipeline.examples.masking import Masked, beginning_chances, budgets, mask
from pipeline.examples.packing import NextStart, Places, Sequences, Tokens, cutting_places, pack
from pipeline.examples.pairs import (
    Pairs,
    Rows,
    assemble,
    other_segments,
    sentence_order_pairs,
    split_points,
)
from schemas.config import ResolvedDataConfig


def pack_copies(tokens: Tokens, *, copies: range, config: ResolvedDataConfig) -> list[Sequences]:
    """The sequences of some copies, each in the order in which they are written."""
    count = len(tokens.document_keys)
    places = cutting_places(tokens.sentence_ends, tokens.may_cut)
    keys = np.array(tokens.document_keys, np.uint64)
    next_start: NextStart | None = None
    if config.sentence_task == "nsp" and count > 1:
        next_start = functools.partial(put_back, tokens=tokens, places=places)
    packed = pack(
        places,
        np.tile(tokens.document_starts[:-1], len(copies)),
        np.tile(tokens.document_starts[1:], len(copies)),
        keys=draws(np.tile(keys, len(copies)), np.repeat(np.array(copies), count)),
        max_tokens=config.max_tokens,
        short_seq_prob=config.short_seq_prob,
        next_start=next_start,
    )
    bounds = np.searchsorted(packed.chain, count * np.arange(len(copies) + 1))
    written = []
    for place, (first, after) in enumerate(itertools.pairwise(bounds)):
        of_copy = packed[first:after]
        of_copy = dataclasses.replace(of_copy, chain=of_copy.chain - place * count)
        # By a random rank, so that a file is shuffled.
        ranks = purpose_keys(of_copy.keys, "rank")
        written.append(of_copy[np.argsort(ranks, kind="stable")])
    return written


def put_back(start: Int, end: Int, keys: Keys, *, tokens: Tokens, places: Places) -> Int:
    """Where the next sequences start when B comes from another document.

    That is so with probability 1/2; then the second half of the sequence is not used
    and opens the next one. A single word at the end of a document stays where it was,
    see `pipeline.examples.packing.pack`.

    Args:
        start: Of the sequences as packed, in the tokens of the shard, `[R]`.
        end: Of the sequences, `[R]`.
        keys: Of the sequences, `[R]`.
    """
    swapped = happens(purpose_keys(keys, "swap"), 0.5)
    rows = np.flatnonzero(swapped & (places.cut_after(start) < end))
    following = end.copy()
    following[rows] = split_points(
        start[rows],
        end[rows],
        sentence_starts=tokens.sentence_starts,
        may_cut=tokens.may_cut,
        keys=keys[rows],
    )
    return following


Float = npt.NDArray[np.float64]

# Rows masked at a time; array operations on fewer cost more for each row.
BATCH_ROWS = 1500


class ExampleBatch(NamedTuple):
    """R examples of one copy.

    Attributes:
        sequences: What they were made of.
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
        masked_shares: The share of its tokens to mask in each, `[R]`; None for that of
            the settings.
    """
    chances = None
    if config.masked_words == "by-rarity":
        chances = beginning_chances(tokens.counts, vocab_size=vocab_size)
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
            kept_share=config.kept_share,
            chances=chances,
        )
        yield ExampleBatch(batch, pairs, rows, masked)


def make_pairs(batch: Sequences, tokens: Tokens, *, config: ResolvedDataConfig) -> Pairs:
    """Make the pair of each sequence of a batch."""
    if config.sentence_task == "none":
        none = np.zeros_like(batch.start)
        return Pairs(batch.start, batch.end, none, none, none, batch.keys)
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
        batch.chain[rows],
        (batch.end - middle)[rows],
        room=config.max_tokens - (middle - batch.start)[rows],
        sentence_starts=tokens.sentence_starts,
        document_starts=tokens.document_starts,
        may_cut=tokens.may_cut,
        keys=batch.keys[rows],
    )
    labels = batch.is_put_back.astype(np.int64)
    return Pairs(batch.start, middle, b_start, b_end, labels, batch.keys)
