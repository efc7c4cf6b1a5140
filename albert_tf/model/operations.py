"""What is computed around matrix products: GELU, normalisation, attention, loss.

Written in `keras.ops`, differentiated by the backend. `tensorflow_operations` and
`jax_operations` have the same functions with gradients of their own, for which less is kept
and goes through memory.
"""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

Tensor = Any

# Of the argument of tanh in GELU.
SLOPE, CUBE = math.sqrt(2 / math.pi), 0.044715


def recomputed(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """The value of a function that is computed again for its gradients.

    Gradient checkpointing (Chen et al. 2016, 1604.06174): only the inputs are kept.

    Args:
        function: Of tensors; anything else that it uses gets no gradients. It must
            give the same value each time, so its draws may not depend on earlier ones.
    """
    return keras.remat(function)(*map(ops.convert_to_tensor, inputs))


def exact_gradient(weight: Tensor, cast: Tensor) -> Tensor:
    """The cast of a weight, whose gradient is converted before others are added."""
    return ops.cast(weight, cast.dtype)


def repeat(layer: Callable[[Any, Tensor], Tensor], rows: Tensor, numbers: range) -> Tensor:
    """`layer(number, rows)` of its own result again and again."""
    for number in numbers:
        rows = layer(number, rows)
    return rows


def gelu(x: Tensor) -> Tensor:
    """GELU in its tanh approximation, computed in float32."""
    wide = ops.cast(x, "float32")
    # Without the slow `pow` of `tf.nn.gelu`.
    inner = SLOPE * wide * (1.0 + CUBE * (wide * wide))
    return ops.cast(0.5 * wide * (1.0 + ops.tanh(inner)), x.dtype)


def linear(rows: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    """Rows `[N, I]` times a kernel `[I, O]`, plus a bias `[O]`."""
    return ops.matmul(rows, kernel) + bias


def project_activated(
    x: Tensor, kernel: Tensor, bias: Tensor, *, activate: Callable[[Tensor], Tensor]
) -> Tensor:
    """`linear` of the activation of rows."""
    return linear(activate(x), kernel, bias)


def normalize(x: Tensor, gamma: Tensor, beta: Tensor, *, epsilon: float) -> Tensor:
    """Layer normalisation of rows `[N, C]`, computed in float32."""
    wide = ops.cast(x, "float32")
    wide = wide - ops.mean(wide, axis=-1, keepdims=True)
    variance = ops.mean(wide * wide, axis=-1, keepdims=True)
    return ops.cast(wide * ops.rsqrt(variance + epsilon) * gamma + beta, x.dtype)


def attend(
    projected: Tensor, bias: Tensor, *, heads: int, drop: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Scaled dot-product attention, rows to rows.

    Args:
        projected: Query, key and value side by side, `[B*S, 3H]`.
        bias: What to add to the scores, `[B, 1, 1, S]`, float32.
        heads: A.
        drop: Dropout of the attention weights `[B, A, S, S]`.

    Returns:
        The context of each row, `[B*S, H]`.
    """
    # `ops.shape` also gives a length that is known only when it runs.
    length, width = ops.shape(bias)[-1], projected.shape[-1] // 3
    split = ops.reshape(projected, (-1, length, 3, heads, width // heads))
    query, key, value = ops.unstack(ops.transpose(split, (2, 0, 3, 1, 4)), 3)
    query = query * (width // heads) ** -0.5
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))  # [B, A, S, S]
    # In float32 whatever the precision: bfloat16 has 8 bits for a sum over S.
    weights = ops.softmax(ops.cast(scores, "float32") + bias)
    weights = ops.cast(weights, projected.dtype)
    if drop is not None:
        weights = drop(weights)
    context = ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3))
    return ops.reshape(context, (-1, width))


def lowered(logits: Tensor, offsets: Tensor, labels: Tensor) -> Tensor:
    """Logits `[N, C]`, to all of which but those of the labels `[N]` offsets `[C]` are added."""
    places = ops.arange(logits.shape[-1], dtype=labels.dtype)
    is_label = ops.equal(places, labels[:, None])
    return ops.where(is_label, logits, logits + ops.cast(offsets, logits.dtype))


def cross_entropy(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Losses in nats and hits, both `[N]` in float32, of `logits` `[N, C]`.

    A hit is a label with the highest logit, the first of several.
    """
    logits = ops.cast(logits, "float32")
    losses = keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    best = ops.cast(ops.argmax(logits, axis=-1), labels.dtype)
    return losses, ops.cast(ops.equal(best, labels), "float32")
