"""Sequences become records: paired, written out, masked, encoded; many at a time."""

from collections.abc import Iterator

import numpy as np

from pipeline.draws import happens, purpose_keys
from pipeline.masking import budgets, mask
from pipeline.pairs import (
    Pairs,
    assemble,
    other_segments,
    sentence_order_pairs,
    single_segments,
    split_points,
)
from pipeline.pieces import Pieces
from pipeline.records import encode_rows
from pipeline.sequences import Sequences
from pipeline.statistics import Counts, count_batch
from pipeline.tokenizer import Tokenizer
from schemas.config import DataConfig

# Rows masked at a time; array operations on fewer cost more for each row.
BATCH_ROWS = 1500


def make_records(
    sequences: Sequences, pieces: Pieces, *, tokenizer: Tokenizer, config: DataConfig
) -> Iterator[tuple[list[bytes], Counts]]:
    """The records of a copy and their counts, a batch at a time."""
    for first in range(0, len(sequences), BATCH_ROWS):
        batch = sequences[first : first + BATCH_ROWS]
        pairs = make_pairs(batch, pieces, config=config)
        rows = assemble(pairs, ids=pieces.ids, word_starts=pieces.word_starts)
        budget = budgets(
            np.diff(rows.offsets),
            masked_lm_prob=config.masked_lm_prob,
            max_predictions_per_seq=config.max_predictions_per_seq or 1,
        )
        masked = mask(
            rows,
            keys=pairs.keys,
            vocab_size=tokenizer.vocab_size,
            budget=budget,
            max_ngram=config.max_ngram,
        )
        counts = count_batch(
            pairs, rows, masked, is_short=batch.is_short, is_end=batch.is_end
        )
        if config.sentence_task == "nsp" and len(pieces.document_keys) == 1:
            wanted = happens(purpose_keys(batch.keys, "swap"), 0.5)
            counts.totals["without_other_document"] = int(wanted.sum())
        yield encode_rows(rows, masked, pairs.labels, config=config), counts


def make_pairs(batch: Sequences, pieces: Pieces, *, config: DataConfig) -> Pairs:
    """Make the pair of each sequence of a batch."""
    if config.sentence_task == "none":
        return single_segments(batch.start, batch.end, keys=batch.keys)
    middle = split_points(
        batch.start,
        batch.end,
        sentence_starts=pieces.sentence_starts,
        may_cut=pieces.may_cut,
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
        sentence_starts=pieces.sentence_starts,
        document_starts=pieces.document_starts,
        may_cut=pieces.may_cut,
        keys=batch.keys[rows],
    )
    labels = batch.is_put_back.astype(np.int64)
    return Pairs(batch.start, middle, b_start, b_end, labels, batch.keys)
