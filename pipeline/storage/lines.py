"""The bytes of a file, or of a range of it, as blocks and as lines of text.

Several workers read one file, each a range of it, and what they read does not depend on
where the ranges meet. A document begins at the start of some line. It belongs to the
range that holds the line feed before that line (the first one to the first range), and
is read to its end, however far after the range that is. A range of a multistream bz2
file holds the text of the streams that begin in it.

Text is read as UTF-8, and lines that are not as Windows-1252.
"""

import codecs
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain
from typing import BinaryIO

from pipeline.core.documents import Dropped, ReadingCounts
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
# A longer line is divided at a space, so that no line takes memory without bound.
MAX_LINE_BYTES = 1 << 20
# A longer line is not a document; the longest novels have 6 MB.
MAX_RECORD_BYTES = 32 << 20
TOO_LONG = Dropped("line too long")
# Changes that are counted; nothing is left out.
NOT_UTF8 = "line not UTF-8, read as Windows-1252"
BAD_BYTES = "line with a few bytes that are not UTF-8, left out"
NUL_BYTES = "zero byte taken out"
_BYTE_ORDER_MARK = "\ufeff"
# Bytes that no text has: control characters except white space, zero and escape.
_CONTROL = bytes({*range(1, 8), *range(14, 27), *range(28, 32), 127})


def is_binary(data: bytes) -> bool:
    """Whether bytes are not text in any encoding: many are control characters."""
    return len(data) - len(data.translate(None, _CONTROL)) > len(data) // 20


def mostly_utf8(line: bytes, *, is_cut: bool = False) -> str | None:
    """A line of UTF-8 without its bad bytes; None where good ones are not more.

    If it is cut, bytes that its last character lacks are no fault.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    replaced = decoder.decode(line, final=not is_cut)
    text = replaced.replace("\ufffd", "")
    good = sum(not character.isascii() for character in text)
    bad = len(replaced) - len(text)
    return text if good > bad or not bad else None


def decode(data: bytes, *, counts: ReadingCounts | None = None) -> str:
    r"""Whole lines as text that ends its lines in LF.

    A line that is not UTF-8 is read as Windows-1252, or as UTF-8 without its bad bytes
    where good characters beyond ASCII are more. Zero bytes and byte-order marks are
    left out. Lines may have ended in CR LF or CR.

    Args:
        data: Lines, so that no character is cut.
        counts: Receives `NOT_UTF8` or `BAD_BYTES` for each such line, and `NUL_BYTES`.

    >>> counts = ReadingCounts()
    >>> decode("é\r\n".encode() + "caf\0é".encode("latin-1"), counts=counts)
    'é\ncafé'
    >>> dict(counts.changed)
    {'zero byte taken out': 1, 'line not UTF-8, read as Windows-1252': 1}
    """
    if b"\0" in data:
        if counts is not None:
            counts.changed[NUL_BYTES] += data.count(b"\0")
        data = data.replace(b"\0", b"")
    if b"\r" in data:
        # Two of them are of a text that was written as on Windows twice.
        for end in (b"\r\r\n", b"\r\n", b"\r"):
            data = data.replace(end, b"\n")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\n".join(decode_line(line, counts=counts) for line in data.split(b"\n"))
    if _BYTE_ORDER_MARK in text:
        text = text.replace(_BYTE_ORDER_MARK, "")
    return text


def decode_line(line: bytes, *, counts: ReadingCounts | None = None) -> str:
    r"""One line as text, UTF-8 or else Windows-1252.

    >>> counts = ReadingCounts()
    >>> decode_line("Приве".encode()[:-1] + b"!", counts=counts), dict(counts.changed)
    ('Прив!', {'line with a few bytes that are not UTF-8, left out': 1})
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        text = mostly_utf8(line)
    if counts is not None:
        counts.changed[NOT_UTF8 if text is None else BAD_BYTES] += 1
    return line.decode("cp1252", errors="replace") if text is None else text


def line_blocks(blocks: Iterable[bytes], *, limit: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    r"""Blocks cut at line feeds, so that each holds whole lines.

    A line of more than `limit` bytes is cut at its last space before that.

    >>> list(line_blocks([b"a\nb", b"c\nd"]))
    [b'a\n', b'bc\n', b'd']
    >>> list(line_blocks([b"one two three"], limit=6))
    [b'one ', b'two ', b'three']
    """
    held = b""
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield from _cut_lines(held + block[:end], limit)
            held = block[end:]
        else:
            held += block
        while len(held) > limit:
            cut = cut_position(held, limit)
            yield held[:cut]
            held = held[cut:]
    if held:
        yield held


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes | Dropped]:
    """Whole lines, many at a time; a line that is too long is dropped."""
    fragment = b""
    is_skipping = False
    for block in line_blocks(blocks, limit=MAX_RECORD_BYTES):
        if fragment and not is_skipping:
            # More came after a line without an end: it had been cut.
            yield TOO_LONG
            is_skipping = True
        if is_skipping:
            _, line_feed, block = block.partition(b"\n")
            if not line_feed:
                continue
            is_skipping = False
        lines, _, fragment = block.rpartition(b"\n")
        yield lines
    if fragment and not is_skipping:
        yield fragment


def read_whole_lines(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None
) -> Iterator[str | Dropped]:
    """The lines in some blocks that are not blank; one that is too long is dropped."""
    for lines in whole_lines(blocks):
        if isinstance(lines, Dropped):
            yield lines
        else:
            for line in decode(lines, counts=counts).split("\n"):
                if line and not line.isspace():
                    yield line


def _cut_lines(lines: bytes, limit: int) -> Iterator[bytes]:
    """Lines as one block, or in several where one is too long."""
    start = line = 0
    while len(lines) - line > limit:
        line_feed = lines.rfind(b"\n", line, line + limit + 1)
        if line_feed >= 0:
            line = line_feed + 1
            continue
        line += cut_position(lines[line : line + limit + 1], limit)
        yield lines[start:line]
        start = line
    if start < len(lines):
        yield lines[start:]


def cut_position(line: bytes, limit: int) -> int:
    """Where to cut a line of more than `limit` bytes: after a space if it has one.

    >>> cut_position(b"one two three", 6), cut_position("éé".encode(), 3)
    (4, 2)
    """
    cut = line.rfind(b" ", 0, limit) + 1 or limit
    while cut > 1 and line[cut] & 0xC0 == 0x80:  # not inside a character
        cut -= 1
    return cut


def read_raw_lines(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None
) -> Iterator[str]:
    """The lines in some blocks, with the white space that they have."""
    for block in line_blocks(blocks):
        text = decode(block, counts=counts)
        yield from text.removesuffix("\n").split("\n")


def read_lines(blocks: Iterable[bytes], *, counts: ReadingCounts | None = None) -> Iterator[str]:
    """The lines in some blocks, with single spaces and none at the ends."""
    for line in read_raw_lines(blocks, counts=counts):
        yield " ".join(line.split())


def read_blocks(
    path: str,
    *,
    start: int = 0,
    end: int | None = None,
    counts: ReadingCounts | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Generator[bytes, None, None]:
    """The bytes of a file, or of a range of one that is uncompressed or bz2."""
    # A read that starts mid-file needs only the magic bytes here.
    at_once = 0 if start else block_bytes
    with closing(open_binary(path, block_bytes=at_once)) as file:
        yield from decompressed(file, start=start, end=end, counts=counts, block_bytes=block_bytes)


def decompressed(
    file: BinaryIO,
    *,
    start: int = 0,
    end: int | None = None,
    counts: ReadingCounts | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[bytes]:
    """The bytes of an open file; see `read_blocks`."""
    counts = counts or ReadingCounts()
    compression = recognise_compression(file.read(6))
    if compression == "bz2":
        yield from read_streams(file, start=start, end=end, counts=counts)
        return
    file.seek(start)
    if compression != "none":
        blocks = iter(lambda: file.read(block_bytes), b"")
        yield from decompress(blocks, compression, counts=counts)
        return
    left = float("inf") if end is None else end - start
    while left > 0 and (block := file.read(int(min(block_bytes, left)))):
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

    A document `starts` with a line, judged by the line's first `LINE_PREFIX_BYTES`.
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
    for block in chain(own, _take(following(), stop)):
        if first < len(block):
            yield block[first:] if first else block
        first = max(0, first - len(block))


def find_start(
    blocks: Iterable[bytes], starts: StartsDocument, *, following: Iterable[bytes] = ()
) -> int | None:
    r"""Where the first document begins that belongs to some bytes; None if none does.

    The last line is seen whole with what is `following` in the file.

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
