"""How fast this machine multiplies matrices, and whether bfloat16 pays on it."""

import time
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from schemas.config import Precision

# The narrowest product timed, [4W, W] x [W, W]: about that of a layer on a CPU.
WIDTH, MAX_WIDTH = 1024, 8192

# A product is made wider until it takes so long that calling it does not count.
LEAST_SECONDS = 0.001

# How long products are repeated; the shortest counts.
REPEAT_SECONDS, LEAST_REPEATS = 0.3, 2


def matrix_rate(precision: Precision) -> float:
    """The operations a second of matrix products on one device, in FLOP/s.

    Random numbers, because hardware is faster on numbers that are all the same.
    """
    width = WIDTH
    while True:
        rows = keras.random.normal((4 * width, width), dtype=precision, seed=1)
        kernel = keras.random.normal((width, width), dtype=precision, seed=2)
        _product_seconds(rows, kernel)  # compiles
        seconds = _product_seconds(rows, kernel)
        if seconds >= LEAST_SECONDS or width == MAX_WIDTH:
            break
        width *= 2
    repeats, start = 1, time.perf_counter()
    while repeats < LEAST_REPEATS or time.perf_counter() - start < REPEAT_SECONDS:
        seconds = min(seconds, _product_seconds(rows, kernel))
        repeats += 1
    return 2 * 4 * width**3 / seconds


def _product_seconds(rows: Any, kernel: Any) -> float:
    start = time.perf_counter()
    float(ops.cast(ops.matmul(rows, kernel)[0, 0], "float32"))  # waits for the result
    return time.perf_counter() - start


def rate_for_training(precision: Precision, say: Callable[[str], None]) -> float:
    """The matrix rate in the precision of a run; says if float32 has a higher one."""
    rate = matrix_rate(precision)
    if precision == "bfloat16":
        warning = bfloat16_warning(rate / matrix_rate("float32"))
        if warning:
            say(warning)
    return rate


def bfloat16_warning(speed_up: float) -> str | None:
    """What to say when it does not pay.

    >>> bfloat16_warning(0.25)  # doctest: +ELLIPSIS
    'bfloat16 makes matrix products 4.0 times slower on this machine, ...'
    >>> bfloat16_warning(1.9)
    """
    if speed_up >= 1.0:
        return None
    return (
        f"bfloat16 makes matrix products {1 / speed_up:.1f} times slower on this "
        "machine, which has no instructions for it; --precision float32 is faster here."
    )
