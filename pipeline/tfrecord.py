"""TFRecord files: records framed by their length and two masked CRC-32C checksums.

Beam's own writer needs an extra package and puts records into shards at random.
"""

import hashlib
import struct
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
