"""Bytes become lines of text, whatever the encoding and however long the lines."""

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from schemas.errors import AlbertError

# A longer line is divided at a space, so that no line takes memory without bound.
MOST_LINE_BYTES = 1 << 20

_READ_BYTES = 1 << 20
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def refuse_utf16(head: bytes, *, path: str) -> None:
    """Refuse UTF-16, which has a zero byte at every other letter.

    Raises:
        AlbertError: Names the file and how to convert it.
    """
    zeros = max(head[0::2].count(0), head[1::2].count(0))
    if head.startswith(_UTF16) or (len(head) > 3 and zeros > len(head) // 4):
        raise AlbertError(
            f"{path} is UTF-16; convert it to UTF-8, "
            f"for example with iconv -f UTF-16 -t UTF-8."
        )


def decode(data: bytes) -> str:
    """UTF-8, or Windows-1252 where it is not; zero bytes are left out.

    >>> decode("café".encode()), decode("café".encode("latin-1"))
    ('café', 'café')
    """
    data = data.replace(b"\0", b"")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def read_lines(stream: BinaryIO) -> Iterator[str]:
    """The lines of a stream with single spaces and none at the ends.

    Lines end in LF, CR LF or CR. A byte-order mark is left out.
    """
    first = True
    for line in _raw_lines(stream):
        text = decode(line.removeprefix(codecs.BOM_UTF8) if first else line)
        yield " ".join(text.split())
        first = False


def _raw_lines(stream: BinaryIO) -> Iterator[bytes]:
    rest = b""
    while data := stream.read(_READ_BYTES):
        # A CR at the end may have its LF in the next block.
        held = b"\r" if data.endswith(b"\r") else b""
        block = rest + data[: len(data) - len(held)]
        *lines, rest = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        yield from lines
        while len(rest) > MOST_LINE_BYTES:
            cut = rest.rfind(b" ", 0, MOST_LINE_BYTES) + 1 or MOST_LINE_BYTES
            while rest[cut] & 0xC0 == 0x80:  # not inside a character
                cut -= 1
            yield rest[:cut]
            rest = rest[cut:]
        rest += held
    if rest:
        yield from rest.replace(b"\r", b"\n").removesuffix(b"\n").split(b"\n")
