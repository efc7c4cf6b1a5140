"""The interval that a share is likely to lie in, by how many trials it was counted."""

import math

from schemas.readable import percent

# Standard deviations on both sides of a normal distribution that hold 95 %.
DEVIATIONS = 1.96


def interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of `count` trials.

    >>> low, high = interval(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    squared = DEVIATIONS**2
    middle = (share + squared / (2 * count)) / (1 + squared / count)
    spread = share * (1 - share) / count + squared / (4 * count * count)
    half = DEVIATIONS * math.sqrt(spread) / (1 + squared / count)
    # Rounding may lead out of the range of a share.
    return max(0.0, middle - half), min(1.0, middle + half)


def with_interval(share: float, count: int) -> str:
    """A share as a person reads it.

    >>> with_interval(0.5, 100)
    '50.0% (40.4 to 59.6%)'
    """
    low, high = map(percent, interval(share, count))
    return f"{percent(share)} ({low.removesuffix('%')} to {high})"
