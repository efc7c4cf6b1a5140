"""LAMB and AdamW as google-research/albert and BERT have them, and one clipped update.

A further optimizer is one more function of a weight and its state, and one more line of
`OPTIMIZERS`.

`keras.optimizers.Lamb` is another algorithm (You et al., 1904.00962): it corrects the
bias of the moments, decays weights outside the trust ratio, adapts biases and layer
normalisation too, and has another epsilon.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from keras import ops

Tensor = Any
# The tensors that an optimizer keeps for one weight.
State = tuple[Tensor, ...]
Update = Callable[..., tuple[Tensor, State]]

BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-6
WEIGHT_DECAY = 0.01

# The global norm that gradients are clipped to (optimization.py).
MAX_GRADIENT_NORM = 1.0

_EXCLUDED = re.compile("layer_norm|bias")


def is_excluded(path: str) -> bool:
    """Whether a weight is left out of weight decay and of LAMB's trust ratio.

    >>> is_excluded("albert/encoder/embeddings/layer_norm/gamma")
    True
    >>> is_excluded("albert/encoder/pooler/kernel")
    False
    """
    return _EXCLUDED.search(path) is not None


def adam_direction(
    weight: Tensor, gradient: Tensor, moments: State, *, is_excluded: bool
) -> tuple[Tensor, State]:
    """The direction to step against, and the two moments after this step.

    The bias of the moments is not corrected (`optimization.py`,
    `AdamWeightDecayOptimizer`), so the first steps of the excluded weights are
    0.1 / sqrt(0.001), about three times, as long as with the correction.
    """
    first, second = moments
    first = BETA_1 * first + (1 - BETA_1) * gradient
    second = BETA_2 * second + (1 - BETA_2) * gradient * gradient
    direction = first / (ops.sqrt(second) + EPSILON)
    if not is_excluded:
        direction = direction + WEIGHT_DECAY * weight
    return direction, (first, second)


def adamw_update(
    weight: Tensor,
    gradient: Tensor,
    moments: State,
    *,
    learning_rate: Tensor,
    is_excluded: bool,
) -> tuple[Tensor, State]:
    """One step of Adam with decoupled weight decay: the next weight and moments."""
    direction, moments = adam_direction(
        weight, gradient, moments, is_excluded=is_excluded
    )
    return weight - learning_rate * direction, moments


def lamb_update(
    weight: Tensor,
    gradient: Tensor,
    moments: State,
    *,
    learning_rate: Tensor,
    is_excluded: bool,
) -> tuple[Tensor, State]:
    """One step of LAMB (`lamb_optimizer.py`): the next weight and moments.

    Adam's direction, weight decay included, is scaled to the norm of the weight, for
    each weight by itself.
    """
    direction, moments = adam_direction(
        weight, gradient, moments, is_excluded=is_excluded
    )
    ratio = 1.0 if is_excluded else trust_ratio(weight, direction)
    return weight - learning_rate * ratio * direction, moments


def trust_ratio(weight: Tensor, direction: Tensor) -> Tensor:
    """Norm of the weight over norm of the direction; 1 where either is 0."""
    weight_norm, direction_norm = ops.norm(weight), ops.norm(direction)
    are_positive = ops.logical_and(weight_norm > 0, direction_norm > 0)
    divisor = ops.where(are_positive, direction_norm, 1.0)
    return ops.where(are_positive, weight_norm / divisor, 1.0)


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """How a weight is updated.

    Attributes:
        update: Of one weight; see `lamb_update`.
        state: What the tensors are called that it keeps for each weight, of the
            weight's shape and 0 at first.
    """

    update: Update
    state: tuple[str, ...]

    def state_paths(self, path: str) -> list[str]:
        """The paths of the state of one weight.

        >>> OPTIMIZERS["lamb"].state_paths("pooler/kernel")
        ['pooler/kernel/m', 'pooler/kernel/v']
        """
        return [f"{path}/{name}" for name in self.state]

    def zeros(
        self, weights: Mapping[str, Any], zeros_like: Callable[[Any], Any]
    ) -> dict[str, Any]:
        """The state of all weights before the first step, by path.

        Args:
            weights: By path.
            zeros_like: Makes a variable of zeros in the shape of a weight.
        """
        return {
            state_path: zeros_like(weight)
            for path, weight in weights.items()
            for state_path in self.state_paths(path)
        }

    def step(
        self,
        weights: Mapping[str, Tensor],
        gradients: Mapping[str, Tensor],
        state: Mapping[str, Tensor],
        *,
        learning_rate: Tensor,
    ) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
        """Clip the gradients and update all weights once.

        Args:
            weights: By path.
            gradients: By path.
            state: By path, as from `zeros`.
            learning_rate: Of this step.

        Returns:
            The norm of all gradients before clipping, the next weights and their state.
        """
        norm = global_norm(gradients.values())
        scale = MAX_GRADIENT_NORM / ops.maximum(norm, MAX_GRADIENT_NORM)
        next_weights: dict[str, Tensor] = {}
        next_state: dict[str, Tensor] = {}
        for path, weight in weights.items():
            names = self.state_paths(path)
            next_weights[path], values = self.update(
                weight,
                gradients[path] * scale,
                tuple(state[name] for name in names),
                learning_rate=learning_rate,
                is_excluded=is_excluded(path),
            )
            next_state.update(zip(names, values, strict=True))
        return norm, next_weights, next_state


def global_norm(tensors: Iterable[Tensor]) -> Tensor:
    """The norm of all tensors, as if they were one vector."""
    return ops.sqrt(sum(ops.sum(tensor * tensor) for tensor in tensors))


# Two moments each, under the names they have in checkpoints.
OPTIMIZERS: dict[str, Optimizer] = {
    "lamb": Optimizer(lamb_update, ("m", "v")),
    "adamw": Optimizer(adamw_update, ("m", "v")),
}
