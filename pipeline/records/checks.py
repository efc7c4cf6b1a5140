"""What is wrong with records, many at a time: the one list of rules there is.

`albert inspect --verify` reports by it and training reads by it, so that whatever one
of them refuses the other refuses in the same words.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Bool, Int
from pipeline.records.tf_example import (
    Column,
    floats,
    integers,
    rows_with,
    split_example,
)
from schemas.config import ResolvedDataConfig
from schemas.example import (
    CLS_ID,
    FIRST_ORDINARY_ID,
    PAD_ID,
    SEP_ID,
    Feature,
    RecordLayout,
    feature_length,
    least_length,
    stored_features,
)


def problems(
    records: list[bytes], config: ResolvedDataConfig, *, vocab_size: int
) -> list[str]:
    """What is wrong with each record; empty if nothing is.

    Returns:
        Ends of the sentence "The record ...".
    """
    batch = _decoded(records, config.record_layout)
    for feature in _features(config.record_layout):
        _check_length(batch, feature, config)
    if config.record_layout == "padded":
        _remove_padding(batch)
    _check_text(batch, vocab_size=vocab_size)
    _check_masks(batch, vocab_size=vocab_size)
    label = batch.columns["next_sentence_labels"].values
    batch.refuse((label != 0) & (label != 1), "has a label that is neither 0 nor 1")
    return batch.problems


def decode_example(record: bytes, layout: RecordLayout) -> dict[str, list[int]]:
    """The features of one record, by name.

    Raises:
        ValueError: They are not those of the layout.
    """
    batch = _decoded([record], layout)
    if batch.problems[0]:
        raise ValueError(batch.problems[0])
    return {name: column.values.tolist() for name, column in batch.columns.items()}


def decode_columns(records: list[bytes], layout: RecordLayout) -> dict[str, Column]:
    """The features of records in which nothing is wrong, by name, without padding."""
    batch = _decoded(records, layout)
    if layout == "padded":
        _remove_padding(batch)
    return batch.columns


@dataclasses.dataclass
class _Batch:
    """R rows, of N records, in which nothing wrong has been found yet.

    Attributes:
        problems: What is wrong with each record, `[N]`.
        rows: The numbers of the records that are left, `[R]`.
        columns: Their features.
    """

    problems: list[str]
    rows: Int
    columns: dict[str, Column]

    def refuse(self, is_bad: Bool, problem: str | Callable[[int], str]) -> None:
        """Take rows out, `[R]`, for a reason that may depend on the row."""
        if not is_bad.any():
            return
        for row in np.flatnonzero(is_bad).tolist():
            said = problem if isinstance(problem, str) else problem(row)
            self.problems[self.rows[row]] = said
        self.rows = self.rows[~is_bad]
        self.columns = {
            name: _without(column, is_bad) for name, column in self.columns.items()
        }

    def lengths(self, name: str) -> Int:
        """How many values of a feature each row has, `[R]`."""
        return np.diff(self.columns[name].offsets)

    def matrix(self, name: str) -> npt.NDArray[Any]:
        """A feature with the same number of values in all rows, `[R, L]`."""
        values, rows = self.columns[name].values, len(self.rows)
        return values.reshape(rows, len(values) // max(1, rows))


def _without(column: Column, is_bad: Bool) -> Column:
    lengths = np.diff(column.offsets)
    values = column.values[np.repeat(~is_bad, lengths)]
    return Column(values, np.append(0, np.cumsum(lengths[~is_bad])))


def _features(layout: RecordLayout) -> list[Feature]:
    """The features of a record in the order in which it has them."""
    return sorted(stored_features(layout), key=lambda feature: feature.name)


def _decoded(records: list[bytes], layout: RecordLayout) -> _Batch:
    """The records that have the features of the layout, and why others have not."""
    features = _features(layout)
    found = [""] * len(records)
    rows, values = [], []
    for number, record in enumerate(records):
        try:
            values.append(split_example(record, features))
            rows.append(number)
        except ValueError as error:
            found[number] = str(error)
    columns = {}
    for place, feature in enumerate(features):
        decode = floats if feature.dtype == "float32" else integers
        columns[feature.name] = decode([of_record[place] for of_record in values])
    return _Batch(found, np.array(rows, np.int64), columns)


def _check_length(batch: _Batch, feature: Feature, config: ResolvedDataConfig) -> None:
    greatest = feature_length(
        feature,
        max_seq_length=config.max_seq_length,
        max_predictions_per_seq=config.max_predictions_per_seq,
    )
    is_padded = config.record_layout == "padded"
    least = greatest if is_padded else least_length(feature)
    count = batch.lengths(feature.name)
    takes = f"{least} to {greatest}" if least < greatest else f"{greatest}"
    batch.refuse(
        (count < least) | (count > greatest),
        lambda row: f"has {count[row]} values of {feature.name}, which takes {takes}",
    )


# The feature that is 1 where others have values, and those others.
_PADDED = {
    "input_mask": ("input_ids", "segment_ids", "token_boundary"),
    "masked_lm_weights": ("masked_lm_positions", "masked_lm_ids"),
}


def _remove_padding(batch: _Batch) -> None:
    """Check what only the padded layout has, and make the columns those of compact."""
    for mask, others in _PADDED.items():
        found = batch.matrix(mask)
        reach = (found == 1).sum(axis=1)
        expected = (np.arange(found.shape[1]) < reach[:, None]).astype(found.dtype)
        # By their bytes: in TensorFlow's threads the smallest floats equal zero.
        is_bad = (found.view(np.uint8) != expected.view(np.uint8)).any(axis=1)
        batch.refuse(is_bad, f"has {mask} that are not ones followed by zeros")
        for name in others:
            is_padding = batch.matrix(mask) == 0
            is_bad = (is_padding & (batch.matrix(name) != 0)).any(axis=1)
            batch.refuse(is_bad, f"has {name} after the end of its text")
    _check_segments(batch)
    for mask, others in _PADDED.items():
        is_used = batch.matrix(mask) == 1
        offsets = np.append(0, np.cumsum(is_used.sum(axis=1)))
        for name in others:
            batch.columns[name] = Column(batch.matrix(name)[is_used], offsets)


def _check_segments(batch: _Batch) -> None:
    separators = batch.matrix("input_ids") == SEP_ID
    is_second = np.cumsum(separators, axis=1) - separators > 0
    is_second &= batch.matrix("input_mask") == 1
    is_bad = (batch.matrix("segment_ids") != is_second).any(axis=1)
    batch.refuse(is_bad, "has segment_ids that do not follow from its tokens")
    boundary = batch.matrix("token_boundary")
    is_bad = ((boundary != 0) & (boundary != 1)).any(axis=1)
    batch.refuse(is_bad, "has a token_boundary that is neither 0 nor 1")


def _check_text(batch: _Batch, *, vocab_size: int) -> None:
    batch.refuse(batch.lengths("input_ids") == 0, "has no tokens")
    ids, offsets = batch.columns["input_ids"]
    is_bad = (ids[offsets[:-1]] != CLS_ID) | (ids[offsets[1:] - 1] != SEP_ID)
    batch.refuse(is_bad, "does not begin with [CLS] and end with [SEP]")
    ids, offsets = batch.columns["input_ids"]
    is_bad = rows_with((ids < 0) | (ids >= vocab_size), offsets)
    batch.refuse(is_bad, "has a token that the vocabulary does not have")
    ids, offsets = batch.columns["input_ids"]
    batch.refuse(rows_with(ids == PAD_ID, offsets), "has padding inside its text")


def _check_masks(batch: _Batch, *, vocab_size: int) -> None:
    places, labels = (batch.lengths(f"masked_lm_{n}") for n in ("positions", "ids"))
    batch.refuse(
        places != labels,
        lambda row: f"has {places[row]} masked places and {labels[row]} labels",
    )
    ids, offsets = batch.columns["masked_lm_ids"]
    batch.refuse(
        rows_with((ids < FIRST_ORDINARY_ID) | (ids >= vocab_size), offsets),
        "has a masked token that is special or that the vocabulary does not have",
    )
    positions, offsets = batch.columns["masked_lm_positions"]
    last = np.repeat(batch.lengths("input_ids") - 1, np.diff(offsets))
    is_outside = rows_with((positions <= 0) | (positions >= last), offsets)
    batch.refuse(is_outside, "has a masked place outside its text")
    positions, offsets = batch.columns["masked_lm_positions"]
    does_not_ascend = np.diff(positions, prepend=-1) <= 0
    # The first place of a row has none before it.
    does_not_ascend[offsets[:-1][np.diff(offsets) > 0]] = False
    is_bad = rows_with(does_not_ascend, offsets)
    batch.refuse(is_bad, "has masked places that do not ascend")
