"""Dropout whose masks depend on a key alone, so that a resumed run repeats them."""

from typing import Any

import keras
from keras import ops

Tensor = Any

# Between the first seed of a layer and that of the next.
MAX_SEEDS_OF_A_LAYER = 16


class DropoutSeeds(keras.random.SeedGenerator):
    """The seeds of one forward pass: a key, numbered in the order of drawing.

    Keras' own generator has a variable that every call changes. Here no state needs
    to be saved: the key comes from (seed, step, micro-batch), which a checkpoint knows
    anyway, and a layer that is computed again draws the same masks.

    Args:
        key: Two integers, a tensor of the backend's seed dtype.
    """

    def __init__(self, key: Tensor) -> None:
        self._key = key
        self._num_drawn = 0

    def next(self, ordered: bool = True) -> Tensor:
        """The next seed, different from all earlier ones."""
        self._num_drawn += 1
        return self._numbered(self._num_drawn)

    def of_layer(self, layer: int | Tensor) -> "DropoutSeeds":
        """The seeds of one layer, the same at each call."""
        return DropoutSeeds(self._numbered((layer + 1) * MAX_SEEDS_OF_A_LAYER))

    def _numbered(self, number: int | Tensor) -> Tensor:
        return self._key + ops.cast([0, number], self._key.dtype)


def dropout(x: Tensor, rate: float, seeds: DropoutSeeds | None) -> Tensor:
    """Drop elements of `x` and scale the rest; the identity without seeds."""
    if seeds is None or rate == 0.0:
        return x
    return keras.random.dropout(x, rate, seed=seeds)
