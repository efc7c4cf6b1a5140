"""The processor cores that this process may use."""

import os


def usable_cores() -> int:
    """How many there are: of 64, a job of a batch system may have been given 4."""
    # Only some systems tell what a process may use.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
