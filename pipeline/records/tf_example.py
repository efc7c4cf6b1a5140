"""`tf.train.Example` messages for a batch of rows, byte for byte as TensorFlow's.

Encoded here, because importing TensorFlow would cost each worker 2.5 s and half a
gigabyte, and because a few array operations encode a whole batch. The wire format
is that of protocol buffers with the features in the order of their names, which is what
TensorFlow's deterministic serialization writes.
"""

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import Int
from pipeline.core.protobuf import varint
from schemas.example import DType


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
