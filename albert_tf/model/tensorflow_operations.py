"""The functions of `operations` on TensorFlow: compiled in parts, with little kept.

Elementwise parts are compiled by XLA, which fuses them; matrix products and the softmax
stay with the kernels of oneDNN, which are faster than XLA's on a CPU. Gradients keep
only what goes in or comes out anyway; the largest tensors of a layer, GELU and (unless
they are few) the attention weights, are computed again.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from keras import ops

from albert_tf.model import operations

Tensor = Any

# Attention weights of a layer, up to which they are kept: 8 MiB in bfloat16.
MOST_KEPT = 1 << 22


def _compiled(function: Callable[..., Any]) -> Any:
    return tf.function(function, jit_compile=True, autograph=False)


def _float32(x: Tensor) -> Tensor:
    return tf.cast(x, tf.float32)


def recomputed(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """See `operations.recomputed`.

    Not `tf.recompute_grad`, which in a graph watches all variables of a model.
    """

    @tf.custom_gradient
    def differentiable(*inputs: Tensor) -> Any:
        def gradient(doutput: Tensor) -> Any:
            # A graph runs whatever it can; without this every part would be computed
            # again at once, not when its gradient arrives.
            with tf.control_dependencies([doutput]), tf.GradientTape() as tape:
                again = [tf.identity(x) for x in inputs]
                tape.watch(again)
                output = function(*again)
            return tape.gradient(output, again, output_gradients=doutput)

        return function(*inputs), gradient

    return differentiable(*map(tf.convert_to_tensor, inputs))


@tf.custom_gradient
def exact_gradient(weight: Tensor, cast: Tensor) -> Any:
    """See `operations.exact_gradient`."""
    return tf.identity(cast), lambda dcast: (_float32(dcast), None)


def repeat(layer: Callable[[Any, Tensor], Tensor], rows: Tensor, numbers: range) -> Tensor:
    """See `operations.repeat`: a loop in the graph, which has the layer once."""
    if len(numbers) == 1:
        return layer(numbers[0], rows)
    shape = rows.shape

    def once_more(number: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        return number + 1, tf.ensure_shape(layer(number, rows), shape)

    _, rows = tf.while_loop(
        lambda number, _: number < numbers.stop,
        once_more,
        (tf.constant(numbers.start), rows),
        maximum_iterations=len(numbers),
        parallel_iterations=1,
    )
    return rows


def fused(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function with its value and its gradients each compiled by XLA.

    Only the arguments are kept for the gradients, which compute the function again.
    """
    value = _compiled(function)

    @_compiled
    def gradients(arguments: Any, dvalue: Tensor, settings: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            result = function(*arguments, **settings)
        return tape.gradient(result, arguments, output_gradients=dvalue)

    def call(*arguments: Any, **settings: Any) -> Tensor:
        @tf.custom_gradient
        def differentiable(*arguments: Tensor) -> Any:
            def gradient(dvalue: Tensor) -> Any:
                return gradients(arguments, dvalue, settings)

            return value(*arguments, **settings), gradient

        return differentiable(*map(tf.convert_to_tensor, arguments))

    return call


def linear(rows: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    """See `operations.linear`.

    TensorFlow's own sums take several times as long in bfloat16: of rows and the bias, also
    within a product, and over rows, for which the gradient of the bias is a product with ones.
    """

    @tf.custom_gradient
    def with_bias(products: Tensor, bias: Tensor) -> Any:
        def gradient(dvalue: Tensor) -> Any:
            ones = tf.ones((1, tf.shape(dvalue)[0]), dvalue.dtype)
            return dvalue, tf.matmul(ones, dvalue)[0]

        is_slow = products.dtype == tf.bfloat16
        return _sum(products, bias) if is_slow else products + bias, gradient

    return with_bias(ops.matmul(rows, kernel), bias)


@_compiled
def _sum(products: Tensor, bias: Tensor) -> Tensor:
    return products + bias


gelu = fused(operations.gelu)
normalize = fused(operations.normalize)


def project_activated(
    x: Tensor, kernel: Tensor, bias: Tensor, *, activate: Callable[[Tensor], Tensor]
) -> Tensor:
    """See `operations.project_activated`.

    Computed again for the gradient of the kernel, so that the largest tensor of a
    feed-forward layer is not kept twice.
    """
    return recomputed(lambda x, *weights: linear(activate(x), *weights), x, kernel, bias)


def attend(
    projected: Tensor, bias: Tensor, *, heads: int, drop: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """See `operations.attend`: many weights are computed again for the gradient."""
    if drop is not None:
        return operations.attend(projected, bias, heads=heads, drop=drop)
    rows, length, width = bias.shape[0], bias.shape[-1], projected.shape[-1] // 3
    depth = width // heads
    # Computing few of them again takes time and saves next to nothing.
    are_few = None not in (rows, length) and rows * heads * length**2 <= MOST_KEPT

    @tf.custom_gradient
    def differentiable(projected: Tensor) -> Any:
        split = tf.reshape(projected, (-1, length, 3, heads, depth))
        query, key, value = tf.unstack(tf.transpose(split, (2, 0, 3, 1, 4)))

        def attention_weights() -> Tensor:
            products = tf.matmul(query, key, transpose_b=True)  # [B, A, S, S]
            # The one multiplication and addition that join a product of matrices.
            return tf.nn.softmax(products * depth**-0.5 + tf.cast(bias, products.dtype))

        kept = attention_weights()
        context = kept @ value  # [B, A, S, D]

        def gradient(drows: Tensor) -> Tensor:
            weights = kept
            if not are_few:
                # Else TensorFlow would see the same product twice and keep the first.
                with tf.control_dependencies([drows]):
                    weights = attention_weights()
            dcontext = tf.reshape(drows, (-1, length, heads, depth))
            dcontext = tf.transpose(dcontext, (0, 2, 1, 3))
            dsplit = _split_gradients(dcontext, context, weights, (query, key, value))
            return tf.reshape(tf.transpose(dsplit, (1, 3, 0, 2, 4)), (-1, 3 * width))

        return tf.reshape(tf.transpose(context, (0, 2, 1, 3)), (-1, width)), gradient

    return differentiable(projected)


def _split_gradients(
    dcontext: Tensor, context: Tensor, weights: Tensor, projected: tuple[Tensor, Tensor, Tensor]
) -> Tensor:
    """The gradients of query, key and value, `[3, B, A, S, D]`.

    The gradient of the softmax of a row is P * (dP - the mean of dP, weighted by P).
    Where one weight is almost 1, its dP and the mean are almost equal, and in bfloat16
    their difference would be rounding alone. So a number near the mean is subtracted
    from all dP first: the sum of dO * O over the head (Dao et al. 2022, 2205.14135,
    appendix B), which is the mean but for the rounding of dP.
    """
    query, key, value = projected
    near = _row_products(dcontext, context)
    dvalue = tf.matmul(weights, dcontext, transpose_a=True)
    dweights = tf.matmul(dcontext, value, transpose_b=True)
    dproducts = _softmax_gradient(weights, dweights, near, scale=query.shape[-1] ** -0.5)
    dquery = dproducts @ key
    dkey = tf.matmul(dproducts, query, transpose_a=True)
    return tf.stack([dquery, dkey, dvalue])


@_compiled
def _row_products(first: Tensor, second: Tensor) -> Tensor:
    """The sums over the last axis of a product, kept as an axis, in float32."""
    return tf.reduce_sum(_float32(first) * _float32(second), axis=-1, keepdims=True)


@_compiled
def _softmax_gradient(weights: Tensor, dweights: Tensor, near: Tensor, *, scale: float) -> Tensor:
    wide, difference = _float32(weights), _float32(dweights) - near
    mean = tf.reduce_sum(wide * difference, axis=-1, keepdims=True)  # less a number near it
    return tf.cast(wide * (difference - mean) * scale, weights.dtype)


@tf.custom_gradient
def lowered(logits: Tensor, offsets: Tensor, labels: Tensor) -> Any:
    """See `operations.lowered`."""
    return _lowered(logits, offsets, labels), lambda dlogits: (dlogits, None, None)


_lowered = _compiled(operations.lowered)


@tf.custom_gradient
def cross_entropy(logits: Tensor, labels: Tensor) -> Any:
    """See `operations.cross_entropy`."""
    best = tf.argmax(logits, axis=-1, output_type=labels.dtype)
    # The logits `[N, 1]` of the likeliest class and of the label.
    largest, chosen = (
        _float32(tf.gather(logits, classes[:, None], batch_dims=1)) for classes in (best, labels)
    )
    total = _sum_of_exponentials(logits, largest)
    losses = tf.math.log(total) - (chosen - largest)

    def gradient(dlosses: Tensor, _: Tensor) -> Any:
        at_label = (tf.exp(chosen - largest) / total - 1.0) * dlosses[:, None]
        places = tf.stack([tf.range(tf.shape(labels)[0]), tf.cast(labels, tf.int32)], axis=1)
        # Put there afterwards: a comparison of each class with the label takes longer.
        dlogits = tf.tensor_scatter_nd_update(
            _scaled_softmax(logits, largest, total, dlosses),
            places,
            tf.cast(at_label[:, 0], logits.dtype),
        )
        return dlogits, None

    return (losses[:, 0], _float32(best == labels)), gradient


@_compiled
def _sum_of_exponentials(logits: Tensor, largest: Tensor) -> Tensor:
    return tf.reduce_sum(tf.exp(_float32(logits) - largest), axis=-1, keepdims=True)


@_compiled
def _scaled_softmax(logits: Tensor, largest: Tensor, total: Tensor, dlosses: Tensor) -> Tensor:
    softmax = tf.exp(_float32(logits) - largest) / total
    return tf.cast(softmax * dlosses[:, None], logits.dtype)
