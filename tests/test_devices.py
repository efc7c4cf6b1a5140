"""A step on several devices is the step of one."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.step_probe import all_steps


def probe(path, *, backend, devices):
    """What `step_probe` computes in a process of its own."""
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.step_probe", str(path), str(devices)]
    subprocess.run(command, check=True, env=environment)
    results = dict(np.load(path))
    assert results.pop("devices") == devices
    return results


def assert_same(ours, theirs, *, tolerance):
    """Every tensor is the same after one step, norm-wise; ten times that after more."""
    assert ours.keys() == theirs.keys()
    for name in ours:
        if "/key/bias" not in name:  # its gradient is rounding alone
            norm = np.linalg.norm(theirs[name])
            most = tolerance * norm * (1 if name.endswith(" 0") else 10)
            assert np.linalg.norm(ours[name] - theirs[name]) <= most, name


@pytest.mark.slow
def test_two_devices_take_the_steps_of_one(tmp_path):
    """With dropout, whose masks depend on the place in the step and not on a device.

    Without dropout they leave out the padding that the one computes.
    """
    one = all_steps(without_padding=False)
    assert one.pop("devices") == 1
    two = probe(tmp_path / "2.npz", backend="tensorflow", devices=2)
    assert_same(two, one, tolerance=2e-6)


@pytest.mark.slow
def test_two_devices_take_the_steps_of_one_under_jax(tmp_path):
    pytest.importorskip("jax")
    one, two = (
        probe(tmp_path / f"{devices}.npz", backend="jax", devices=devices) for devices in (1, 2)
    )
    # Gradients are added up in another order, and twice as far apart once they are squared.
    assert_same(two, one, tolerance=4e-6)


@pytest.mark.slow
def test_jax_takes_the_steps_of_tensorflow(tmp_path):
    pytest.importorskip("jax")
    ours = probe(tmp_path / "jax.npz", backend="jax", devices=1)
    theirs = all_steps(without_padding=False)
    names = [name for name in theirs if name.startswith("no dropout")]
    ours, theirs = ({name: one[name] for name in names} for one in (ours, theirs))
    assert_same(ours, theirs, tolerance=1e-5)
