"""The wire format of protocol buffers, as far as two messages need it."""

import struct
from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    r"""Number and value of each field of a message, in the order written.

    Raises:
        ValueError: It is no message.

    >>> list(fields(b"\x08\x96\x01\x12\x02hi"))
    [(1, 150), (2, b'hi')]
    """
    place = 0
    while place < len(message):
        tag, place = read_varint(message, place)
        kind = tag & 7
        if kind == _VARINT:
            value, place = read_varint(message, place)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, place = read_varint(message, place)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(kind, len(message))
        if place + size > len(message):
            raise ValueError(f"the field at byte {place} is cut off")
        yield tag >> 3, message[place : place + size]
        place += size


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    """A base-128 number and the place behind it.

    Raises:
        ValueError: The data ends inside it.
    """
    value = shift = 0
    while place < len(data):
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7
    raise ValueError("a number is cut off")


def varints(data: bytes) -> list[int]:
    r"""Numbers one after the other.

    >>> varints(b"\x02\xac\x02")
    [2, 300]
    """
    numbers, place = [], 0
    while place < len(data):
        number, place = read_varint(data, place)
        numbers.append(number)
    return numbers


def floats(data: bytes) -> list[float]:
    """32-bit numbers one after the other.

    Raises:
        ValueError: The data ends inside one.
    """
    if len(data) % 4:
        raise ValueError("a number is cut off")
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def nested(message: bytes, number: int) -> Iterator[bytes]:
    """The contents of all fields of this number.

    Raises:
        ValueError: One of them holds a number, or it is no message.
    """
    for found, value in fields(message):
        if found == number:
            if isinstance(value, int):
                raise ValueError(f"field {number} holds a number")
            yield value
