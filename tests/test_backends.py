"""Model, losses and LAMB compute the same on Keras' JAX backend."""

import os
import subprocess
import sys

import numpy as np
import pytest


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
