"""One loss, its gradients and one LAMB step, on whatever backend Keras has.

Run as a program by `test_backends.py`, once for each backend: writes an .npz file.
"""

import dataclasses
import sys

import keras
import numpy as np
from keras import ops

from albert_tf.model.encoder import DropoutSeeds
from albert_tf.model.pretrainer import AlbertPretrainer, step_loss, task_sums
from albert_tf.training.optimizers import Rule, optimizer_of, role_of
from schemas.config import TrainConfig
from tests.batches import random_batch
from tests.huggingface_albert import SMALL, lively_model


def loss_of(model, batch, seeds=None):
    sums = task_sums(model, batch, *model(batch, seeds=seeds))
    return step_loss(sums, mlm_count=sums.mlm_count, sentence_count=sums.sentence_count)


def tensorflow_gradients(model, batch):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        loss = loss_of(model, batch)
    weights = [weight.value for weight in model.trainable_variables]
    gradients = tape.gradient(loss, weights)
    return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]


def jax_gradients(model, batch):
    import jax

    weights = model.trainable_variables

    @jax.jit
    def loss(values):
        with keras.StatelessScope(list(zip(weights, values, strict=True))):
            return loss_of(model, batch)

    return jax.value_and_grad(loss)([weight.value for weight in weights])


def loss_with_dropout(batch):
    model = AlbertPretrainer(dataclasses.replace(SMALL, hidden_dropout_prob=0.5))
    seed_type = {"tensorflow": "int64", "jax": "uint32"}[keras.backend.backend()]
    return loss_of(model, batch, DropoutSeeds(ops.convert_to_tensor([1, 2], seed_type)))


def main(path):
    model = lively_model()
    batch = {n: ops.convert_to_tensor(v) for n, v in random_batch(SMALL).items()}
    compute = {"tensorflow": tensorflow_gradients, "jax": jax_gradients}
    loss, gradients = compute[keras.backend.backend()](model, batch)
    results = {"loss": np.asarray(loss)}
    for (name, weight), gradient in zip(
        model.weights_by_path.items(), gradients, strict=True
    ):
        results[f"gradient {name}"] = np.asarray(gradient)
        zero = ops.zeros(weight.shape)
        for bias_correction in (False, True):
            optimizer = optimizer_of(TrainConfig(bias_correction=bias_correction))
            updated, _ = optimizer.update(
                ops.convert_to_tensor(weight),
                gradient,
                (zero, zero),
                Rule(
                    optimizer.config,
                    optimizer.scales(0.01, step=0),
                    role_of(name),
                ),
            )
            results[f"updated {bias_correction} {name}"] = np.asarray(updated)
    results["with dropout"] = np.asarray(loss_with_dropout(batch))
    np.savez(path, **results)


if __name__ == "__main__":
    main(sys.argv[1])
