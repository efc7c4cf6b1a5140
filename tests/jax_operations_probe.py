"""The operations of JAX, attention as on a GPU as far as a CPU can show it.

Run as a program by `test_backends.py`: writes for each operation and precision the greatest
difference of values and gradients from the formula, as a share of their norm, and how often a
step of two layers, lowered for a GPU, calls cuDNN's attention. That leaves rows of padding as the
memory was, here without numbers.
"""

import dataclasses
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.cudnn import fused_attention_stablehlo as cudnn

from albert_tf.model import jax_operations, operations
from albert_tf.model.compiling import with_weights
from albert_tf.model.encoder import DropoutSeeds
from albert_tf.model.pretrainer import AlbertPretrainer, micro_batch_loss
from tests.batches import random_batch
from tests.huggingface_albert import SMALL

CONFIG = dataclasses.replace(
    SMALL, num_hidden_layers=2, hidden_size=128, max_position_embeddings=128
)


RNG = np.random.default_rng(0)
MASK = np.arange(12) < [[12], [7]]
BIAS = np.where(MASK, 0.0, -10000.0).astype("float32")[:, None, None, :]
LABELS = RNG.integers(0, 11, 24).astype("int32")
# What padding attends to is nobody's.
IS_TOKEN = MASK.reshape(-1, 1)


def normal(*shape):
    return RNG.normal(size=shape).astype("float32")


CASES = {
    "gelu": (lambda using, x: using.gelu(x), [4 * normal(20, 8)]),
    "normalize": (
        lambda using, *x: using.normalize(*x, epsilon=1e-12),
        [3 + normal(20, 8), normal(8), normal(8)],
    ),
    "attend": (lambda using, x: using.attend(x, BIAS, heads=2) * IS_TOKEN, [normal(24, 48)]),
    "cross_entropy": (lambda using, x: using.cross_entropy(x, LABELS)[0], [3 * normal(24, 11)]),
}


def value_and_gradients(function, using, arguments, dtype):
    first, *others = arguments

    def total(*arguments):
        value = function(using, *arguments).astype("float32")
        return (value * np.linspace(-1, 2, value.size).reshape(value.shape)).sum(), value

    places = tuple(range(len(arguments)))
    found = jax.grad(total, places, has_aux=True)(first.astype(dtype), *others)
    return [np.asarray(x, "float32") for x in jax.tree.leaves(found)]


def differences(dtype):
    """For each operation, the greatest difference as a share of the norm."""
    return {
        name: max(
            float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))
            for ours, theirs in zip(
                value_and_gradients(function, jax_operations, arguments, dtype),
                value_and_gradients(function, operations, arguments, "float32"),
                strict=True,
            )
        )
        for name, (function, arguments) in CASES.items()
    }


def kernel_calls():
    model = AlbertPretrainer(CONFIG, precision="bfloat16")
    batch = random_batch(CONFIG, rows=4, length=128)
    names = ("mlm_count", "sentence_count", "piece_count")
    counts = dict.fromkeys(names, np.float32(1))

    def loss(values):
        seeds = DropoutSeeds(np.zeros(2, np.uint32))
        with with_weights(model, values):
            return micro_batch_loss(model, batch, **counts, seeds=seeds)[0]

    values = {path: w.value for path, w in model.weights_by_path.items()}
    traced = jax.jit(jax.grad(loss)).trace(values)
    program = traced.lower(lowering_platforms=("cuda",)).as_text()
    return program.count("@__cudnn$fmha")


@jax.custom_vjp
def without_values(x, is_token):
    return jnp.where(is_token, x, jnp.nan)


without_values.defvjp(
    lambda x, is_token: (without_values(x, is_token), is_token),
    lambda is_token, gradient: (jnp.where(is_token, gradient, 0), None),
)


@jax.custom_vjp
def without_gradients(x, is_token):
    return x


without_gradients.defvjp(
    lambda x, is_token: (x, is_token),
    lambda is_token, gradient: (jnp.where(is_token, gradient, jnp.nan), None),
)


def unwritten(attention):
    def attend(*projected, query_seq_lengths, **how):
        places = jnp.arange(projected[0].shape[1])
        is_token = (places < query_seq_lengths[:, None])[..., None, None]
        given = [without_gradients(x, is_token) for x in projected]
        context = attention(*given, query_seq_lengths=query_seq_lengths, **how)
        return without_values(context, is_token)

    return attend


def main():
    cudnn.check_cudnn_version = lambda *_: 91000
    cudnn.check_compute_capability = lambda *_: True
    jax_operations.is_fused = lambda dtype, depth: True
    calls = kernel_calls()
    jax_operations.KERNEL = "xla"
    jax.nn.dot_product_attention = unwritten(jax.nn.dot_product_attention)
    found = {dtype: differences(dtype) for dtype in ("float32", "bfloat16")}
    sys.stdout.write(json.dumps([calls, found]) + "\n")


if __name__ == "__main__":
    main()
