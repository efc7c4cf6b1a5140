"""LAMB as ALBERT was trained with (`lamb_optimizer.py`; You et al., 1904.00962).

`keras.optimizers.Lamb` is another algorithm: it corrects the bias of the moments,
decays weights outside the trust ratio, adapts biases and layer normalisation too, and
has another epsilon.
"""

from typing import Any

from keras import ops

from albert_tf.adamw import adam_direction

Tensor = Any


def lamb_update(
    weight: Tensor,
    gradient: Tensor,
    first_moment: Tensor,
    second_moment: Tensor,
    *,
    learning_rate: Tensor,
    is_excluded: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """One step of LAMB: the new weight and the two new moments.

    Adam's direction, weight decay included, is scaled to the norm of the weight, for
    each variable by itself.
    """
    direction, first_moment, second_moment = adam_direction(
        weight, gradient, first_moment, second_moment, is_excluded=is_excluded
    )
    ratio = 1.0 if is_excluded else trust_ratio(weight, direction)
    return weight - learning_rate * ratio * direction, first_moment, second_moment


def trust_ratio(weight: Tensor, direction: Tensor) -> Tensor:
    """Norm of the weight over norm of the direction; 1 where either is 0."""
    weight_norm, direction_norm = ops.norm(weight), ops.norm(direction)
    are_positive = ops.logical_and(weight_norm > 0, direction_norm > 0)
    divisor = ops.where(are_positive, direction_norm, 1.0)
    return ops.where(are_positive, weight_norm / divisor, 1.0)
