"""`tf.train.Example` messages for a batch of rows, byte for byte as TensorFlow's.

Encoded here, because importing TensorFlow would cost each worker 2.5 s and half a
gigabyte, and because a few array operations encode a whole batch. The wire format
is that of protocol buffers with the features in the order of their names, which is what
TensorFlow's deterministic serialization writes.
"""

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Bool, Int
from pipeline.core.protobuf import LONGEST_VARINT, read_varint, varint
from pipeline.examples.masking import Masked
from pipeline.examples.pairs import Rows
from schemas.config import ResolvedDataConfig
from schemas.example import FEATURES, SEP_ID, DType, Feature, feature_length


class Column(NamedTuple):
    """One feature of R rows.

    Attributes:
        values: Of all rows, one after the other, `[T]`; integers or float32.
        offsets: Where each row starts; the last is T, `[R + 1]`.
    """

    values: npt.NDArray[Any]
    offsets: Int


def encode_examples(columns: dict[str, Column]) -> list[bytes]:
    r"""One serialized `tf.train.Example` for each row.

    >>> column = Column(np.array([2, 300]), np.array([0, 2]))
    >>> encode_examples({"ids": column})
    [b'\n\x10\n\x0e\n\x03ids\x12\x07\x1a\x05\n\x03\x02\xac\x02']
    """
    # For each feature the bytes before its values and those of its values, row by row.
    parts: list[list[bytes]] = []
    for name in sorted(columns):
        parts += _encode_feature(name.encode(), columns[name])
    lengths = np.sum([list(map(len, part)) for part in parts], axis=0)
    heads = [b"\n" + varint(length) for length in lengths.tolist()]
    return list(map(b"".join, zip(heads, *parts, strict=True)))


def _encode_feature(name: bytes, column: Column) -> tuple[list[bytes], list[bytes]]:
    """The two parts of a feature's map entry in each row: header and packed values."""
    dtype: DType = "float32" if column.values.dtype == np.float32 else "int64"
    encode = float_bytes if dtype == "float32" else varints
    payload, bounds = encode(*column)
    values = [payload[start:end] for start, end in itertools.pairwise(bounds)]
    sizes = list(map(len, values))
    headers = {size: feature_header(name, dtype, size) for size in set(sizes)}
    return [headers[size] for size in sizes], values


@functools.lru_cache(maxsize=1 << 14)
def feature_header(name: bytes, dtype: DType, payload_bytes: int) -> bytes:
    """All bytes of a feature's map entry that come before its packed values."""
    packed = b"\n" + varint(payload_bytes) if payload_bytes else b""
    list_tag = b"\x12" if dtype == "float32" else b"\x1a"
    value_list = list_tag + varint(len(packed) + payload_bytes) + packed
    key = b"\n" + varint(len(name)) + name
    feature = b"\x12" + varint(len(value_list) + payload_bytes) + value_list
    return b"\n" + varint(len(key) + len(feature) + payload_bytes) + key + feature


def varints(values: npt.NDArray[np.generic], offsets: Int) -> tuple[bytes, list[int]]:
    r"""The varints of R rows, and where each row starts with the end last, `[R + 1]`.

    >>> varints(np.array([1, 300, 2]), np.array([0, 2, 2, 3]))
    (b'\x01\xac\x02\x02', [0, 3, 3, 4])
    """
    numbers = values.astype(np.intp)
    digits, is_digit, width = _digits(int(numbers.max(initial=0)).bit_length())
    # Four bytes are moved as one number; unused ones are squeezed out afterwards.
    payload = np.compress(
        is_digit.take(numbers).view(np.bool_), digits.take(numbers).view(np.uint8)
    )
    # A last value of no bytes lets a row at the end be empty.
    widths = np.append(width.take(numbers), np.uint8(0))
    row_bytes = np.add.reduceat(widths, offsets[:-1], dtype=np.int64)
    row_bytes[np.diff(offsets) == 0] = 0
    return payload.tobytes(), [0, *np.cumsum(row_bytes).tolist()]


@functools.cache
def _digits(
    bits: int,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """The varints of all numbers below 2**bits, at most 28 bits.

    Returns:
        The digits in four bytes, which of the four are digits, and how many are.
    """
    numbers = np.arange(1 << bits)
    widths = np.ones(len(numbers), np.uint8)
    for digit in (1, 2, 3):
        widths += numbers >= 1 << 7 * digit
    places = np.arange(4)
    continued = (places + 1 < widths[:, None]).astype(np.int64) << 7
    digits = (numbers[:, None] >> 7 * places & 127 | continued).astype(np.uint8)
    is_digit = (places < widths[:, None]).astype(np.uint8)
    packed_digits: npt.NDArray[np.uint32] = digits.view(np.uint32).ravel()
    packed_is_digit: npt.NDArray[np.uint32] = is_digit.view(np.uint32).ravel()
    return packed_digits, packed_is_digit, widths


def float_bytes(
    values: npt.NDArray[np.generic], offsets: Int
) -> tuple[bytes, list[int]]:
    """The bytes of R rows of float32, and where each row starts, the end last."""
    return values.astype("<f4").tobytes(), (4 * offsets).tolist()


def compact_columns(rows: Rows, masked: Masked, labels: Int) -> dict[str, Column]:
    """The features of R rows that cannot be derived from others, not padded, by name.

    Args:
        rows: As assembled, before masking.
        masked: The same rows after it.
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


_NUMBER = rb"([\x80-\xff]{0,9}[\x00-\x7f])"
_RECORD = re.compile(rb"\n" + _NUMBER)
_NOT_AN_EXAMPLE = "is not a tf.train.Example as albert make-data writes them"


def split_example(record: bytes, features: Sequence[Feature]) -> list[bytes]:
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
        if not _is_whole(values[-1], feature.dtype):
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
        rb"\n%b\n%b\x12%b[\x12\x1a]%b(?:\n%b)?"
        % (number, key, number, _NUMBER, _NUMBER)
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


def _is_whole(values: bytes, dtype: DType) -> bool:
    return len(values) % 4 == 0 if dtype == "float32" else values[-1:] < b"\x80"


def integers(rows: Sequence[bytes | memoryview]) -> Column:
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


def read_varints(data: npt.NDArray[np.uint8], places: Int) -> tuple[Int, Int]:
    r"""The number at each of some places, and the places after them.

    A number that does not end within 64 bits is read as -1.

    Args:
        data: With at least ten bytes from each place on.
        places: `[D]`.

    >>> data = np.frombuffer(b"\x02\xac\x02" + bytes(10), np.uint8)
    >>> read_varints(data, np.array([0, 1]))
    (array([  2, 300]), array([1, 3]))
    """
    order = np.arange(LONGEST_VARINT)
    digits = data[places[:, None] + order]
    lasts = np.argmax(digits < 0x80, axis=1)
    numbers = (digits & 0x7F).astype(np.int64) << 7 * order
    values = np.where(order <= lasts[:, None], numbers, 0).sum(axis=1)
    values[(digits >= 0x80).all(axis=1)] = -1
    return values, places + lasts + 1


def floats(rows: list[bytes]) -> Column:
    """The 32-bit numbers of R rows, each row whole."""
    offsets = np.cumsum([0, *map(len, rows)]) // 4
    return Column(np.frombuffer(b"".join(rows), "<f4"), offsets)


def rows_with(flags: Bool, offsets: Int) -> Bool:
    """Which of R rows have a flag, `[R]`.

    Args:
        flags: Of the values of all rows, `[T]`.
        offsets: Where each row starts; the last is T, `[R + 1]`.

    >>> rows_with(np.array([False, True, False]), np.array([0, 0, 2, 3]))
    array([False,  True, False])
    """
    found = np.zeros(len(offsets) - 1, np.bool_)
    found[np.searchsorted(offsets, np.flatnonzero(flags), side="right") - 1] = True
    return found
