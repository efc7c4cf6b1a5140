"""The wire format of protocol buffers: what the messages read and written here need."""

import functools
import struct
from collections.abc import Callable, Iterator

# A number of 64 bits takes at most this many bytes.
LONGEST_VARINT = 10

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes, bytes]]:
    r"""Number, value and all bytes of each field of a message, in the order written.

    Raises:
        ValueError: Not a valid message.

    >>> list(_fields(b"\x08\x96\x01\x12\x02hi"))
    [(1, 150, b'\x08\x96\x01'), (2, b'hi', b'\x12\x02hi')]
    """
    place = 0
    while place < len(message):
        start = place
        tag, place = read_varint(message, place)
        kind = tag & 7
        if kind == _VARINT:
            value, place = read_varint(message, place)
            yield tag >> 3, value, message[start:place]
            continue
        if kind == _BYTES:
            size, place = read_varint(message, place)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(kind, len(message))
        if place + size > len(message):
            raise ValueError(f"the field at byte {place} is cut off")
        place += size
        yield tag >> 3, message[place - size : place], message[start:place]


def changed(message: bytes, change: Callable[[int, int | bytes], bytes | None]) -> bytes:
    r"""A message with some fields rewritten and the others byte for byte as they were.

    Args:
        change: Takes a field's number and value; returns the bytes that replace the
            field, or None to keep it.

    Raises:
        ValueError: Not a valid message.

    >>> changed(b"\x08\x96\x01\x12\x02hi",
    ...         lambda number, value: bytes_field(2, b"you") if number == 2 else None)
    b'\x08\x96\x01\x12\x03you'
    """
    parts = []
    for number, value, written in _fields(message):
        rewritten = change(number, value)
        parts.append(written if rewritten is None else rewritten)
    return b"".join(parts)


def bytes_field(number: int, content: bytes) -> bytes:
    r"""A field that holds bytes, text or a message.

    >>> bytes_field(2, b"hi")
    b'\x12\x02hi'
    """
    return varint(number << 3 | _BYTES) + varint(len(content)) + content


def number_field(number: int, value: int) -> bytes:
    r"""A field that holds a number of at least 0.

    >>> number_field(1, 150)
    b'\x08\x96\x01'
    """
    return varint(number << 3 | _VARINT) + varint(value)


def float_field(number: int, value: float) -> bytes:
    r"""A field that holds a 32-bit number.

    >>> float_field(2, 1.0)
    b'\x15\x00\x00\x80?'
    """
    return varint(number << 3 | _FIXED32) + struct.pack("<f", value)


@functools.lru_cache(maxsize=1 << 14)
def varint(value: int) -> bytes:
    r"""A number of at least 0 in base 128, its lowest digits first.

    >>> varint(150)
    b'\x96\x01'
    """
    digits = bytearray()
    while value >= 128:
        digits.append(value & 127 | 128)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    """A base-128 number and the place after it.

    Raises:
        ValueError: The data ends inside it, or it has more than 64 bits.
    """
    value = 0
    for shift, byte in enumerate(data[place : place + LONGEST_VARINT]):
        value |= (byte & 127) << 7 * shift
        if byte < 128:
            return value, place + shift + 1
    raise ValueError("a number is cut off or too long")


def nested(message: bytes, number: int) -> Iterator[bytes]:
    """The contents of all fields of this number.

    Raises:
        ValueError: One of them holds a number, or the message is not valid.
    """
    for found, value, _ in _fields(message):
        if found == number:
            if isinstance(value, int):
                raise ValueError(f"field {number} holds a number")
            yield value
