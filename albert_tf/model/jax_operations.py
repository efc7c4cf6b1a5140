"""The functions of `operations` on JAX: with gradients of their own, for which little is kept.

XLA fuses elementwise parts by itself, but what it differentiates it keeps in float32, and the
largest tensors of a layer go through the memory of a GPU several times. Here only what goes
in is kept, in the precision of the computation, and the rest is computed again.
"""

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from albert_tf.model import operations
from albert_tf.model.operations import (
    CUBE,
    SLOPE,
    exact_gradient,
    linear,
    lowered,
    project_activated,
    recomputed,
    repeat,
)

__all__ = [
    "attend",
    "cross_entropy",
    "exact_gradient",
    "gelu",
    "linear",
    "lowered",
    "normalize",
    "project_activated",
    "recomputed",
    "repeat",
]

Tensor = Any

# Of attention: that of cuDNN.
KERNEL: Literal["cudnn", "xla"] = "cudnn"


def _float32(x: Tensor) -> Tensor:
    return x.astype(jnp.float32)


@jax.custom_vjp
def gelu(x: Tensor) -> Tensor:
    """See `operations.gelu`."""
    return operations.gelu(x)


def _gelu_gradient(x: Tensor, dvalue: Tensor) -> tuple[Tensor]:
    # The barrier: else XLA finds the tanh of the forward pass and keeps it, in float32.
    x, dvalue = jax.lax.optimization_barrier((x, dvalue))
    wide = _float32(x)
    tanh = jnp.tanh(SLOPE * wide * (1 + CUBE * (wide * wide)))
    inner = SLOPE * (1 + 3 * CUBE * (wide * wide))
    slope = 0.5 * (1 + tanh) + 0.5 * wide * (1 - tanh * tanh) * inner
    return ((_float32(dvalue) * slope).astype(x.dtype),)


gelu.defvjp(lambda x: (gelu(x), x), _gelu_gradient)


def normalize(x: Tensor, gamma: Tensor, beta: Tensor, *, epsilon: float) -> Tensor:
    """See `operations.normalize`."""
    return _normalized(x, jnp.asarray(gamma), jnp.asarray(beta), epsilon)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _normalized(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor:
    return _normalized_and_kept(x, gamma, beta, epsilon)[0]


def _normalized_and_kept(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> Any:
    wide = _float32(x)
    mean = jnp.mean(wide, axis=-1, keepdims=True)
    centred = wide - mean
    scale = jax.lax.rsqrt(jnp.mean(centred * centred, axis=-1, keepdims=True) + epsilon)
    return (centred * scale * gamma + beta).astype(x.dtype), (x, gamma, mean, scale)


def _normalized_gradient(epsilon: float, kept: Any, dvalue: Tensor) -> tuple[Tensor, ...]:
    x, gamma, mean, scale = kept
    x, dvalue, mean, scale = jax.lax.optimization_barrier((x, dvalue, mean, scale))
    dwide, unit = _float32(dvalue), (_float32(x) - mean) * scale
    dunit = dwide * gamma
    along = jnp.mean(dunit * unit, axis=-1, keepdims=True)
    dx = scale * (dunit - jnp.mean(dunit, axis=-1, keepdims=True) - unit * along)
    return dx.astype(x.dtype), jnp.sum(dwide * unit, axis=0), jnp.sum(dwide, axis=0)


_normalized.defvjp(_normalized_and_kept, _normalized_gradient)


def is_fused(dtype: Any, *, depth: int) -> bool:
    """Whether cuDNN has a kernel for attention without dropout, of heads of some depth."""
    is_suited = dtype == jnp.bfloat16 and depth % 8 == 0 and depth <= 128
    return bool(is_suited and has_tensor_cores_of_bfloat16())


def has_tensor_cores_of_bfloat16() -> bool:
    """Whether the first device is a GPU of NVIDIA's from Ampere on."""
    (device, *_) = jax.local_devices()
    # "9.0" of an H100; AMD's have no such number.
    major = str(getattr(device, "compute_capability", "")).partition(".")[0]
    return device.platform == "gpu" and major.isdigit() and int(major) >= 8


def attend(
    projected: Tensor, bias: Tensor, *, heads: int, drop: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """See `operations.attend`; on GPUs by the lengths of sequences, which padding ends."""
    length, width = bias.shape[-1], projected.shape[-1] // 3
    if drop is not None or not is_fused(projected.dtype, depth=width // heads):
        return operations.attend(projected, bias, heads=heads, drop=drop)
    split = projected.reshape(-1, length, 3, heads, width // heads)
    # A mask would be added to all scores. Rows that fill up a batch have no token.
    lengths = jnp.maximum(1, jnp.sum(bias[:, 0, 0] >= 0, axis=-1, dtype=jnp.int32))
    # cuDNN leaves rows of padding as the memory was, there and in gradients (openxla/xla 44867).
    is_token = (jnp.arange(length) < lengths[:, None])[..., None, None]
    split = jnp.where(is_token[:, :, None], split, 0)
    context = jax.nn.dot_product_attention(
        *(split[:, :, part] for part in range(3)),
        query_seq_lengths=lengths,
        key_value_seq_lengths=lengths,
        implementation=KERNEL,
    )
    return jnp.where(is_token, context, 0).reshape(-1, width)


def cross_entropy(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """See `operations.cross_entropy`."""
    best = jnp.argmax(logits, axis=-1).astype(labels.dtype)
    return _losses(logits, labels), _float32(best == labels)


@jax.custom_vjp
def _losses(logits: Tensor, labels: Tensor) -> Tensor:
    return _losses_and_kept(logits, labels)[0]


def _losses_and_kept(logits: Tensor, labels: Tensor) -> Any:
    total = jax.nn.logsumexp(_float32(logits), axis=-1)
    chosen = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    return total - _float32(chosen), (logits, labels, total)


def _losses_gradient(kept: Any, dlosses: Tensor) -> tuple[Tensor, Any]:
    logits, labels, total = kept
    softmax = jnp.exp(_float32(logits) - total[:, None])
    is_label = labels[:, None] == jnp.arange(logits.shape[1], dtype=labels.dtype)
    dlogits = (softmax - is_label) * dlosses[:, None]
    return dlogits.astype(logits.dtype), np.zeros(labels.shape, jax.dtypes.float0)


_losses.defvjp(_losses_and_kept, _losses_gradient)
