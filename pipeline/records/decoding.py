"""Records become the columns that they were written from, many records at a time.

Only what `tf_example` writes is read: the features of a layout in the order of their
names, each with a packed list. All but the values then has one spelling, so that a
record is found to be intact by comparing bytes.
"""

import functools
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import Bool, Int
from pipeline.core.protobuf import LONGEST_VARINT, read_varint, varint
from pipeline.records.tf_example import Column, feature_header
from schemas.example import DType, Feature

_NUMBER = rb"([\x80-\xff]{0,9}[\x00-\x7f])"
_RECORD = re.compile(rb"\n" + _NUMBER)
_NOT_AN_EXAMPLE = "is not a tf.train.Example as albert make-data writes them"


def split_example(record: bytes, features: Sequence[Feature]) -> list[bytes]:
    r"""The packed values of each feature of a record.

    Args:
        record: A serialized `tf.train.Example`.
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
