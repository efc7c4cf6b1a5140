"""Model, losses and LAMB compute the same on Keras' JAX backend."""

import os
import subprocess
import sys

import numpy as np
import pytest

from albert_tf.finished import read_metrics
from schemas.config import TrainConfig
from tests.training_data import write_dataset

CONFIG = TrainConfig(
    batch_size=8,
    micro_batch_size=4,
    steps=100,
    warmup_steps=10,
    learning_rate=0.01,
    eval_every=50,
    checkpoint_every=10,
)

TRAINING = """
import sys
from pathlib import Path
from albert_tf.train import pretrain
from tests.test_backends import CONFIG
from tests.training_data import TINY
data, run = map(Path, sys.argv[1:])
pretrain(TINY, CONFIG, data=data, output=run, quiet=True)
"""


def train(data, run, *, backend):
    """The metrics of a run, without times."""
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", TRAINING, str(data), str(run)]
    subprocess.run(command, check=True, env=environment)
    times = {"sequences_per_second", "seconds"}
    return [
        {name: value for name, value in line.items() if name not in times}
        for line in read_metrics(run)
    ]


def probe(path, backend):
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.backend_probe", str(path)]
    subprocess.run(command, check=True, env=environment)
    return dict(np.load(path))


@pytest.mark.slow
def test_loss_gradients_and_lamb_step_are_the_same_under_jax(tmp_path):
    pytest.importorskip("jax")
    ours, theirs = (
        probe(tmp_path / f"{backend}.npz", backend) for backend in ("tensorflow", "jax")
    )
    assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-5)
    assert np.isfinite([ours["with dropout"], theirs["with dropout"]]).all()
    assert ours.keys() == theirs.keys()
    for name in ours:
        if name == "with dropout" or name.endswith("key/bias"):
            continue  # other random numbers; a gradient that is rounding alone
        norm = np.linalg.norm(theirs[name])
        assert np.linalg.norm(ours[name] - theirs[name]) <= 1e-4 * norm + 1e-7, name


@pytest.mark.slow
def test_a_run_has_the_losses_of_tensorflow_under_jax(tmp_path):
    pytest.importorskip("jax")
    write_dataset(tmp_path / "data")
    ours, theirs = (
        train(tmp_path / "data", tmp_path / backend, backend=backend)
        for backend in ("jax", "tensorflow")
    )
    assert len(ours) == len(theirs) == 103  # of training, and of three evaluations
    for our, their in zip(ours, theirs, strict=True):
        assert our == pytest.approx(their, abs=1e-4), their["step"]
    assert ours[-1]["mlm_loss"] < ours[0]["mlm_loss"] - 0.5, "these steps did learn"
