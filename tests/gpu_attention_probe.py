"""Attention as JAX computes it on a GPU, as far as a CPU can show it.

Run as a program by `test_backends.py`: writes the greatest difference of values and of
gradients from the formula on the CPU, and how often a step of two layers, lowered for
a GPU, calls cuDNN's attention.
"""

import dataclasses
import sys

import jax
import numpy as np
from jax._src.cudnn import fused_attention_stablehlo as cudnn

from albert_tf.evaluation.held_out import with_weights
from albert_tf.model import operations
from albert_tf.model.encoder import DropoutSeeds
from albert_tf.model.pretrainer import AlbertPretrainer, micro_batch_loss
from tests.batches import random_batch
from tests.huggingface_albert import SMALL

CONFIG = dataclasses.replace(
    SMALL, num_hidden_layers=2, hidden_size=128, max_position_embeddings=128
)


def value_and_gradient():
    rng = np.random.default_rng(0)
    projected = rng.normal(size=(24, 48)).astype("float32")
    mask = np.arange(12) < [[12], [7]]
    bias = np.where(mask, 0.0, -10000.0).astype("float32")[:, None, None, :]
    uneven = np.linspace(-1, 2, 24 * 16).reshape(24, 16)

    def total(projected):
        context = operations.attend(projected, bias, heads=2)
        return (context * uneven).sum(), context

    return jax.grad(total, has_aux=True)(projected)


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


def main():
    cudnn.check_cudnn_version = lambda *_: 91000
    cudnn.check_compute_capability = lambda *_: True
    formula = value_and_gradient()
    operations._attention_is_fused = lambda dtype: True
    differences = [
        np.abs(ours - theirs).max()
        for ours, theirs in zip(value_and_gradient(), formula, strict=True)
    ]
    sys.stdout.write(f"{max(differences)} {kernel_calls()}\n")


if __name__ == "__main__":
    main()
