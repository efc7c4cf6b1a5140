"""Rows for tokens alone: padding is computed only where each place needs a row.

Everything in an encoder but attention is computed for one token at a time, so padding
needs no rows there (Zeng et al. 2022, "Boosting distributed training performance of the
unpadded BERT model", 2208.08124). No token attends to padding and no loss is of it, so
losses and gradients are the same.

A sequence ends with a sentence, and some are short on purpose, so that a sixth of a
batch of 128 tokens is padding. Tokens and predictions are counted up to the next of a
few sizes, because each size is compiled.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
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
    """The unpadding of a batch; None where every place has a row."""
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


Batch = dict[str, Any]
Integers = npt.NDArray[np.int32]

# A batch has one of these many sizes, of which a few occur, and one of these numbers of
# predictions. Both lie so far from the next or farther, for what it costs to compile.
MAX_SIZES, MAX_PREDICTION_SIZES, LEAST_STEP = 32, 8, 64

# By how much of its places one sequence may be longer than the mean, so that nine batches of
# ten of them have a size that leaves padding out. Lengths deviate by a sixth of the places.
SPREAD = 0.25

# The features of predictions, and all whose last axis follows from the size.
OF_PREDICTIONS = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")
OF_SIZE = (*OF_PREDICTIONS, "row_places")


class Fill(NamedTuple):
    """The tokens, and the predictions with a weight, in the fullest of some batches."""

    tokens: int
    predictions: int


def fill_of(batch: Batch) -> Fill:
    """The fill of N batches `[N, B, ...]`."""
    counts = (
        np.count_nonzero(values.reshape(len(values), -1), axis=1)
        for values in (batch["input_mask"], batch["masked_lm_weights"])
    )
    return Fill(*(int(count.max()) for count in counts))


# The sizes of batches, the smallest first, by the length of a sequence and the predictions
# that it has room for. A size says how many tokens and predictions a batch has room for.
Sizes = Mapping[tuple[int, int], Sequence[Fill]]


def unpadded(batch: Batch, fill: Fill | None = None, *, sizes: Sizes | None = None) -> Batch:
    """N batches of the same size, all without padding.

    What a model computes of them is the same but for rounding, and for which elements
    dropout drops.

    Args:
        batch: Arrays `[N, B, ...]` as `pretrainer.BATCH_FEATURES`.
        fill: Of more batches, which are to have the same size; of these if there are
            none.
        sizes: Those there are; any of the many where there are none.

    Returns:
        The same with predictions `[N, 1, Q]`, whose positions are places in `[B*S]`,
        and with `row_places` `[N, T]` and `place_rows` `[N, B*S]`, as `Unpadding`
        has them.
    """
    fill = fill or fill_of(batch)
    masks = batch["input_mask"].reshape(len(batch["input_mask"]), -1)
    places = masks.shape[1]
    _, rows, most = batch["masked_lm_weights"].shape
    for size in (sizes or {}).get((places // rows, most), ()):
        if min(fill.tokens + 1, places) <= size.tokens and fill.predictions <= size.predictions:
            break
    else:
        step = max(LEAST_STEP, -(-rows * most // MAX_PREDICTION_SIZES))
        predictions = min(rows * most, step * max(1, -(-fill.predictions // step)))
        size = Fill(size_of(fill.tokens, places=places), predictions)
    pairs = [rows_of(mask, size=size.tokens) for mask in masks]
    row_places, place_rows = map(np.stack, zip(*pairs, strict=True))
    return {
        **batch,
        **flat_predictions(batch, kept=size.predictions),
        "row_places": row_places,
        "place_rows": place_rows,
    }


def few_sizes(
    *, rows: int, length: int, predictions: int, mean: float, shares: Sequence[float]
) -> tuple[Fill, ...]:
    """Sizes of batches, of which most fit the smaller ones and any fits the last.

    Args:
        rows: B, sequences in a batch, each with `length` places and room for
            `predictions`.
        mean: Tokens in an average sequence.
        shares: Of the tokens that are predicted.

    >>> for size in few_sizes(rows=32, length=128, predictions=51, mean=104.0, shares=(0.4, 0.15)):
    ...     print(*size)
    3584 576
    3584 1472
    4096 1632
    """
    whole = Fill(rows * length, rows * predictions)
    tokens = size_of(round(rows * mean + SPREAD * math.sqrt(rows) * length), places=whole.tokens)
    step = max(LEAST_STEP, -(-whole.predictions // MAX_SIZES))
    found = {
        Fill(tokens, min(whole.predictions, step * math.ceil(share * tokens / step)))
        for share in shares
    }
    return tuple(sorted(found | {whole}))


def batches_of_each_size(sizes: Sizes, *, number: int, rows: int) -> list[Batch]:
    """N batches `[N, B, ...]` of padding, for each of some sizes."""
    found = []
    for (length, predictions), own in sizes.items():
        ids, masked = (np.zeros((number, rows, n), np.int32) for n in (length, predictions))
        batch = {
            **dict.fromkeys(("input_ids", "input_mask", "segment_ids"), ids),
            **dict.fromkeys(OF_PREDICTIONS, masked),
            "masked_lm_weights": masked.astype(np.float32),
            "sentence_order_labels": ids[..., 0],
        }
        # A row is left for padding where there is any.
        found += [
            unpadded(batch, size._replace(tokens=size.tokens - 1), sizes=sizes) for size in own
        ]
    return found


def size_of(tokens: int, *, places: int) -> int:
    """The rows of a batch of some tokens: one is left for padding, if there is any.

    >>> [size_of(tokens, places=4096) for tokens in (0, 3327, 3328, 4096)]
    [128, 3328, 3456, 4096]
    """
    step = max(LEAST_STEP, -(-places // MAX_SIZES))
    return min(places, step * (tokens // step + 1))


def rows_of(mask: Integers, *, size: int) -> tuple[Integers, Integers]:
    """`row_places` `[T]` and `place_rows` `[B*S]` of one batch.

    Args:
        mask: 1 at tokens, `[B*S]`.
        size: T, more than there are tokens unless all places hold one.

    >>> row_places, place_rows = rows_of(np.array([1, 1, 0, 1, 0, 0]), size=5)
    >>> row_places.tolist(), place_rows.tolist()
    ([0, 1, 3, 2, 2], [0, 1, 4, 2, 4, 4])
    """
    places = np.flatnonzero(mask)
    row_places = np.full(size, mask.argmin(), np.int32)
    row_places[: len(places)] = places
    place_rows = np.full(len(mask), size - 1, np.int32)
    place_rows[places] = np.arange(len(places))
    return row_places, place_rows


def flat_predictions(batch: Batch, *, kept: int) -> Batch:
    """The predictions of each of N batches as those of one row.

    Args:
        batch: Arrays `[N, B, P]`, weights zero where there is no prediction.
        kept: Q, no fewer than the fullest batch has.

    Returns:
        Arrays `[N, 1, Q]`.
    """
    number, rows, width = batch["masked_lm_weights"].shape
    places = rows * width
    flat = {name: batch[name].reshape(number, places) for name in OF_PREDICTIONS}
    starts = np.arange(rows, dtype=np.int32) * batch["input_mask"].shape[-1]
    flat["masked_lm_positions"] = flat["masked_lm_positions"] + np.repeat(starts, width)
    is_empty = flat["masked_lm_weights"] == 0
    order = np.argsort(is_empty, axis=1, kind="stable")[:, :kept]
    return {
        name: np.take_along_axis(values, order, axis=1)[:, None] for name, values in flat.items()
    }
