"""Masked rows become the features of a record, as the feature table declares them."""

import numpy as np

from pipeline.core.arrays import Int
from pipeline.examples.masking import Masked
from pipeline.examples.pairs import Rows
from pipeline.records.tf_example import Column, encode_examples
from schemas.config import ResolvedDataConfig
from schemas.example import FEATURES, feature_length
from schemas.special_tokens import SEP_ID


def compact_columns(rows: Rows, masked: Masked, labels: Int) -> dict[str, Column]:
    """The features of R rows that cannot be derived from others, not padded, by name.

    Args:
        rows: As assembled, before masking.
        masked: The same rows after it.
        labels: Of the sentence task, `[R]`.
    """
    return {
        "input_ids": Column(masked.ids, rows.offsets),
        "masked_lm_positions": Column(masked.positions, masked.offsets),
        "masked_lm_ids": Column(masked.labels, masked.offsets),
        "next_sentence_labels": Column(labels, np.arange(len(labels) + 1)),
    }


def derived_columns(rows: Rows, masked: Masked) -> dict[str, Column]:
    """The other features, which only the padded layout stores; not padded yet."""
    offsets = rows.offsets
    separators = np.cumsum(rows.ids == SEP_ID)
    # Separators before a token in its own row; B begins after the first.
    before = separators - (rows.ids == SEP_ID)
    own = before - np.repeat(before[offsets[:-1]], np.diff(offsets))
    weights = np.ones(len(masked.labels), np.float32)
    return {
        "input_mask": Column(np.ones_like(rows.ids), offsets),
        "segment_ids": Column(own, offsets),
        "token_boundary": Column(rows.word_starts, offsets),
        "masked_lm_weights": Column(weights, masked.offsets),
    }


def pad(column: Column, length: int) -> Column:
    """Give every row the same length, filled up with zeros.

    >>> pad(Column(np.array([5, 6, 7]), np.array([0, 1, 3])), 3).values
    array([5, 0, 0, 6, 7, 0])
    """
    lengths = np.diff(column.offsets)
    padded = np.zeros((len(lengths), length), column.values.dtype)
    padded[np.arange(length) < lengths[:, None]] = column.values
    return Column(padded.ravel(), np.arange(len(lengths) + 1) * length)


def encode_rows(
    rows: Rows, masked: Masked, labels: Int, *, config: ResolvedDataConfig
) -> list[bytes]:
    """One serialized `tf.train.Example` for each row, in the layout asked for."""
    columns = compact_columns(rows, masked, labels)
    if config.record_layout == "padded":
        columns |= derived_columns(rows, masked)
        for feature in FEATURES:
            length = feature_length(
                feature,
                max_seq_length=config.max_seq_length,
                max_predictions_per_seq=config.max_predictions_per_seq,
            )
            columns[feature.name] = pad(columns[feature.name], length)
    return encode_examples(columns)
