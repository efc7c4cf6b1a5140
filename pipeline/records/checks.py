"""Records decoded, many at a time, and what is wrong with them: the one list of rules.

`albert inspect --verify` reports by it and training reads by it, so that whatever one
of them refuses the other refuses in the same words.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Bool, Int
from pipeline.core.protobuf import LONGEST_VARINT, read_varint, varint
from pipeline.records.tfrecord import Column, feature_header
from schemas.config import ResolvedDataConfig
from schemas.example import (
    CLS_ID,
    FIRST_ORDINARY_ID,
    PAD_ID,
    SEP_ID,
    DocumentFeature,
    DType,
    Feature,
    RecordLayout,
    least_length,
    stored_features,
)

_NUMBER = rb"([\x80-\xff]{0,9}[\x00-\x7f])"
_RECORD = re.compile(rb"\n" + _NUMBER)
_NOT_AN_EXAMPLE = "is not a tf.train.Example as albert make-data writes them"


def problems(records: list[bytes], config: ResolvedDataConfig, *, vocab_size: int) -> list[str]:
    """What is wrong with each record; empty if nothing is.

    Returns:
        Ends of the sentence "The record ...".
    """
    batch = _decoded(records, config.record_layout)
    for feature in _features(config.record_layout):
        _check_length(batch, feature, config)
    if config.record_layout == "padded":
        _remove_padding(batch)
    batch.refuse(batch.lengths("input_ids") == 0, "has no tokens")
    ids, offsets = batch.columns["input_ids"]
    is_bad = (ids[offsets[:-1]] != CLS_ID) | (ids[offsets[1:] - 1] != SEP_ID)
    batch.refuse(is_bad, "does not begin with [CLS] and end with [SEP]")
    ids, offsets = batch.columns["input_ids"]
    is_bad = rows_with((ids < 0) | (ids >= vocab_size), offsets)
    batch.refuse(is_bad, "has a token that the vocabulary does not have")
    ids, offsets = batch.columns["input_ids"]
    batch.refuse(rows_with(ids == PAD_ID, offsets), "has padding inside its text")
    _check_masks(batch, vocab_size=vocab_size)
    label = batch.columns["next_sentence_labels"].values
    batch.refuse((label != 0) & (label != 1), "has a label that is neither 0 nor 1")
    return batch.problems


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
        for name, (values, offsets) in self.columns.items():
            lengths = np.diff(offsets)
            kept = values[np.repeat(~is_bad, lengths)]
            self.columns[name] = Column(kept, np.append(0, np.cumsum(lengths[~is_bad])))

    def lengths(self, name: str) -> Int:
        """How many values of a feature each row has, `[R]`."""
        return np.diff(self.columns[name].offsets)

    def matrix(self, name: str) -> npt.NDArray[Any]:
        """A feature with the same number of values in all rows, `[R, L]`."""
        values, rows = self.columns[name].values, len(self.rows)
        return values.reshape(rows, len(values) // max(1, rows))


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
    greatest = config.length_of(feature)
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
    separators = batch.matrix("input_ids") == SEP_ID
    is_second = np.cumsum(separators, axis=1) - separators > 0
    is_second &= batch.matrix("input_mask") == 1
    is_bad = (batch.matrix("segment_ids") != is_second).any(axis=1)
    batch.refuse(is_bad, "has segment_ids that do not follow from its tokens")
    boundary = batch.matrix("token_boundary")
    is_bad = ((boundary != 0) & (boundary != 1)).any(axis=1)
    batch.refuse(is_bad, "has a token_boundary that is neither 0 nor 1")
    for mask, others in _PADDED.items():
        is_used = batch.matrix(mask) == 1
        offsets = np.append(0, np.cumsum(is_used.sum(axis=1)))
        for name in others:
            batch.columns[name] = Column(batch.matrix(name)[is_used], offsets)


def _check_masks(batch: _Batch, *, vocab_size: int) -> None:
    places, labels = (batch.lengths(f"masked_lm_{n}") for n in ("positions", "ids"))
    batch.refuse(
        places != labels, lambda row: f"has {places[row]} masked places and {labels[row]} labels"
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


def split_example(record: bytes, features: Sequence[Feature | DocumentFeature]) -> list[bytes]:
    r"""The packed values of each feature of a record.

    Args:
        features: All that it has, in the order of their names.

    Raises:
        ValueError: The record has others; continues the sentence "The record ...".

    >>> ids = Feature("ids", "int64", "max_seq_length", True, "Token ids.")
    >>> split_example(b"\n\x10\n\x0e\n\x03ids\x12\x07\x1a\x05\n\x03\x02\xac\x02", [ids])
    [b'\x02\xac\x02']
    """
    begin = _RECORD.match(record)
    place = begin.end() if begin else 0
    if record[:place] != b"\n" + varint(len(record) - place):
        raise ValueError(_NOT_AN_EXAMPLE)
    values = []
    for feature in features:
        found = _header(feature.name).match(record, place)
        if not found:
            raise ValueError(f"does not have {feature.name} where it belongs")
        start, size = _read_header(found.group(), feature.name, feature.dtype)
        start += place
        place = start + size
        values.append(record[start:place])
        last = values[-1][-1:]
        is_cut_off = (size % 4 > 0) if feature.dtype == "float32" else last >= b"\x80"
        if is_cut_off and feature.dtype != "bytes":
            raise ValueError(f"has a number in {feature.name} that is cut off")
    if place != len(record):
        raise ValueError(_NOT_AN_EXAMPLE)
    return values


@functools.cache
def _header(name: str) -> re.Pattern[bytes]:
    """What comes before the values of a feature; finds the sizes of list and values."""
    number = _NUMBER.replace(b"(", b"(?:")
    key = re.escape(varint(len(name)) + name.encode())
    return re.compile(
        rb"\n%b\n%b\x12%b[\n\x12\x1a]%b(?:\n%b)?" % (number, key, number, _NUMBER, _NUMBER)
    )


# Records differ in little but their values: most headers were met before.
@functools.lru_cache(maxsize=1 << 14)
def _read_header(header: bytes, name: str, dtype: DType) -> tuple[int, int]:
    """How long a header is, in bytes, and the values after it."""
    found = _header(name).match(header)
    assert found, "it was matched before"
    # Of an empty list nothing follows its size.
    size = 0 if found[1] == b"\0" else read_varint(found[2] or b"\0", 0)[0]
    expected = feature_header(name.encode(), dtype, size)
    if not header.startswith(expected):
        raise ValueError(f"does not have {dtype} in {name}")
    return len(expected), size


def integers(rows: list[bytes]) -> Column:
    r"""The numbers of R rows of packed varints, each row whole.

    A number of more than 64 bits is read as -1, which no feature may have.

    >>> column = integers([b"\x02\xac\x02", b"", b"\x01"])
    >>> column.values, column.offsets
    (array([  2, 300,   1]), array([0, 2, 2, 3]))
    """
    data = np.frombuffer(b"".join(rows), np.uint8)
    ends = np.flatnonzero(data < 0x80) + 1
    starts = np.append(0, ends)[:-1]
    sizes = ends - starts
    values = (data[starts] & 0x7F).astype(np.int64)
    # Most numbers are small.
    for digit in range(1, min(sizes.max(initial=0), LONGEST_VARINT)):
        longer = np.flatnonzero(sizes > digit)
        digits = (data[starts[longer] + digit] & 0x7F).astype(np.int64)
        values[longer] |= digits << 7 * digit
    values[sizes > LONGEST_VARINT] = -1
    row_ends = np.cumsum([0, *map(len, rows)])
    return Column(values, np.searchsorted(ends, row_ends, side="right"))


def floats(rows: list[bytes]) -> Column:
    """The 32-bit numbers of R rows, each row whole."""
    offsets = np.cumsum([0, *map(len, rows)]) // 4
    return Column(np.frombuffer(b"".join(rows), "<f4"), offsets)


def rows_with(flags: Bool, offsets: Int) -> Bool:
    """Which of R rows have a flag among those of their values `[T]`.

    >>> rows_with(np.array([False, True, False]), np.array([0, 0, 2, 3]))
    array([False,  True, False])
    """
    found = np.zeros(len(offsets) - 1, np.bool_)
    found[np.searchsorted(offsets, np.flatnonzero(flags), side="right") - 1] = True
    return found
