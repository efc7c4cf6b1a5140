"""A file in ranges of bytes, each of which yields whole documents.

Several workers read one file, each a range of it, and what they read does not depend on
where the ranges meet. A document begins at the start of some line. It belongs to the
range that holds the line feed before that line (the first one to the first range), and
is read to its end, however far after the range that is.

A range of a multistream bz2 file holds the text of the streams that begin in it.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain
from typing import BinaryIO

from pipeline.core.documents import ReadingCounts
from pipeline.storage.compression import (
    BLOCK_BYTES,
    decompress,
    read_streams,
    recognise_compression,
)
from pipeline.storage.files import open_binary

# A document is recognised by its first line, and the line by its first bytes.
StartsDocument = Callable[[bytes], bool]

# How much of a line is looked at.
LINE_PREFIX_BYTES = 4096


def read_blocks(
    path: str,
    *,
    start: int = 0,
    end: int | None = None,
    counts: ReadingCounts | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Generator[bytes, None, None]:
    """The bytes of a file, or of a range of one that is uncompressed or bz2.

    Args:
        start: The first byte of the range.
        end: The first byte after the range, None for the end of the file.
        block_bytes: Of the file, read at a time.
    """
    # A read that starts mid-file needs only the magic bytes here.
    at_once = 0 if start else block_bytes
    with closing(open_binary(path, block_bytes=at_once)) as file:
        yield from decompressed(
            file, start=start, end=end, counts=counts, block_bytes=block_bytes
        )


def decompressed(
    file: BinaryIO,
    *,
    start: int = 0,
    end: int | None = None,
    counts: ReadingCounts | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[bytes]:
    """The bytes of an open file; see `read_blocks`."""
    compression = recognise_compression(file.read(6))
    if compression == "bz2":
        yield from read_streams(file, start=start, end=end, counts=counts)
        return
    file.seek(start)
    left = float("inf") if end is None else end - start
    blocks = _read_up_to(file.read, left, block_bytes)
    yield from decompress(blocks, compression, counts=counts)


def _read_up_to(
    read: Callable[[int], bytes], left: float, block_bytes: int
) -> Iterator[bytes]:
    while left > 0 and (block := read(int(min(block_bytes, left)))):
        left -= len(block)
        yield block


def read_documents(
    path: str,
    starts: StartsDocument,
    *,
    start: int = 0,
    end: int | None = None,
    counts: ReadingCounts | None = None,
) -> Iterator[bytes]:
    """The bytes of the documents that belong to a range, in blocks.

    Args:
        starts: Whether a document begins with a line, judging by the line's first
            `LINE_PREFIX_BYTES`.
    """

    def following() -> Iterator[bytes]:
        return iter(()) if end is None else read_blocks(path, start=end)

    first = 0
    if start > 0:
        scanned = ReadingCounts()
        blocks = read_blocks(path, start=start, end=end, counts=scanned)
        found = find_start(blocks, starts, following=following())
        if found is None:
            if counts is not None:
                counts.add(scanned)
            return
        first = found
    stop = find_start(following(), starts)
    own = read_blocks(path, start=start, end=end, counts=counts)
    yield from _cut(chain(own, _take(following(), stop)), first)


def find_start(
    blocks: Iterable[bytes],
    starts: StartsDocument,
    *,
    following: Iterable[bytes] = (),
) -> int | None:
    r"""Where the first document begins that belongs to some bytes; None if none does.

    Args:
        following: What comes next in the file, to see the whole of the last line.

    >>> find_start([b"of a li", b"ne\n b\nan", b"d"], lambda line: line[:1] == b"a")
    13
    """
    position, buffer = 0, b""
    for block in blocks:
        buffer += block
        # After line feeds up to here enough of the line is known to judge it.
        sure = max(0, len(buffer) - LINE_PREFIX_BYTES)
        found = _first_line(buffer, sure, starts)
        if found is not None:
            return position + found
        position, buffer = position + sure, buffer[sure:]
    known = len(buffer)
    for block in following:
        buffer += block
        if len(buffer) >= known + LINE_PREFIX_BYTES:
            break
    found = _first_line(buffer, known, starts)
    return None if found is None else position + found


def _first_line(buffer: bytes, limit: int, starts: StartsDocument) -> int | None:
    """The first line after a line feed before `limit` that starts a document."""
    line_feed = buffer.find(b"\n", 0, limit)
    while line_feed >= 0:
        start = line_feed + 1
        line_end = buffer.find(b"\n", start, start + LINE_PREFIX_BYTES)
        if line_end < 0:
            line_end = start + LINE_PREFIX_BYTES
        if starts(buffer[start:line_end]):
            return start
        line_feed = buffer.find(b"\n", start, limit)
    return None


def _take(blocks: Iterable[bytes], size: int | None) -> Iterator[bytes]:
    """The first bytes of some blocks, all of them if `size` is None."""
    for block in blocks:
        if size is None:
            yield block
            continue
        yield block[:size]
        size -= len(block)
        if size <= 0:
            return


def _cut(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Blocks without their first bytes."""
    for block in blocks:
        if size < len(block):
            yield block[size:] if size else block
        size = max(0, size - len(block))
