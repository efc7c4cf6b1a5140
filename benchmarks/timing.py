"""The seconds that some work takes."""

import time
from collections.abc import Callable
from typing import Any


def seconds(
    work: Callable[[], Any], *, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The time that some work takes, by a clock."""
    start = clock()
    work()
    return clock() - start
