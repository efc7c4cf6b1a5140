"""bz2 files stream by stream, from anywhere in the file.

A multistream dump is many bz2 streams one after the other, each of which decompresses
alone. Its streams begin at a byte with a header that does not occur by chance (about
2^-76 for each byte), so a range of the file is read without the index that Wikimedia
publishes beside it: a range owns the streams that begin inside it.

Beam's own reader fails when a stream ends where its buffer does and copies the rest of
the buffer for each stream; this one does neither. A damaged stream is counted and the
next one read, so that a bad block costs a hundred pages instead of the rest. Data
between two streams is counted too: it may be a stream whose header is damaged.
"""

import bz2
import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO

from pipeline.storage.compression import (
    BLOCK_BYTES,
    DAMAGED,
    TRAILER_BYTES,
    join_blocks,
)

# The header of a stream, then that of its first block or of its end.
_HEADER = re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)")
_HEADER_BYTES = 10
# What may follow a stream: padding, then the next one or nothing.
_NEXT_OR_END = re.compile(rb"\0*(?:" + _HEADER.pattern + rb"|\Z)")

# Decompressed at a time; damage loses the text of this much.
_PIECE_BYTES = 8 << 10
_READ_BYTES = 64 << 10
# The second stream of any multistream file begins before this.
_MAX_FIRST_STREAM = 4 << 20


def is_multistream(file: BinaryIO) -> bool:
    """Whether a bz2 file has a second stream, and so can be read in parts.

    >>> import io
    >>> is_multistream(io.BytesIO(bz2.compress(b"a") + bz2.compress(b"b")))
    True
    >>> is_multistream(io.BytesIO(bz2.compress(b"a")))
    False
    """
    file.seek(0)
    return _HEADER.search(file.read(_MAX_FIRST_STREAM), 1) is not None


def read_streams(
    file: BinaryIO,
    *,
    start: int = 0,
    end: int | None = None,
    counts: Counter[str],
) -> Iterator[bytes]:
    """Decompressed blocks of the streams that begin in a range of the file.

    Args:
        file: A bz2 file that can seek.
        start: First byte of the range.
        end: First byte after the range; None for the end of the file.
        counts: Receives `DAMAGED`.

    >>> import io
    >>> file = io.BytesIO(bz2.compress(b"one ") + bz2.compress(b"two"))
    >>> b"".join(read_streams(file, start=1, counts=Counter()))
    b'two'
    """
    window = _Window(file, start)
    if start == 0 and not window.is_between_streams():
        counts[DAMAGED] += 1
    while window.skip_to_header(end):
        header = window.position
        try:
            yield from join_blocks(_read_stream(window))
        except (OSError, EOFError):
            counts[DAMAGED] += 1
            window = _Window(file, header + 1)
            continue
        # Whoever reads a stream looks at what follows it, in the next range too.
        if not window.is_between_streams():
            counts[DAMAGED] += 1


def _read_stream(window: "_Window") -> Iterator[bytes]:
    """Decompress the stream that begins at a window's position, and move to its end."""
    decompressor = bz2.BZ2Decompressor()
    while not decompressor.eof:
        piece = b""
        if decompressor.needs_input:
            # The checksum at the end of a file alone: see `compression._pieces`.
            room = window.bytes_left() - TRAILER_BYTES
            piece = window.take(max(1, min(room, _PIECE_BYTES)))
            if not piece:
                raise EOFError
        yield decompressor.decompress(piece, BLOCK_BYTES)
    window.give_back(decompressor.unused_data)


class _Window:
    """A file read forward, of which a little can be given back.

    Attributes:
        position: Of the next byte, in the file.
    """

    def __init__(self, file: BinaryIO, position: int) -> None:
        self.position = position
        self._file = file
        self._ahead = b""
        self._size = file.seek(0, os.SEEK_END)
        file.seek(position)

    def bytes_left(self) -> int:
        """How much of the file follows."""
        return self._size - self.position

    def take(self, size: int) -> bytes:
        """The next bytes, fewer than asked only at the end of the file."""
        if len(self._ahead) < size:
            self._ahead += self._file.read(_READ_BYTES)
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        self.position += len(taken)
        return taken

    def give_back(self, data: bytes) -> None:
        """Return bytes that were taken last."""
        self._ahead = data + self._ahead
        self.position -= len(data)

    def is_between_streams(self) -> bool:
        """Whether a stream, or the end of the file, is next."""
        if len(self._ahead) < _HEADER_BYTES:
            self._ahead += self._file.read(_READ_BYTES)
        return _NEXT_OR_END.match(self._ahead) is not None

    def skip_to_header(self, end: int | None) -> bool:
        """Move to the next header; False if there is none before `end`."""
        while end is None or self.position < end:
            found = _HEADER.search(self._ahead)
            if found:
                self.take(found.start())
                return end is None or self.position < end
            # A header may lie across what is ahead and what is read next.
            self.take(max(0, len(self._ahead) - _HEADER_BYTES + 1))
            data = self._file.read(_READ_BYTES)
            if not data:
                return False
            self._ahead += data
        return False
