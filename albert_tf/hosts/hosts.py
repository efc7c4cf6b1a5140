"""Several hosts that train together: what they tell each other besides gradients."""

from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, Any]


class Hosts(Protocol):
    """The processes of one training; every call is made by all of them together.

    Attributes:
        number: H, how many there are.
        index: Which one this is; the first, 0, alone writes the run.
    """

    number: int
    index: int

    def gather(self, values: Array) -> Array:
        """The values `[n]` of all hosts, as float64 `[H, n]`, the same on each."""

    def share(self, content: bytes | None) -> bytes:
        """What the first host gives, on each; the others' is not looked at."""


class OneHost:
    """The `Hosts` of a process that trains alone."""

    number, index = 1, 0

    def gather(self, values: Array) -> Array:
        """See `Hosts.gather`."""
        return np.asarray(values, np.float64)[None]

    def share(self, content: bytes | None) -> bytes:
        """See `Hosts.share`."""
        assert content is not None, "the first host gives something"
        return content


ONE_HOST = OneHost()
