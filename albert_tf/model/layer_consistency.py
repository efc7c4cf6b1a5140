"""An auxiliary loss for neighbouring layers that agree; ALBERT's paper has none.

A write-up of ALBERT describes such a loss. The paper does not: its section 3.1 only
observes that sharing makes the steps from one layer to the next smoother, and
google-research/albert trains on the masked-LM and sentence-order losses alone. So its
weight, `layer_consistency_weight`, is 0 by default.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from keras import ops

Tensor = Any


def layer_consistency_sum(layers: Sequence[Tensor], input_mask: Tensor) -> Tensor:
    """Minus log sigmoid of the cosine similarity of each token in adjacent layers.

    Summed over the tokens, averaged over the pairs of adjacent layers. A token adds
    between 0.313, where all layers have the same direction, and 1.313.

    Args:
        layers: The rows `[N, H]` of every layer, at least two, the first layer first.
        input_mask: `[N]` or `[B, S]`, 1 at tokens, 0 at padding, which is left out.

    Returns:
        A scalar, float32 whatever the precision.
    """
    weights = ops.cast(ops.reshape(input_mask, (-1,)), "float32")  # [B*S]
    directions = [_direction(ops.cast(rows, "float32")) for rows in layers]
    losses = [
        ops.softplus(-ops.sum(lower * upper, axis=-1))  # [B*S]
        for lower, upper in itertools.pairwise(directions)
    ]
    return ops.sum(weights * sum(losses)) / len(losses)


def _direction(rows: Tensor) -> Tensor:
    """`rows` `[N, H]` scaled to length 1; a row of zeros stays zero."""
    squares = ops.sum(rows * rows, axis=-1, keepdims=True)
    return rows * ops.rsqrt(ops.maximum(squares, 1e-30))
