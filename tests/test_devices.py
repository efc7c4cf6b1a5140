"""A step on several devices is the step of one, and so is an evaluation."""

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from tests.step_probe import all_steps


def probe(path, *, backend, devices):
    """What `step_probe` computes in a process of its own."""
    results = probed("step_probe", path, backend=backend, devices=devices)
    assert results.pop("devices") == devices
    return results


def probed(program, path, *, backend, devices):
    """What a program computes in a process of its own."""
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", f"tests.{program}", str(path), str(devices)]
    subprocess.run(command, check=True, env=environment)
    return dict(np.load(path))


def assert_same(ours, theirs, *, tolerance):
    """Every tensor is the same after one step, norm-wise; ten times that after more."""
    assert ours.keys() == theirs.keys()
    for name in ours:
        if "/key/bias" not in name:  # its gradient is rounding alone
            norm = np.linalg.norm(theirs[name])
            most = tolerance * norm * (1 if name.endswith(" 0") else 10)
            assert np.linalg.norm(ours[name] - theirs[name]) <= most, name


@pytest.fixture(scope="module")
def one():
    """The steps of one device, with padding; to be read."""
    steps = all_steps(without_padding=False)
    assert steps.pop("devices") == 1
    return steps


@pytest.fixture(scope="module")
def one_under_jax(tmp_path_factory):
    pytest.importorskip("jax")
    return probe(tmp_path_factory.mktemp("jax") / "1.npz", backend="jax", devices=1)


@pytest.mark.slow
def test_two_devices_take_the_steps_of_one(one, tmp_path):
    """With dropout, whose masks depend on the place in the step and not on a device.

    Without dropout they leave out the padding that the one computes.
    """
    two = probe(tmp_path / "2.npz", backend="tensorflow", devices=2)
    assert_same(two, one, tolerance=2e-6)


@pytest.mark.slow
def test_two_devices_take_the_steps_of_one_under_jax(one_under_jax, tmp_path):
    two = probe(tmp_path / "2.npz", backend="jax", devices=2)
    # Gradients are added up in another order, and twice as far apart once they are squared.
    assert_same(two, one_under_jax, tolerance=4e-6)


@pytest.mark.slow
def test_jax_takes_the_steps_of_tensorflow(one, one_under_jax):
    names = [name for name in one if name.startswith("no dropout")]
    ours, theirs = ({name: steps[name] for name in names} for steps in (one_under_jax, one))
    assert_same(ours, theirs, tolerance=1e-5)


@pytest.mark.slow
def test_each_of_four_devices_has_a_share_of_an_evaluation_with_the_figures_of_one(tmp_path):
    pytest.importorskip("jax")
    one, four = (
        probed("evaluation_probe", tmp_path / f"{n}.npz", backend="jax", devices=n) for n in (1, 4)
    )
    assert one.pop("shares").tolist() == [1024, 1024]
    assert four.pop("shares").tolist() == [256, 256]
    for found in (one, four):
        assert Counter(found.pop("programs").tolist())["jit(of_values)"] == 4
    for name, values in one.items():
        np.testing.assert_allclose(four[name], values, rtol=2e-6, atol=2e-6, err_msg=name)
