"""Rows for tokens alone: padding is computed only where each place needs a row.

Everything in an encoder but attention is computed for one token at a time, so padding
needs no rows there (Zeng et al. 2022, "Boosting distributed training performance of the
unpadded BERT model", 2208.08124). No token attends to padding and no loss is of it, so
losses and gradients are the same.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from keras import ops

Tensor = Any


class Unpadding(NamedTuple):
    """Which places of a batch `[B, S]` have a row of their own.

    Attributes:
        places: The place in `[B*S]` of each row, `[T]`. Rows that are no token's have a
            place of padding.
        rows: The row of each place, `[B*S]`. Padding has a row that is no token's.
    """

    places: Tensor
    rows: Tensor

    def unpad(self, values: Tensor) -> Tensor:
        """The values `[T, C]` of the rows, from those of all places `[B*S, C]`."""
        return _taken(values, self.places, back=self.rows)

    def pad(self, values: Tensor) -> Tensor:
        """The values `[B*S, C]` of all places, from those of the rows `[T, C]`."""
        return _taken(values, self.rows, back=self.places)


def unpadding_of(batch: Mapping[str, Tensor]) -> Unpadding | None:
    """That of a batch, None where every place has a row."""
    if "row_places" not in batch:
        return None
    return Unpadding(batch["row_places"], batch["place_rows"])


def _taken(values: Tensor, places: Tensor, *, back: Tensor) -> Tensor:
    """The rows of `values` at some places, with the gradient taken likewise.

    Each token is at one place, and the gradient of what is no token's is zero, so there
    is nothing to add up.
    """

    @ops.custom_gradient
    def differentiable(values: Tensor) -> Any:
        def gradient(*given: Tensor, upstream: Tensor | None = None) -> Tensor:
            dtaken = given[0] if upstream is None else upstream
            return ops.take(dtaken, back, axis=0)

        return ops.take(values, places, axis=0), gradient

    return differentiable(values)
