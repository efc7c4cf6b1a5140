"""Three optimizer steps on the backend of Keras and on so many devices of the CPU.

Run as a program by `test_devices.py`: writes losses, weights and optimizer state to an
.npz file, those with dropout and those without padding, among candidates.
A step has three micro-batches, so that on two devices the last group is half empty.
"""

import dataclasses
import os
import sys

import numpy as np

from tests.batches import random_batch
from tests.huggingface_albert import SMALL, lively_model

MICRO_BATCHES = 3


def split_cpu(devices):
    """Have this backend see the CPU as several devices, before it looks."""
    import keras

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        (cpu,) = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration() for _ in range(devices)]
        tf.config.set_logical_device_configuration(cpu, parts)
    else:
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"


def filled_up(batch, devices):
    """A batch as micro-batches `[K, 2, ...]`, with empty ones so that N divides K."""
    missing = -MICRO_BATCHES % devices
    parts = {}
    for name, values in batch.items():
        values = values.reshape(MICRO_BATCHES, 2, *values.shape[1:])
        fill = -1 if name == "sentence_order_labels" else 0
        empty = np.full((missing, *values.shape[1:]), fill, values.dtype)
        parts[name] = np.concatenate([values, empty])
    return parts


def all_steps(*, without_padding):
    """What `three_steps` gives, once with dropout and once as is asked for, among candidates."""
    results = three_steps(dropout=0.1)
    others = three_steps(dropout=0.0, without_padding=without_padding, among=SMALL.vocab_size)
    del others["devices"]
    return results | {f"no dropout {name}": value for name, value in others.items()}


def three_steps(*, dropout, without_padding=False, among=None):
    """Losses, weights and optimizer state after each of three steps, by name."""
    from albert_tf.model.sampled_softmax import among_any
    from albert_tf.model.unpadding import unpadded
    from albert_tf.training.run import training_steps
    from albert_tf.training.steps import pretraining_counts
    from schemas.config import TrainConfig

    config = dataclasses.replace(
        SMALL, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    )
    steps = training_steps(lively_model(config), TrainConfig(seed=7, bias_correction=True))
    devices = steps.num_devices
    results = {"devices": devices}
    for step in range(3):
        batch = filled_up(random_batch(config, rows=2 * MICRO_BATCHES, seed=step), devices)
        for micro in range(0, MICRO_BATCHES, devices):
            part = {n: v[micro : micro + devices] for n, v in batch.items()}
            counts = pretraining_counts(batch)
            part = unpadded(part) if without_padding else part
            part = among_any(part, number=among) if among else part
            steps.accumulate(part, counts=counts, step=step, micro=micro)
        losses = steps.sums()
        results[f"losses {step}"] = losses
        results[f"norm {step}"] = float(steps.apply(0.01, step=step))
        steps.settle()
        for name, variable in {**steps.model.weights_by_path, **steps.optimizer_state}.items():
            results[f"{name} {step}"] = variable.numpy()
    return results


if __name__ == "__main__":
    split_cpu(int(sys.argv[2]))
    np.savez(sys.argv[1], **all_steps(without_padding=True))
