"""The memory that activations may be put into: of the devices, or of the machine."""

from collections.abc import Mapping, Sequence

from albert_tf.planning.micro_batch import Room, free_memory_bytes

# More tokens at a time keep no accelerator busier: a product of as many rows has dozens
# of tiles for each of its multiprocessors.
MAX_TOKENS_OF_ACCELERATOR = 1 << 16


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
        return Room(free_memory_bytes())
    return Room(min(free) * len(free), MAX_TOKENS_OF_ACCELERATOR)
