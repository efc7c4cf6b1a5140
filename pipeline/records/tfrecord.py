"""TFRecord files: records framed by their length and two masked CRC-32C checksums.

Written here, because Beam's own writer needs an extra package and puts records into
shards at random; and read here, because TensorFlow's reader crashes on a length that is
too large, and does not say which record of which file is damaged.
"""

import hashlib
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import google_crc32c

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
    return b"".join(
        (
            length,
            _CHECKSUM.pack(masked_crc(length)),
            record,
            _CHECKSUM.pack(masked_crc(record)),
        )
    )


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


def read_records(file: BinaryIO) -> Iterator[bytes]:
    """The records of a TFRecord file.

    Raises:
        ValueError: A frame is damaged; says where.
    """
    for found in read_frames(file):
        if found.problem:
            raise ValueError(f"the record at byte {found.offset} {found.problem}")
        yield found.record


class RecordWriter:
    """Writes records to an open file and knows what was written."""

    def __init__(self, file: BinaryIO) -> None:
        self.records = 0
        self.bytes = 0
        self._file = file
        self._digest = hashlib.sha256()

    def write(self, records: list[bytes]) -> None:
        """Append records."""
        data = b"".join(map(frame, records))
        self._file.write(data)
        self._digest.update(data)
        self.records += len(records)
        self.bytes += len(data)

    def described(self) -> dict[str, Any]:
        """Size and hash of the file so far."""
        return {"bytes": self.bytes, "sha256": self._digest.hexdigest()}
