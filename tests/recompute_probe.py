"""Memory and gradients of a micro-batch, with recomputation or without.

Run as a program by `test_operations.py`, each time in a process of its own: writes
optimizer state and bytes to an .npz file.
"""

import dataclasses
import sys
from pathlib import Path

import numpy as np

from albert_tf.training.run import training_steps
from albert_tf.training.steps import pretraining_counts
from schemas.config import TrainConfig
from tests.batches import random_batch
from tests.huggingface_albert import SMALL, lively_model

# Layers that keep much more than anything else does.
CONFIG = dataclasses.replace(
    SMALL,
    num_hidden_layers=12,
    hidden_size=128,
    intermediate_size=512,
    max_position_embeddings=256,
    hidden_dropout_prob=0.1,
    attention_probs_dropout_prob=0.1,
)


def resident_bytes(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


def bytes_at_the_peak(steps, batch, counts):
    """How much more is resident in a micro-batch than before the first."""
    before = resident_bytes("VmRSS")
    steps.accumulate(batch, counts=counts, step=0, micro=0)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of compiling
    steps.discard()
    steps.accumulate(batch, counts=counts, step=0, micro=0)
    return resident_bytes("VmHWM") - before


def main(path, recompute):
    batch = random_batch(CONFIG, rows=8, length=256, predictions=4)
    batch = {name: values[None] for name, values in batch.items()}
    counts = pretraining_counts(batch)
    model = lively_model(CONFIG, recompute=recompute == "recompute")
    steps = training_steps(model, TrainConfig())
    results = {"bytes": bytes_at_the_peak(steps, batch, counts)}
    steps.apply(0.01, step=0)
    results |= {path: np.asarray(v) for path, v in steps.optimizer_state.items()}
    np.savez(path, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
