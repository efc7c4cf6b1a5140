"""How fast this machine multiplies matrices, and whether bfloat16 pays on it."""

import time
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from schemas.config import Precision

# The least width W of the products that are timed: about that of a layer on a CPU.
WIDTH, MAX_WIDTH = 1024, 8192

# The products, as multiples of W: those of attention and of both halves of an FFN. The
# fastest counts, so that no training of such layers is faster.
SHAPES = ((1, 1), (1, 4), (4, 1))

# The width is doubled until a product takes so long that the call itself is negligible.
MIN_SECONDS = 0.001

# How long each product is repeated; the shortest time counts.
REPEAT_SECONDS, MIN_REPEATS = 0.3, 3


def matrix_rate(precision: Precision) -> float:
    """The rate of matrix products on one device, in FLOP/s.

    This is an upper bound for training. Random numbers, because hardware is faster on
    numbers that are all the same.
    """
    width = WIDTH
    while width < MAX_WIDTH and _seconds(width, (1, 1), precision) < MIN_SECONDS:
        width *= 2
    return max(
        2
        * 4
        * width**3
        * inputs
        * outputs
        / _seconds(width, (inputs, outputs), precision)
        for inputs, outputs in SHAPES
    )


def _seconds(width: int, shape: tuple[int, int], precision: Precision) -> float:
    """The least seconds of a product `[4W, iW] x [iW, oW]`."""
    inputs, outputs = (factor * width for factor in shape)
    rows = keras.random.normal((4 * width, inputs), dtype=precision, seed=1)
    kernel = keras.random.normal((inputs, outputs), dtype=precision, seed=2)
    _product_seconds(rows, kernel)  # compiles
    seconds: list[float] = []
    while len(seconds) < MIN_REPEATS or sum(seconds) < REPEAT_SECONDS:
        seconds.append(_product_seconds(rows, kernel))
    return min(seconds)


def _product_seconds(rows: Any, kernel: Any) -> float:
    start = time.perf_counter()
    float(ops.cast(ops.matmul(rows, kernel)[0, 0], "float32"))  # waits for the result
    return time.perf_counter() - start


def rate_for_training(precision: Precision, say: Callable[[str], None]) -> float:
    """The matrix rate in the precision of a run; says so if float32 is faster."""
    rate = matrix_rate(precision)
    if precision == "bfloat16":
        warning = bfloat16_warning(rate / matrix_rate("float32"))
        if warning:
            say(warning)
    return rate


def bfloat16_warning(speed_up: float) -> str | None:
    """What to say where bfloat16 is slower than float32; None where it is not.

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
