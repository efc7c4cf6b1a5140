"""Compressed data as blocks of bytes, recognised from its first bytes.

Damaged or cut off data ends the blocks and is counted; what came before is kept. bz2
has a reader of its own, since its streams can be read apart
(`pipeline.storage.bz2_streams`).
"""

import lzma
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

import zstandard

Compression = Literal["none", "gz", "bz2", "xz", "zst"]

# The reason that is counted once for each damaged stream.
DAMAGED = "damaged or cut off compressed data"

BLOCK_BYTES = 1 << 20

# The maximum that is taken out of a stream at once, whatever it claims to hold.
_MAX_OUTPUT = BLOCK_BYTES
# A checksum, and what xz has after it.
TRAILER_BYTES = 64
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
    for magic, compression in _MAGIC:
        if head.startswith(magic):
            return compression
    return "none"


class _Codec(NamedTuple):
    """How to read one stream of a format.

    Attributes:
        new: Makes a decompressor for the next stream of a file.
        piece_bytes: How much is decompressed at a time: little, so that damage loses
            little of what came before it and no bomb takes much memory.
        is_bounded: Whether the decompressor takes a maximum for its output.
    """

    new: Callable[[], Any]
    piece_bytes: int
    is_bounded: bool


_CODECS: dict[Compression, _Codec] = {
    "gz": _Codec(lambda: zlib.decompressobj(wbits=31), 8 << 10, is_bounded=False),
    "xz": _Codec(lzma.LZMADecompressor, 8 << 10, is_bounded=True),
    "zst": _Codec(
        lambda: zstandard.ZstdDecompressor(
            max_window_size=_MAX_ZSTD_WINDOW
        ).decompressobj(),
        1 << 10,
        is_bounded=False,
    ),
}


def decompress(
    blocks: Iterable[bytes], compression: Compression, *, counts: Counter[str]
) -> Iterator[bytes]:
    """Blocks of what was compressed, up to the first damage.

    Args:
        blocks: The compressed file, which may be several streams one after the other.
        compression: Any but bz2.
        counts: Receives `DAMAGED`.

    >>> import gzip
    >>> counts = Counter()
    >>> data = gzip.compress(b"one ") + gzip.compress(b"two")
    >>> b"".join(decompress([data[:-3]], "gz", counts=counts)), counts[DAMAGED]
    (b'one two', 1)
    """
    if compression == "none":
        yield from blocks
        return
    try:
        yield from join_blocks(_decompress_streams(blocks, _CODECS[compression]))
    except _DAMAGE:
        counts[DAMAGED] += 1


def _decompress_streams(blocks: Iterable[bytes], codec: _Codec) -> Iterator[bytes]:
    decompressor = None
    for piece in _pieces(blocks, codec.piece_bytes):
        while piece:
            if decompressor is None:
                piece = piece.lstrip(b"\0")  # padding between streams
                if not piece:
                    break
                decompressor = codec.new()
            yield from _feed(decompressor, piece, codec)
            if not decompressor.eof:
                break
            piece, decompressor = decompressor.unused_data, None
    if decompressor is not None:
        raise EOFError


def _pieces(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Blocks cut up, the end of the last one into single bytes.

    Where a checksum does not fit, all that came out of the piece with it is lost. So
    the checksum at the end of a file is in a piece with nothing else.

    >>> [len(piece) for piece in _pieces([bytes(60), bytes(70)], 50)][:4]
    [50, 16, 1, 1]
    """
    held = b""
    for block in blocks:
        data = held + block
        end = max(0, len(data) - TRAILER_BYTES)
        for start in range(0, end, size):
            yield data[start : min(start + size, end)]
        held = data[end:]
    for start in range(len(held)):
        yield held[start : start + 1]


def _feed(decompressor: Any, piece: bytes, codec: _Codec) -> Iterator[bytes]:
    if not codec.is_bounded:
        yield decompressor.decompress(piece)
        return
    yield decompressor.decompress(piece, _MAX_OUTPUT)
    while not decompressor.eof and not decompressor.needs_input:
        yield decompressor.decompress(b"", _MAX_OUTPUT)


def join_blocks(blocks: Iterable[bytes], size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Small blocks joined to larger ones; what was read before an error is not lost.

    >>> list(join_blocks([b"a", b"bc", b"", b"d"], 2))
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
