"""What is computed around matrix products: GELU, normalisation, attention, loss.

Written in `keras.ops`, differentiated by the backend. TensorFlow goes through memory
for each elementary operation and keeps its result, so there `tensorflow_operations`
compiles the formulas or takes their place.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
from keras import ops

from schemas.config import Activation

Tensor = Any


def recomputed(function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """The value of a function that is computed again for its gradients.

    Gradient checkpointing (Chen et al. 2016, 1604.06174): only the inputs are kept.

    Args:
        function: Of tensors; anything else that it uses gets no gradients. It must
            give the same value each time, so its draws may not depend on earlier ones.
        inputs: The tensors.
    """
    tensors = [ops.convert_to_tensor(x) for x in inputs]
    if keras.backend.backend() == "tensorflow":
        return _recomputed_in_tensorflow(function, *tensors)
    return keras.remat(function)(*tensors)


def _recomputed_in_tensorflow(
    function: Callable[..., Tensor], *inputs: Tensor
) -> Tensor:
    """Not `tf.recompute_grad`, which in a graph watches all variables of a model."""
    import tensorflow as tf

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

    return differentiable(*inputs)


_fused: Any = None
if keras.backend.backend() == "tensorflow":
    from albert_tf.model import tensorflow_operations as _fused


class SharedWeights:
    """Weights that a pass uses several times.

    The gradients of all uses are added up in float32, whatever the precision of the
    computation.

    Args:
        weights: Given to each use in the precision of the computation.
        exact: Given to each use behind them, in float32.
        dtype: The precision.
    """

    def __init__(
        self, weights: Sequence[Tensor], *, exact: Sequence[Tensor] = (), dtype: str
    ) -> None:
        self._weights = weights
        # Once for all uses, also where these are the rounds of a loop.
        self._casts = [ops.cast(weight, dtype) for weight in self._weights]
        self._exact = tuple(exact)

    def copy(self) -> tuple[Tensor, ...]:
        """All of them for one use."""
        pairs = zip(self._weights, self._casts, strict=True)
        return (*(_exact_gradient(*pair) for pair in pairs), *self._exact)


def _exact_gradient(weight: Tensor, cast: Tensor) -> Tensor:
    """The cast, whose gradient is converted before it is added to those of others."""
    if _fused:
        return _fused.exact_gradient(weight, cast)
    return ops.cast(weight, cast.dtype)


def repeat(layer: Callable[[Any, Tensor], Tensor], rows: Tensor, times: int) -> Tensor:
    """`layer(number, rows)` of its own result again and again, from number 0."""
    if _fused and times > 1:
        return _fused.repeat(layer, rows, times)
    for number in range(times):
        rows = layer(number, rows)
    return rows


def project(rows: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    """Rows `[N, I]` times a kernel `[I, O]` plus a bias `[O]`."""
    return ops.matmul(rows, kernel) + bias


def _fusible(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A formula that TensorFlow compiles as a whole."""
    compiled = _fused.fused(function) if _fused else function

    @functools.wraps(function)
    def call(*arguments: Tensor, **settings: Any) -> Tensor:
        return (compiled if _fused else function)(*arguments, **settings)

    return call


@_fusible
def gelu(x: Tensor) -> Tensor:
    """GELU in its tanh approximation, computed in float32."""
    wide = ops.cast(x, "float32")
    # Without the slow `pow` of `tf.nn.gelu`.
    inner = math.sqrt(2 / math.pi) * wide * (1.0 + 0.044715 * (wide * wide))
    return ops.cast(0.5 * wide * (1.0 + ops.tanh(inner)), x.dtype)


def activate(x: Tensor, activation: Activation) -> Tensor:
    """GELU, or ReLU as some Chinese ALBERTs were trained with."""
    return ops.relu(x) if activation == "relu" else gelu(x)


def project_activated(
    x: Tensor, kernel: Tensor, bias: Tensor, *, activation: Activation
) -> Tensor:
    """The activation of rows `[N, I]`, times a kernel `[I, O]`, plus a bias `[O]`.

    On TensorFlow it is computed again for the gradient of the kernel, so that the
    largest tensor of a feed-forward layer is not kept twice.
    """

    def function(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
        return project(activate(x, activation), kernel, bias)

    if _fused:
        return recomputed(function, x, kernel, bias)
    return function(x, kernel, bias)


@_fusible
def normalize(x: Tensor, gamma: Tensor, beta: Tensor, *, epsilon: float) -> Tensor:
    """Layer normalisation of rows `[N, C]`, computed in float32."""
    wide = ops.cast(x, "float32")
    wide = wide - ops.mean(wide, axis=-1, keepdims=True)
    variance = ops.mean(wide * wide, axis=-1, keepdims=True)
    return ops.cast(wide * ops.rsqrt(variance + epsilon) * gamma + beta, x.dtype)


def attend(
    projected: Tensor,
    bias: Tensor,
    *,
    heads: int,
    drop: Callable[[Tensor], Tensor] | None = None,
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
    if _fused and drop is None:
        return _fused.attend(projected, bias, heads=heads)
    # `ops.shape` also gives a length that is known only when it runs.
    length, width = ops.shape(bias)[-1], projected.shape[-1] // 3
    split = ops.reshape(projected, (-1, length, 3, heads, width // heads))
    if drop is None and _attention_is_fused(projected.dtype):
        query, key, value = ops.unstack(split, 3, axis=2)  # [B, S, A, D]
        # The kernel takes masks with a row for each query only.
        shape = (ops.shape(bias)[0], 1, length, length)
        mask = ops.broadcast_to(bias >= 0, shape)
        context = ops.dot_product_attention(query, key, value, mask=mask)
        return ops.reshape(context, (-1, width))
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


def _attention_is_fused(dtype: Any) -> bool:
    """Whether Keras has a kernel for attention: for GPUs on JAX, in bfloat16."""
    if keras.backend.backend() != "jax" or str(dtype) != "bfloat16":
        return False
    import jax

    return bool(jax.default_backend() == "gpu")


def cross_entropy(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Losses in nats and hits, both `[N]` in float32, of `logits` `[N, C]`.

    A hit is a label with the highest logit, the first of several.
    """
    if _fused:
        losses, hits = _fused.cross_entropy(logits, labels)
        return losses, hits
    logits = ops.cast(logits, "float32")
    losses = keras.losses.sparse_categorical_crossentropy(
        labels, logits, from_logits=True
    )
    best = ops.cast(ops.argmax(logits, axis=-1), labels.dtype)
    return losses, ops.cast(ops.equal(best, labels), "float32")


@contextlib.contextmanager
def elementary() -> Iterator[None]:
    """Without the fused functions, for graphs that programs without XLA are to run."""
    global _fused
    fused, _fused = _fused, None
    try:
        yield
    finally:
        _fused = fused
