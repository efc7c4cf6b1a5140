"""The machine that a process runs on: its cores and its memory."""

import contextlib
import ctypes
import functools
import os
import resource
import sys
from pathlib import Path

from schemas.errors import AlbertError
from schemas.readable import prefixed

# The time of processors that a container may use, and of how long that is.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """How many there are: of 64, a job of a batch system or a container may have been given 4."""
    # Only some systems tell what a process may use.
    is_told = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if is_told else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # Without a quota it is "max".
        quota, period = map(int, _QUOTA.read_text().split())
        cores = min(cores, max(1, quota // period))
    return cores


# The arrays of a batch are megabytes each. The C library gives such blocks back to the
# system at once, and the system has to clear them again for the next batch, which takes
# a tenth of all time. Peak memory stays the same if it keeps them.

# Parameters of glibc's mallopt: how much free memory is kept at the end of the heap,
# and from which size on a block is a mapping of its own (at most 32 MB).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_TRIM_BYTES = 64 << 20
_MMAP_BYTES = 32 << 20


@functools.cache
def keep_freed_memory() -> None:
    """Ask the C library to keep what is freed, where it can be asked."""
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # absent in musl
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)


def check_address_space(least_bytes: int) -> None:
    """Refuse to work under a limit of memory at which native libraries would abort."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < least_bytes:
        raise AlbertError(
            f"A limit of {prefixed(limit, 'B')} is set for the memory of a process "
            f"(ulimit -v), and this takes {prefixed(least_bytes, 'B')} or more."
        )
