"""TFRecord files of `tf.train.Example` messages, byte for byte as TensorFlow's.

Messages are encoded here, because importing TensorFlow would cost each worker 2.5 s and
half a gigabyte, and because a few array operations encode a whole batch. The wire
format is that of protocol buffers with the features in the order of their names, which
is what TensorFlow's deterministic serialization writes.

Files are records framed by their length and two masked CRC-32C checksums. They are
written here, because Beam's own writer needs an extra package and puts records into
shards at random; and read here, because TensorFlow's reader crashes on a length that is
too large, and does not say which record of which file is damaged.
"""

import functools
import hashlib
import itertools
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import google_crc32c
import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Int
from pipeline.core.protobuf import varint
from pipeline.examples.masking import Masked
from pipeline.examples.pairs import Rows
from schemas.config import ResolvedDataConfig
from schemas.example import FEATURES, SEP_ID, DType

_LENGTH, _CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")
_HEADER_BYTES = _LENGTH.size + _CHECKSUM.size


def masked_crc(data: bytes) -> int:
    """The checksum as TFRecord stores it.

    >>> hex(masked_crc(b"albert"))
    '0x6a87fc2'
    """
    crc: int = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(record: bytes) -> bytes:
    """A record as it stands in a TFRecord file."""
    length = _LENGTH.pack(len(record))
    of_length = _CHECKSUM.pack(masked_crc(length))
    of_record = _CHECKSUM.pack(masked_crc(record))
    return b"".join((length, of_length, record, of_record))


class Frame(NamedTuple):
    """A record as it was found in a file.

    Attributes:
        offset: Where its frame begins, in bytes.
        record: Its bytes; empty where they cannot be relied on.
        problem: What is wrong with the frame; empty if nothing is.
    """

    offset: int
    record: bytes
    problem: str = ""


def read_frames(file: BinaryIO) -> Iterator[Frame]:
    """Every frame of a TFRecord file.

    The first one that does not say where the next begins, if any, is the last.
    """
    size = file.seek(0, 2)
    offset = file.seek(0)
    while offset < size:
        header = file.read(_HEADER_BYTES)
        if len(header) < _HEADER_BYTES:
            yield Frame(offset, b"", "is cut off: the file ends in it")
            return
        if not _is_intact(header[: _LENGTH.size], header[_LENGTH.size :]):
            yield Frame(offset, b"", "has a length that does not match its checksum")
            return
        (length,) = _LENGTH.unpack_from(header)
        # Compared before anything is read: the length may be any number of 64 bits.
        end = offset + _HEADER_BYTES + length + _CHECKSUM.size
        if end > size:
            yield Frame(offset, b"", "is cut off: the file ends in it")
            return
        record = file.read(length)
        if _is_intact(record, file.read(_CHECKSUM.size)):
            yield Frame(offset, record)
        else:
            yield Frame(offset, b"", "does not match its checksum")
        offset = end


def _is_intact(data: bytes, checksum: bytes) -> bool:
    return _CHECKSUM.pack(masked_crc(data)) == checksum


class RecordWriter:
    """Writes records to an open file and knows what was written."""

    def __init__(self, file: BinaryIO) -> None:
        self.bytes = 0
        self._file = file
        self._digest = hashlib.sha256()

    def write(self, records: list[bytes]) -> None:
        """Append records."""
        data = b"".join(map(frame, records))
        self._file.write(data)
        self._digest.update(data)
        self.bytes += len(data)

    def described(self) -> dict[str, Any]:
        """Size and hash of the file so far."""
        return {"bytes": self.bytes, "sha256": self._digest.hexdigest()}


class Column(NamedTuple):
    """One feature of R rows.

    Attributes:
        values: Of all rows, one after the other, `[T]`; integers or float32.
        offsets: Where each row starts; the last is T, `[R + 1]`.
    """

    values: npt.NDArray[Any]
    offsets: Int


def encode_tf_examples(columns: dict[str, Column]) -> list[bytes]:
    r"""One serialized `tf.train.Example` for each row.

    >>> column = Column(np.array([2, 300]), np.array([0, 2]))
    >>> encode_tf_examples({"ids": column})
    [b'\n\x10\n\x0e\n\x03ids\x12\x07\x1a\x05\n\x03\x02\xac\x02']
    """
    # For each feature the bytes before its values and those of its values, row by row.
    parts: list[list[bytes]] = []
    for name in sorted(columns):
        values, offsets = columns[name]
        dtype: DType = "float32" if values.dtype == np.float32 else "int64"
        if dtype == "float32":
            payload, bounds = values.astype("<f4").tobytes(), (4 * offsets).tolist()
        else:
            payload, bounds = varints(values, offsets)
        rows = [payload[start:end] for start, end in itertools.pairwise(bounds)]
        sizes, key = list(map(len, rows)), name.encode()
        headers = {size: feature_header(key, dtype, size) for size in set(sizes)}
        parts += ([headers[size] for size in sizes], rows)
    lengths = np.sum([list(map(len, part)) for part in parts], axis=0)
    heads = [b"\n" + varint(length) for length in lengths.tolist()]
    return list(map(b"".join, zip(heads, *parts, strict=True)))


# What the lists of a feature begin with.
_LIST_TAGS: dict[DType, bytes] = {"bytes": b"\n", "float32": b"\x12", "int64": b"\x1a"}


@functools.lru_cache(maxsize=1 << 14)
def feature_header(name: bytes, dtype: DType, payload_bytes: int) -> bytes:
    """All bytes of a feature's map entry that come before its packed values.

    Of `bytes` there is one value, which is not empty.
    """
    packed = b"\n" + varint(payload_bytes) if payload_bytes else b""
    value_list = _LIST_TAGS[dtype] + varint(len(packed) + payload_bytes) + packed
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
    """One serialized `tf.train.Example` for each row, in the layout asked for.

    Args:
        rows: As assembled, before masking.
        masked: The same rows after it.
    """
    offsets = rows.offsets
    columns = {
        "input_ids": Column(masked.ids, offsets),
        "masked_lm_positions": Column(masked.positions, masked.offsets),
        "masked_lm_ids": Column(masked.labels, masked.offsets),
        "next_sentence_labels": Column(labels, np.arange(len(labels) + 1)),
    }
    if config.record_layout == "compact":
        return encode_tf_examples(columns)
    is_separator = rows.ids == SEP_ID
    # Separators before a token in its own row; B begins after the first.
    before = np.cumsum(is_separator) - is_separator
    segments = before - np.repeat(before[offsets[:-1]], np.diff(offsets))
    weights = np.ones(len(masked.labels), np.float32)
    columns |= {
        "input_mask": Column(np.ones_like(rows.ids), offsets),
        "segment_ids": Column(segments, offsets),
        "token_boundary": Column(rows.word_starts, offsets),
        "masked_lm_weights": Column(weights, masked.offsets),
    }
    for feature in FEATURES:
        length = config.length_of(feature)
        columns[feature.name] = pad(columns[feature.name], length)
    return encode_tf_examples(columns)
