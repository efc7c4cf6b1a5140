"""Adam with decoupled weight decay, as google-research/albert and BERT have it."""

import re
from typing import Any

from keras import ops

Tensor = Any

BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-6
WEIGHT_DECAY = 0.01

_EXCLUDED = re.compile("layer_norm|bias")


def is_excluded(path: str) -> bool:
    """Whether a variable is left out of weight decay and of LAMB's trust ratio.

    >>> is_excluded("albert/encoder/embeddings/layer_norm/gamma")
    True
    >>> is_excluded("albert/encoder/pooler/kernel")
    False
    """
    return _EXCLUDED.search(path) is not None


def adam_direction(
    weight: Tensor,
    gradient: Tensor,
    first_moment: Tensor,
    second_moment: Tensor,
    *,
    is_excluded: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The direction to step against, and the two moments after this step.

    There is no bias correction of the moments (`optimization.py`,
    `AdamWeightDecayOptimizer`), so that first steps of the excluded variables are
    0.1 / sqrt(0.001), about three times, as long as with it.
    """
    first_moment = BETA_1 * first_moment + (1 - BETA_1) * gradient
    second_moment = BETA_2 * second_moment + (1 - BETA_2) * gradient * gradient
    direction = first_moment / (ops.sqrt(second_moment) + EPSILON)
    if not is_excluded:
        direction = direction + WEIGHT_DECAY * weight
    return direction, first_moment, second_moment


def adamw_update(
    weight: Tensor,
    gradient: Tensor,
    first_moment: Tensor,
    second_moment: Tensor,
    *,
    learning_rate: Tensor,
    is_excluded: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """One step of AdamW: the new weight and the two new moments."""
    direction, first_moment, second_moment = adam_direction(
        weight, gradient, first_moment, second_moment, is_excluded=is_excluded
    )
    return weight - learning_rate * direction, first_moment, second_moment
