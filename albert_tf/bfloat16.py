"""Whether bfloat16 pays on this machine, measured before a run that asked for it."""

import time
from collections.abc import Callable

import tensorflow as tf

# Rows, columns and depth of the product that is timed.
SIZE = 1024


def bfloat16_speed_up() -> float:
    """How many times as fast matrix products are in bfloat16 as in float32."""
    return _product_seconds(tf.float32) / _product_seconds(tf.bfloat16)


def _product_seconds(dtype: tf.DType) -> float:
    """The shortest of a few products."""
    matrix = tf.ones((SIZE, SIZE), dtype)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        tf.matmul(matrix, matrix).numpy()
        times.append(time.perf_counter() - start)
    return min(times)


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


def warn_if_slow(say: Callable[[str], None]) -> None:
    """Measure, and say so when float32 is faster."""
    warning = bfloat16_warning(bfloat16_speed_up())
    if warning:
        say(warning)
