"""Memory that a process frees stays with it, for the next batch.

The NumPy arrays of a batch are megabytes each. The C library gives such blocks back to
the system at once, and the system has to clear them again for the next batch, which
takes a tenth of all time. Peak memory stays the same.
"""

import ctypes
import functools
import sys

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
