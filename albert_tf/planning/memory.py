"""How many sequences fit into memory at a time, where no flag says."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from albert_tf.planning.cost import activation_bytes
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig

# On a CPU more tokens at a time make no matrix product faster, but delay signals.
MAX_TOKENS = 4096

# More tokens at a time keep no accelerator busier: a product of as many rows has dozens
# of tiles for each of its multiprocessors.
MAX_TOKENS_OF_ACCELERATOR = 1 << 16

# The share of the free memory that activations may take.
MEMORY_SHARE = 0.5

# Where Linux shows a container the limits it runs under.
CGROUP = Path("/sys/fs/cgroup")


class MemoryLimit(NamedTuple):
    """Memory that is free on all devices together, and the most tokens at a time."""

    free_bytes: int
    max_tokens: int = MAX_TOKENS


def memory_limit(devices: Sequence[Mapping[str, int] | None]) -> MemoryLimit:
    """The limit of devices that compute the same, or of the machine they share.

    Args:
        devices: The `bytes_limit` and `bytes_in_use` of each; None or empty for one
            without memory of its own, such as a CPU.

    >>> memory_limit([{"bytes_limit": 100 << 30, "bytes_in_use": 4 << 30}] * 2)
    MemoryLimit(free_bytes=206158430208, max_tokens=65536)
    """
    free = [
        max(0, memory["bytes_limit"] - memory["bytes_in_use"])
        for memory in devices
        if memory and "bytes_limit" in memory
    ]
    if len(free) < len(devices):
        return MemoryLimit(free_memory_bytes())
    return MemoryLimit(min(free) * len(free), MAX_TOKENS_OF_ACCELERATOR)


def derive_micro_batch_size(
    train: TrainConfig,
    config: ModelConfig,
    *,
    length: int,
    predictions: int,
    limit: MemoryLimit,
    devices: int = 1,
) -> int:
    """The fewest micro-batches whose activations fit, of equal size up to the last.

    Args:
        train: The batch, the precision, and whether layers are computed again.
        length: S, of a sequence with P predictions.
        limit: What it has to fit into.
        devices: How many micro-batches are computed at the same time.

    >>> train = TrainConfig(batch_size=32)
    >>> limit = MemoryLimit(free_bytes=16 << 30)
    >>> derive_micro_batch_size(
    ...     train, ModelConfig(), length=512, predictions=77, limit=limit
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
    fitting = int(limit.free_bytes * MEMORY_SHARE) // (per_sequence * devices)
    most = max(1, min(fitting, limit.max_tokens // length))
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

    Cached files are given back on demand, so they count as free.
    """
    try:
        limit = int((cgroup / "memory.max").read_text())
        used = int((cgroup / "memory.current").read_text())
        lines = (cgroup / "memory.stat").read_text().splitlines()
        cached = dict(line.split(maxsplit=1) for line in lines)["inactive_file"]
        return max(0, limit - used + int(cached))
    except (OSError, ValueError, KeyError):  # No such file, or the limit is "max".
        return None
