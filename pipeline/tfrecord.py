"""TFRecord files: records framed by their length and two masked CRC-32C checksums.

Beam's own writer needs an extra package and puts records into shards at random.
"""

import hashlib
import struct
from collections.abc import Iterator
from typing import BinaryIO

import google_crc32c


def masked_crc(data: bytes) -> int:
    """The checksum as TFRecord stores it.

    >>> hex(masked_crc(b"albert"))
    '0x6a87fc2'
    """
    crc: int = google_crc32c.value(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(record: bytes) -> bytes:
    """A record as it stands in a TFRecord file."""
    length = struct.pack("<Q", len(record))
    return b"".join(
        (
            length,
            struct.pack("<I", masked_crc(length)),
            record,
            struct.pack("<I", masked_crc(record)),
        )
    )


def read_records(file: BinaryIO) -> Iterator[bytes]:
    """The records of a TFRecord file.

    Raises:
        ValueError: A checksum is wrong or the file ends inside a record; says where.
    """
    place = 0
    while header := file.read(12):
        length = int.from_bytes(header[:8], "little")
        if len(header) < 12 or not _is_intact(header[:8], header[8:]):
            raise ValueError(f"the length of the record at byte {place} is damaged")
        body = file.read(length + 4)
        if len(body) < length + 4:
            raise ValueError(f"the record at byte {place} is cut off")
        if not _is_intact(body[:length], body[length:]):
            raise ValueError(f"the record at byte {place} is damaged")
        yield body[:length]
        place += length + 16


def _is_intact(data: bytes, checksum: bytes) -> bool:
    return struct.pack("<I", masked_crc(data)) == checksum


class RecordWriter:
    """Writes records to an open file and knows what was written.

    Attributes:
        records: Records so far.
        bytes: Bytes so far, frames included.
    """

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

    def sha256(self) -> str:
        """The hash of the file so far."""
        return self._digest.hexdigest()
