"""Layers computed again for their gradients have the same gradients."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

from albert_tf.planning.cost import activation_bytes
from albert_tf.training.run import training_steps
from albert_tf.training.steps import pretraining_counts
from schemas.config import TrainConfig
from tests.batches import random_batch
from tests.huggingface_albert import SMALL, lively_model
from tests.recompute_probe import CONFIG

CONFIGS = {
    "every layer": dataclasses.replace(SMALL, layer_consistency_weight=1.0),
    "not shared, with dropout": dataclasses.replace(
        SMALL,
        sharing="none",
        hidden_dropout_prob=0.2,
        attention_probs_dropout_prob=0.2,
    ),
}


def first_moments(config, *, precision="float32", **changes):
    """A tenth of the clipped gradients of a step, by name, and its sums."""
    settings = TrainConfig(precision=precision, **changes)
    model = lively_model(config, precision=precision, recompute=settings.recompute)
    steps = training_steps(model, settings)
    batch = {name: v[None] for name, v in random_batch(config).items()}
    steps.accumulate(batch, counts=pretraining_counts(batch), step=0, micro=0)
    sums = steps.sums()
    steps.apply(0.01, step=0)
    state = steps.optimizer_state.items()
    return {"sums": sums} | {n: np.asarray(v) for n, v in state if n.endswith("/m")}


def assert_same(ours, theirs, *, tolerance):
    assert ours.keys() == theirs.keys()
    for name in ours:
        if "/key/bias" not in name:  # its gradient is rounding alone
            difference = np.linalg.norm(ours[name] - theirs[name])
            assert difference <= tolerance * np.linalg.norm(theirs[name]), name


@pytest.mark.parametrize("name", CONFIGS)
def test_gradients_are_the_same_when_layers_are_computed_again(name):
    """With dropout too: it draws the same masks again."""
    plain = first_moments(CONFIGS[name])
    assert_same(first_moments(CONFIGS[name], recompute=True), plain, tolerance=1e-5)


@pytest.mark.slow
def test_gradients_in_bfloat16_are_as_exact_when_layers_are_computed_again():
    """Products fused with what follows round elsewhere, so they are not the same."""
    exact = first_moments(SMALL)
    plain = first_moments(SMALL, precision="bfloat16")
    again = first_moments(SMALL, precision="bfloat16", recompute=True)
    plain_error, error = (distance(moments, exact) for moments in (plain, again))
    assert error <= 1.5 * plain_error


def distance(ours, theirs):
    """The norm of the difference of all gradients together."""
    return np.sqrt(sum(np.sum((ours[n] - theirs[n]) ** 2) for n in theirs))


def probe(path, mode):
    command = [sys.executable, "-m", "tests.recompute_probe", str(path), mode]
    subprocess.run(command, check=True)
    return dict(np.load(path))


@pytest.mark.slow
def test_computing_layers_again_saves_the_memory_that_a_plan_tells(tmp_path):
    """Most of it at least, which would all be gone if TensorFlow undid it."""
    again, kept = (
        probe(tmp_path / f"{mode}.npz", mode) for mode in ("recompute", "keep")
    )
    kept_bytes, again_bytes = (
        8 * activation_bytes(CONFIG, length=256, predictions=4, recompute=recompute)
        for recompute in (False, True)
    )
    assert kept.pop("bytes") - again.pop("bytes") > 0.6 * (kept_bytes - again_bytes)
    assert_same(again, kept, tolerance=1e-4)


JAX_PROGRAM = """
import sys
import jax, numpy as np
from albert_tf.model.operations import recomputed

x = np.array([0.3, -2.0], "float32")
f = lambda x: jax.numpy.tanh(x) ** 3
again = jax.jit(jax.grad(lambda x: recomputed(f, x).sum()))
kept = jax.jit(jax.grad(lambda x: f(x).sum()))
np.testing.assert_allclose(again(x), kept(x), rtol=1e-6)
barriers = [g.lower(x).as_text().count("optimization_barrier") for g in (again, kept)]
sys.stdout.write(f"{min(barriers[0], 1)} {barriers[1]} {jax.default_backend()}\\n")

from albert_tf.training.run import check_can_recompute
from schemas.config import TrainConfig
from schemas.errors import SettingError
try:
    check_can_recompute(TrainConfig(recompute=True))
except SettingError as error:
    sys.stdout.write(str(error))
"""


@pytest.mark.slow
def test_jax_is_told_to_compute_again_and_refused_on_a_cpu_which_would_not():
    pytest.importorskip("jax")
    done = subprocess.run(
        [sys.executable, "-c", JAX_PROGRAM],
        check=True,
        env=os.environ | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.stdout == (
        "1 0 cpu\n"
        "--recompute saves nothing with JAX on a CPU; leave it out, or unset "
        "KERAS_BACKEND."
    )
