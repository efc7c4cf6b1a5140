"""Compressed data as blocks of bytes, recognised from its first bytes.

Damaged or cut off data ends the blocks and is counted; what came before it is kept.

A multistream dump is many bz2 streams one after the other, each of which decompresses
alone. Its streams begin at a byte with a header that does not occur by chance (about
2^-76 for each byte), so a range of the file is read without the index that Wikimedia
publishes beside it: a range owns the streams that begin inside it. A damaged stream is
counted and the next one read, so that a bad block costs a hundred pages instead of the
rest. Data between two streams is counted too: it may be a stream whose header is
damaged. (Beam's own reader fails when a stream ends where its buffer does, and copies
the rest of the buffer for each stream.)
"""

import bz2
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, Literal, NamedTuple

import zstandard

from pipeline.core.documents import DAMAGED, ReadingCounts

Compression = Literal["none", "gz", "bz2", "xz", "zst"]

# The maximum, too, that is taken out of a stream at once, whatever it claims to hold.
BLOCK_BYTES = 1 << 20

# Bytes of checksum and xz footer.
_TRAILER_BYTES = 64
# Tools that compress long archives (zstd --long=31) ask for a window of 2 GB.
_MAX_ZSTD_WINDOW = 1 << 31

_MAGIC: tuple[tuple[bytes, Compression], ...] = (
    (b"\x1f\x8b", "gz"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zst"),
    # A frame that holds no text, of which there are 16 kinds.
    *((bytes([kind]) + b"\x2a\x4d\x18", "zst") for kind in range(0x50, 0x60)),
)

_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def recognise_compression(head: bytes) -> Compression:
    """The compression of a file that begins with these bytes.

    >>> recognise_compression(b"BZh91AY"), recognise_compression(b"<mediawiki")
    ('bz2', 'none')
    """
    return next((name for magic, name in _MAGIC if head.startswith(magic)), "none")


class _Codec(NamedTuple):
    """How to read one stream of a format.

    Attributes:
        input_bytes: How much is decompressed at a time: little, so that damage loses
            little of what came before it and no bomb takes much memory.
        is_bounded: Whether the decompressor takes a maximum for its output.
    """

    new: Callable[[], Any]
    input_bytes: int
    is_bounded: bool


_CODECS: dict[Compression, _Codec] = {
    "gz": _Codec(lambda: zlib.decompressobj(wbits=31), 8 << 10, is_bounded=False),
    "xz": _Codec(lzma.LZMADecompressor, 8 << 10, is_bounded=True),
    "zst": _Codec(
        lambda: zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW).decompressobj(),
        1 << 10,
        is_bounded=False,
    ),
}


def decompress(
    blocks: Iterable[bytes], compression: Compression, *, counts: ReadingCounts
) -> Iterator[bytes]:
    """Blocks of what was compressed, in any way but bz2, up to the first damage.

    >>> import gzip
    >>> counts = ReadingCounts()
    >>> data = gzip.compress(b"one ") + gzip.compress(b"two")
    >>> b"".join(decompress([data[:-3]], "gz", counts=counts)), counts.dropped[DAMAGED]
    (b'one two', 1)
    """
    try:
        yield from _join_blocks(_decompress_streams(blocks, _CODECS[compression]))
    except _DAMAGE:
        counts.dropped[DAMAGED] += 1


def _decompress_streams(blocks: Iterable[bytes], codec: _Codec) -> Iterator[bytes]:
    decompressor = None
    for part in _cut(blocks, codec.input_bytes):
        while part:
            if decompressor is None:
                part = part.lstrip(b"\0")  # padding between streams
                if not part:
                    break
                decompressor = codec.new()
            limit = (BLOCK_BYTES,) if codec.is_bounded else ()
            yield decompressor.decompress(part, *limit)
            while limit and not (decompressor.eof or decompressor.needs_input):
                yield decompressor.decompress(b"", BLOCK_BYTES)
            if not decompressor.eof:
                break
            part, decompressor = decompressor.unused_data, None
    if decompressor is not None:
        raise EOFError


def _cut(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Blocks cut up, the end of the last one into single bytes.

    Where a checksum does not fit, all that came out of the part with it is lost. So
    the checksum at the end of a file is in a part with nothing else.

    >>> [len(part) for part in _cut([bytes(60), bytes(70)], 50)][:4]
    [50, 16, 1, 1]
    """
    held = b""
    for block in blocks:
        data = held + block
        end = max(0, len(data) - _TRAILER_BYTES)
        for start in range(0, end, size):
            yield data[start : min(start + size, end)]
        held = data[end:]
    for start in range(len(held)):
        yield held[start : start + 1]


def _join_blocks(blocks: Iterable[bytes], size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Small blocks joined to larger ones; what was read before an error is not lost.

    >>> list(_join_blocks([b"a", b"bc", b"", b"d"], 2))
    [b'abc', b'd']
    """
    held: list[bytes] = []
    held_bytes = 0
    try:
        for block in blocks:
            held.append(block)
            held_bytes += len(block)
            if held_bytes >= size:
                yield b"".join(held)
                held, held_bytes = [], 0
    except _DAMAGE:
        yield b"".join(held)
        raise
    if held_bytes:
        yield b"".join(held)


# The header of a stream, then that of its first block or of its end.
_HEADER = re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)")
_HEADER_BYTES = 10
# What may follow a stream: padding, then the next one or nothing.
_NEXT_OR_END = re.compile(rb"\0*(?:" + _HEADER.pattern + rb"|\Z)")

# Decompressed at a time; damage loses the text of this much.
_BZ2_BYTES = 8 << 10
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
    file: BinaryIO, *, start: int = 0, end: int | None = None, counts: ReadingCounts
) -> Iterator[bytes]:
    """Decompressed blocks of the streams that begin in a range of the file.

    >>> import io
    >>> file = io.BytesIO(bz2.compress(b"one ") + bz2.compress(b"two"))
    >>> b"".join(read_streams(file, start=1, counts=ReadingCounts()))
    b'two'
    """
    window = _Window(file, start)
    dropped = counts.dropped
    if start == 0 and not window.is_between_streams():
        dropped[DAMAGED] += 1
    while window.skip_to_header(end):
        header = window.position
        try:
            yield from _join_blocks(_read_stream(window))
        except (OSError, EOFError):
            dropped[DAMAGED] += 1
            window = _Window(file, header + 1)
            continue
        # Whoever reads a stream looks at what follows it, in the next range too.
        if not window.is_between_streams():
            dropped[DAMAGED] += 1


def _read_stream(window: "_Window") -> Iterator[bytes]:
    """Decompress the stream that begins at a window's position, and move to its end."""
    decompressor = bz2.BZ2Decompressor()
    while not decompressor.eof:
        part = b""
        if decompressor.needs_input:
            # The checksum at the end of a file alone: see `_cut`.
            room = window.size - window.position - _TRAILER_BYTES
            part = window.take(max(1, min(room, _BZ2_BYTES)))
            if not part:
                raise EOFError
        yield decompressor.decompress(part, BLOCK_BYTES)
    window.give_back(decompressor.unused_data)


class _Window:
    """A file read forward from a position, of which a little can be given back."""

    def __init__(self, file: BinaryIO, position: int) -> None:
        self.position = position
        self._file = file
        self._ahead = b""
        self.size = file.seek(0, os.SEEK_END)
        file.seek(position)

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
