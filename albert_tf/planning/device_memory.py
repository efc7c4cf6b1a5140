"""The memory that activations may be put into: of the devices, or of the machine."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from albert_tf.planning.micro_batch import MAX_PIECES, free_memory_bytes

# More tokens at a time keep no accelerator busier: a product of as many rows has dozens
# of tiles for each of its multiprocessors.
MAX_TOKENS_OF_ACCELERATOR = 1 << 16


class Room(NamedTuple):
    """What a micro-batch has to fit into, as `derive_micro_batch_size` takes it.

    Attributes:
        free_bytes: Memory that is free now, for all devices.
        max_tokens: More tokens at a time make nothing faster.
    """

    free_bytes: int
    max_tokens: int


def room_of(devices: Sequence[Mapping[str, int] | None]) -> Room:
    """The room of devices that compute the same, or of the machine they share.

    Args:
        devices: What each says of its memory: `bytes_limit` and `bytes_in_use`. One
            without memory of its own, such as a CPU, says nothing.

    >>> room_of([{"bytes_limit": 100 << 30, "bytes_in_use": 4 << 30}] * 2)
    Room(free_bytes=206158430208, max_tokens=65536)
    """
    free = [
        max(0, said["bytes_limit"] - said["bytes_in_use"])
        for said in devices
        if said and "bytes_limit" in said
    ]
    if len(free) < len(devices):
        return Room(free_memory_bytes(), MAX_PIECES)
    return Room(min(free) * len(free), MAX_TOKENS_OF_ACCELERATOR)
