"""The functions of `operations` on TensorFlow: fused, with gradients by hand.

Elementwise parts are compiled by XLA, which fuses them; matrix products and the softmax
stay with the kernels of oneDNN, which are faster than XLA's on a CPU. Nothing is kept
for a gradient but what goes in or comes out anyway; GELU and the attention weights, the
largest tensors of a layer, are computed again.
"""

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

Tensor = Any

_SLOPE, _CUBE = math.sqrt(2 / math.pi), 0.044715


def _compiled(function: Callable[..., Any]) -> Any:
    return tf.function(function, jit_compile=True, autograph=False)


def _float32(x: Tensor) -> Tensor:
    return tf.cast(x, tf.float32)


def copies(weight: Tensor, cast: Tensor, uses: int) -> list[Tensor]:
    """See `operations.SharedWeights`.

    One cast serves all uses. On the way back, the last use first, each adds its
    gradient to those behind it, so that they never lie side by side in memory.
    """
    weight, result = tf.convert_to_tensor(weight), []
    for _ in range(uses - 1):
        copy, weight = _fork(weight, cast)
        result.append(copy)
    return [*result, _last(weight, cast)]


@tf.custom_gradient
def _fork(weight: Tensor, cast: Tensor) -> Any:
    def gradient(dcast: Tensor, dweight: Tensor) -> Any:
        return _add_up(dcast, dweight), None

    return (tf.identity(cast), tf.identity(weight)), gradient


@tf.custom_gradient
def _last(weight: Tensor, cast: Tensor) -> Any:
    return tf.identity(cast), lambda dcast: (_float32(dcast), None)


@_compiled
def _add_up(dcast: Tensor, dweight: Tensor) -> Tensor:
    return _float32(dcast) + dweight


def repeat(layer: Callable[[Any, Tensor], Tensor], rows: Tensor, times: int) -> Tensor:
    """See `operations.repeat`: a loop in the graph, which has the layer once."""
    shape = rows.shape

    def once_more(number: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        return number + 1, tf.ensure_shape(layer(number, rows), shape)

    _, rows = tf.while_loop(
        lambda number, _: number < times,
        once_more,
        (tf.constant(0), rows),
        maximum_iterations=times,
        parallel_iterations=1,
    )
    return rows


@tf.custom_gradient
def project(rows: Tensor, kernel: Tensor, bias: Tensor) -> Any:
    """See `operations.project`."""

    def gradient(dy: Tensor) -> Any:
        drows = tf.matmul(dy, kernel, transpose_b=True)
        dkernel = tf.matmul(rows, dy, transpose_a=True)
        return drows, dkernel, _sum_of_rows(dy)

    return tf.nn.bias_add(rows @ kernel, bias), gradient


def _sum_of_rows(dy: Tensor) -> Tensor:
    """As a product: faster than a sum over rows, and added up in float32."""
    return (tf.ones((1, tf.shape(dy)[0]), dy.dtype) @ dy)[0]


@tf.custom_gradient
def gelu(x: Tensor) -> Any:
    """See `operations.gelu`."""
    return _gelu(x), lambda dy: _gelu_and_gradient(x, dy)[1]


@tf.custom_gradient
def project_gelu(x: Tensor, kernel: Tensor, bias: Tensor) -> Any:
    """See `operations.project_gelu`.

    The way back computes GELU again together with its gradient, so that the largest
    tensor of a feed-forward layer is not kept twice.
    """

    def gradient(dy: Tensor) -> Any:
        rows, dx = _gelu_and_gradient(x, tf.matmul(dy, kernel, transpose_b=True))
        return dx, tf.matmul(rows, dy, transpose_a=True), _sum_of_rows(dy)

    return tf.nn.bias_add(_gelu(x) @ kernel, bias), gradient


@_compiled
def _gelu(x: Tensor) -> Tensor:
    wide = _float32(x)
    tanh = tf.tanh(_SLOPE * wide * (1.0 + _CUBE * (wide * wide)))
    return tf.cast(0.5 * wide * (1.0 + tanh), x.dtype)


@_compiled
def _gelu_and_gradient(x: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    wide = _float32(x)
    square = wide * wide
    tanh = tf.tanh(_SLOPE * wide * (1.0 + _CUBE * square))
    inner = _SLOPE * (1.0 + 3 * _CUBE * square)
    slope = 0.5 * (1.0 + tanh) + 0.5 * wide * (1.0 - tanh * tanh) * inner
    y = 0.5 * wide * (1.0 + tanh)
    return tf.cast(y, x.dtype), tf.cast(_float32(dy) * slope, x.dtype)


def normalize(x: Tensor, gamma: Tensor, beta: Tensor, *, epsilon: float) -> Tensor:
    """See `operations.normalize`."""

    @tf.custom_gradient
    def differentiable(x: Tensor, gamma: Tensor, beta: Tensor) -> Any:
        def gradient(dy: Tensor) -> Any:
            return _normalize_gradient(x, gamma, dy, epsilon)

        return _normalize(x, gamma, beta, epsilon), gradient

    return differentiable(x, *map(tf.convert_to_tensor, (gamma, beta)))


@_compiled
def _normalize(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor:
    unit, _ = _to_unit(x, epsilon)
    return tf.cast(unit * gamma + beta, x.dtype)


def _to_unit(x: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """Rows of mean 0 and variance 1, and what they were divided by, inverted."""
    wide = _float32(x)
    wide = wide - _row_mean(wide)
    scale = tf.math.rsqrt(_row_mean(wide * wide) + epsilon)
    return wide * scale, scale


def _row_mean(x: Tensor) -> Tensor:
    return tf.reduce_mean(x, axis=-1, keepdims=True)


@_compiled
def _normalize_gradient(x: Tensor, gamma: Tensor, dy: Tensor, epsilon: float) -> Any:
    unit, scale = _to_unit(x, epsilon)
    dy = _float32(dy)
    dunit = dy * gamma
    dx = dunit - _row_mean(dunit) - unit * _row_mean(dunit * unit)
    dgamma, dbeta = tf.reduce_sum(dy * unit, axis=0), tf.reduce_sum(dy, axis=0)
    return tf.cast(scale * dx, x.dtype), dgamma, dbeta


def attend(projected: Tensor, bias: Tensor, *, heads: int) -> Tensor:
    """See `operations.attend`.

    The gradient of the softmax needs the sum of dP * P over each row, which is that of
    dO * O over the head (Dao et al. 2022, 2205.14135, appendix B): S / D times smaller.
    """
    length, width = bias.shape[-1], projected.shape[-1] // 3
    depth = width // heads

    @tf.custom_gradient
    def differentiable(projected: Tensor) -> Any:
        split = tf.reshape(projected, (-1, length, 3, heads, depth))
        query, key, value = tf.unstack(tf.transpose(split, (2, 0, 3, 1, 4)))

        def attention_weights() -> Tensor:
            scores = tf.matmul(query, key, transpose_b=True)
            # The one multiplication and addition that join a product of matrices.
            return tf.nn.softmax(scores * depth**-0.5 + tf.cast(bias, scores.dtype))

        # [B, S, A, D]
        context = tf.transpose(attention_weights() @ value, (0, 2, 1, 3))

        def gradient(drows: Tensor) -> Tensor:
            # Otherwise TensorFlow would see the same product twice and keep the first.
            with tf.control_dependencies([drows]):
                weights = attention_weights()
            dcontext = tf.reshape(drows, (-1, length, heads, depth))
            sums = _row_products(dcontext, context)
            dcontext = tf.transpose(dcontext, (0, 2, 1, 3))
            dvalue = tf.matmul(weights, dcontext, transpose_a=True)
            dweights = tf.matmul(dcontext, value, transpose_b=True)
            dscores = _scores_gradient(weights, dweights, sums, depth**-0.5)
            dquery = dscores @ key
            dkey = tf.matmul(dscores, query, transpose_a=True)
            dsplit = tf.stack([dquery, dkey, dvalue])  # [3, B, A, S, D]
            return tf.reshape(tf.transpose(dsplit, (1, 3, 0, 2, 4)), (-1, 3 * width))

        return tf.reshape(context, (-1, width)), gradient

    return differentiable(projected)


@_compiled
def _row_products(dcontext: Tensor, context: Tensor) -> Tensor:
    """The sums over D of `[B, S, A, D]`, as `[B, A, S, 1]`."""
    sums = tf.reduce_sum(_float32(dcontext) * _float32(context), axis=-1)
    return tf.transpose(sums, (0, 2, 1))[..., None]


@_compiled
def _scores_gradient(
    weights: Tensor, dweights: Tensor, sums: Tensor, scale: float
) -> Tensor:
    dscores = _float32(weights) * (_float32(dweights) - sums) * scale
    return tf.cast(dscores, weights.dtype)


@tf.custom_gradient
def cross_entropy(logits: Tensor, labels: Tensor) -> Any:
    """See `operations.cross_entropy`."""
    best = tf.argmax(logits, axis=-1, output_type=labels.dtype)
    largest, chosen = (_float32(_pick(logits, classes)) for classes in (best, labels))
    total = _sum_of_exponentials(logits, largest)
    losses = tf.math.log(total) - (chosen - largest)

    def gradient(dlosses: Tensor, _: Tensor) -> Any:
        return _cross_entropy_gradient(logits, labels, largest, total, dlosses), None

    return (losses[:, 0], _float32(best == labels)), gradient


def _pick(logits: Tensor, classes: Tensor) -> Tensor:
    """The logit `[N, 1]` of a class `[N]` in each row."""
    return tf.gather(logits, classes[:, None], batch_dims=1)


@_compiled
def _sum_of_exponentials(logits: Tensor, largest: Tensor) -> Tensor:
    return tf.reduce_sum(tf.exp(_float32(logits) - largest), axis=-1, keepdims=True)


@_compiled
def _cross_entropy_gradient(
    logits: Tensor, labels: Tensor, largest: Tensor, total: Tensor, dlosses: Tensor
) -> Tensor:
    softmax = tf.exp(_float32(logits) - largest) / total
    is_label = tf.range(logits.shape[1], dtype=labels.dtype) == labels[:, None]
    return tf.cast((softmax - _float32(is_label)) * dlosses[:, None], logits.dtype)
