"""Compressed files as streams of bytes, recognised from their first bytes.

Beam's own reader of bz2 fails when a stream ends where its buffer does, and copies the
rest of the buffer for each of the streams of a multistream dump; this one does neither.
"""

import bz2
import gzip
import io
import lzma
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import zstandard

from schemas.errors import AlbertError

Compression = Literal["none", "gz", "bz2", "xz", "zst"]

_MAGIC: tuple[tuple[bytes, Compression], ...] = (
    (b"\x1f\x8b", "gz"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zst"),
)

# What the decompressors raise at damaged data; EOFError at truncated data.
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def recognise_compression(head: bytes) -> Compression:
    """The compression of a file that begins with these bytes.

    >>> recognise_compression(b"BZh91AY"), recognise_compression(b"<mediawiki")
    ('bz2', 'none')
    """
    for magic, compression in _MAGIC:
        if head.startswith(magic):
            return compression
    return "none"


class DecompressedFile(io.RawIOBase):
    """What was compressed, as a stream of bytes.

    Damaged data ends the stream instead of losing what was read before.

    Attributes:
        damage: How the data is damaged, once that has been met; else empty.
        is_compressed: Whether it was.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.damage = ""
        self._file = file
        compression = recognise_compression(file.read(6))
        file.seek(0)
        self.is_compressed = compression != "none"
        self._stream = _decompressor(file, compression)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read up to the size of a buffer; 0 at the end or at damage."""
        try:
            data = self._stream.read(len(buffer))
        except _DAMAGE as error:
            self.damage = str(error)
            return 0
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _decompressor(file: BinaryIO, compression: Compression) -> BinaryIO:
    if compression == "gz":
        return cast(BinaryIO, gzip.open(file))
    if compression == "bz2":
        return cast(BinaryIO, bz2.open(file))
    if compression == "xz":
        return cast(BinaryIO, lzma.open(file))
    if compression == "zst":
        reader = zstandard.ZstdDecompressor().stream_reader(
            file, read_across_frames=True
        )
        return cast(BinaryIO, reader)
    return file


def open_decompressed(path: str | Path) -> DecompressedFile:
    """Open a file for reading what was compressed, or the file itself.

    Raises:
        AlbertError: The file cannot be opened.
    """
    try:
        return DecompressedFile(Path(path).open("rb"))
    except OSError as error:
        raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
