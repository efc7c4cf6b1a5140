"""How many sequences to compute at a time, when nobody says."""

import os
from pathlib import Path
from typing import NamedTuple

from albert_tf.planning.compute_cost import activation_bytes
from schemas.config import ModelConfig, TrainConfig

# On a CPU more pieces at a time make no matrix product faster, but delay signals.
MAX_PIECES = 4096

# The share of the free memory that activations may take.
MEMORY_SHARE = 0.5

# Where Linux shows a container the limits it runs under.
CGROUP = Path("/sys/fs/cgroup")


class Room(NamedTuple):
    """What a micro-batch has to fit into.

    Attributes:
        free_bytes: Memory that is free now, for all devices.
        max_tokens: More tokens at a time make nothing faster.
    """

    free_bytes: int
    max_tokens: int = MAX_PIECES


def derive_micro_batch_size(
    train: TrainConfig,
    config: ModelConfig,
    *,
    length: int,
    predictions: int,
    room: Room,
    devices: int = 1,
) -> int:
    """The fewest micro-batches whose activations fit, of equal size up to the last.

    Args:
        train: The batch, the precision, and whether layers are computed again.
        config: The architecture.
        length: S.
        predictions: P.
        room: What it has to fit into.
        devices: How many micro-batches are computed at the same time.

    >>> train = TrainConfig(batch_size=32)
    >>> room = Room(free_bytes=16 << 30)
    >>> derive_micro_batch_size(
    ...     train, ModelConfig(), length=512, predictions=77, room=room
    ... )
    8
    """
    per_sequence = activation_bytes(
        config,
        length=length,
        predictions=predictions,
        precision=train.precision,
        recompute=train.recompute,
    )
    fitting = int(room.free_bytes * MEMORY_SHARE) // (per_sequence * devices)
    most = max(1, min(fitting, room.max_tokens // length))
    rounds = -(-train.batch_size // (most * devices))
    return -(-train.batch_size // (rounds * devices))


def free_memory_bytes(cgroup: Path = CGROUP) -> int:
    """Memory the machine could give now, or the container where that is less.

    macOS does not count free pages; there it is half of what the machine has.
    """
    page_size = os.sysconf("SC_PAGE_SIZE")
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * page_size
    except (ValueError, OSError):
        free = os.sysconf("SC_PHYS_PAGES") * page_size // 2
    left = _left_in_cgroup(cgroup)
    return free if left is None else min(free, left)


def _left_in_cgroup(cgroup: Path) -> int | None:
    """The limit of a control group less what it uses; None without a limit.

    What it caches of files is given back on demand, so it counts as free.
    """
    try:
        limit = int((cgroup / "memory.max").read_text())
        used = int((cgroup / "memory.current").read_text())
        lines = (cgroup / "memory.stat").read_text().splitlines()
        cached = dict(line.split(maxsplit=1) for line in lines)["inactive_file"]
        return max(0, limit - used + int(cached))
    except (OSError, ValueError, KeyError):  # No such file, or the limit is "max".
        return None
