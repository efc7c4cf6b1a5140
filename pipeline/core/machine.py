"""The machine that a process runs on: its cores, its memory, its parent, its children."""

import contextlib
import ctypes
import functools
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from schemas.errors import AlbertError
from schemas.readable import prefixed


def usable_cores() -> int:
    """How many there are: of 64, a job of a batch system may have been given 4."""
    # Only some systems tell what a process may use.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


# Of prctl: the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Have the system end this process with its parent; now if that has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def start_processes(count: int, begin: Callable[..., object], *given: Any) -> ProcessPoolExecutor:
    """Fresh processes, which end with this one; `begin(*given)` is called in each.

    Ctrl-C, which a terminal sends to all of them, is for this one.
    """
    # Python would import modules from the current folder, before the first of ours.
    before = os.environ.get("PYTHONSAFEPATH", "")
    os.environ["PYTHONSAFEPATH"] = "1"
    pool = ProcessPoolExecutor(
        count,
        multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(os.getpid(), begin, given),
    )
    try:
        for _ in range(count):  # a process is started for each that none is idle for
            pool.submit(int)
    finally:
        # Set to nothing it is not there.
        os.environ["PYTHONSAFEPATH"] = before
    return pool


def _begin(parent: int, begin: Callable[..., object], given: tuple[Any, ...]) -> None:
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    begin(*given)


def end_processes(pool: ProcessPoolExecutor) -> None:
    """End them at once, whatever they do: the pool would wait for all it was given."""
    for process in list((pool._processes or {}).values()):
        process.kill()
        process.join()
    # Else the pool would wait for the rest of what one of them was just handing over.
    with contextlib.suppress(AttributeError, OSError):
        pool._result_queue._writer.close()  # type: ignore[attr-defined]
    # The thread of a pool may not have started.
    with contextlib.suppress(RuntimeError):
        pool.shutdown(cancel_futures=True)
