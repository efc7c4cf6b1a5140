"""Model, losses and LAMB compute the same on Keras' JAX backend."""

import dataclasses
import json
import os
import signal
import subprocess
import sys

import pytest

from albert_tf.runs.metrics import read_metrics
from schemas.config import TrainConfig
from tests.training_data import TINY, write_dataset

CONFIG = TrainConfig(
    batch_size=8,
    micro_batch_size=4,
    steps=100,
    warmup_steps=10,
    learning_rate=0.01,
    eval_every=50,
    checkpoint_every=10,
)
DROPOUT = dataclasses.replace(TINY, hidden_dropout_prob=0.1)

TRAINING = """
import signal, sys
from pathlib import Path
from albert_tf.training.pretraining import pretrain
from tests import test_backends
from tests.training_data import resolved_run, signal_at_step
data, run, model, stop_at, stop_signal = sys.argv[1:]
signal_at_step(int(stop_at) + 1, which=getattr(signal, stop_signal))
config = test_backends.CONFIG
model = getattr(test_backends, model)
pretrain(resolved_run(Path(data), Path(run), config, model_config=model))
"""


def train(data, run, *, backend, model="TINY", stop=(-2, "SIGTERM")):
    """The metrics of a run, without times.

    `model` is an architecture of this module, `stop` in which step of the process it
    gets which signal.
    """
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    arguments = [str(data), str(run), model, *map(str, stop)]
    command = [sys.executable, "-c", TRAINING, *arguments]
    code = subprocess.run(command, check=False, env=environment).returncode
    assert code == (-signal.SIGKILL if stop[1] == "SIGKILL" else 0)
    times = {"sequences_per_second", "seconds"}
    return [
        {name: value for name, value in line.items() if name not in times}
        for line in read_metrics(run)
    ]


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


UNDER_JAX = {"backend": "jax", "model": "DROPOUT"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with data and a run on them that nothing stopped, and its metrics."""
    pytest.importorskip("jax")
    folder = tmp_path_factory.mktemp("whole")
    write_dataset(folder / "data")
    return folder, train(folder / "data", folder / "run", **UNDER_JAX)


@pytest.mark.slow
def test_a_run_under_jax_goes_on_as_if_nothing_had_happened(whole, tmp_path):
    """With dropout; every bit of the losses, of the weights and of the optimizer."""
    folder, metrics = whole
    # A killed run goes on from the checkpoint before its step 45.
    for stop, step in (((25, "SIGTERM"), 25), ((20, "SIGKILL"), 40)):
        train(folder / "data", tmp_path, **UNDER_JAX, stop=stop)
        (stopped,) = (tmp_path / "checkpoints/latest").read_text().split()
        assert stopped == f"step-{step:08}"
    assert train(folder / "data", tmp_path, **UNDER_JAX) == metrics
    for part in ("model", "optimizer"):
        name = f"checkpoints/step-00000100/{part}.safetensors"
        assert (tmp_path / name).read_bytes() == (folder / "run" / name).read_bytes()


@pytest.mark.slow
def test_operations_of_jax_compute_the_formulas_with_attention_of_cudnn_on_a_gpu():
    """Attention once forward and once back in each of two layers."""
    pytest.importorskip("jax")
    done = subprocess.run(
        [sys.executable, "-m", "tests.jax_operations_probe"],
        check=True,
        env=os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        text=True,
    )
    calls, differences = json.loads(done.stdout)
    assert calls == 4
    assert max(differences["float32"].values()) < 2e-6
    assert max(differences["bfloat16"].values()) < 0.02
