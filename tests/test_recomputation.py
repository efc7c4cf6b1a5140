"""Layers computed again for their gradients have the same gradients."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

from albert_tf.compute_cost import activation_bytes
from albert_tf.pretrainer import AlbertPretrainer
from albert_tf.steps import step_counts, training_steps
from schemas.config import TrainConfig
from tests.batches import random_batch
from tests.huggingface_albert import SMALL, lively_weights
from tests.recompute_probe import CONFIG

CONFIGS = {
    "plain": SMALL,
    "dropout": dataclasses.replace(
        SMALL, hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.2
    ),
    "every layer": dataclasses.replace(SMALL, layer_consistency_weight=1.0),
    "not shared": dataclasses.replace(SMALL, sharing="none"),
}


def first_moments(config, *, precision="float32", **changes):
    """A tenth of the clipped gradients of a step, by name, and its sums."""
    settings = TrainConfig(precision=precision, **changes)
    model = AlbertPretrainer(config, precision=precision, recompute=settings.recompute)
    for path, values in lively_weights(model).items():
        model.weights_by_path[path].assign(values)
    steps = training_steps(model, settings)
    batch = {name: v[None] for name, v in random_batch(config).items()}
    sums = steps.accumulate(batch, counts=step_counts(batch), step=0, micro=0)
    steps.apply(0.01)
    slots = steps.slots.items()
    return {"sums": sums} | {n: np.asarray(s) for n, s in slots if n.endswith("/m")}


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


def test_weights_stay_float32_when_layers_are_computed_again_in_bfloat16():
    plain = first_moments(SMALL, precision="bfloat16")
    again = first_moments(SMALL, precision="bfloat16", recompute=True)
    assert_same(again, plain, tolerance=1e-5)


def probe(path, *, backend, mode):
    command = [sys.executable, "-m", "tests.recompute_probe", str(path), mode]
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    subprocess.run(command, check=True, env=environment)
    return dict(np.load(path))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_computing_layers_again_saves_the_memory_that_a_plan_tells(tmp_path, backend):
    """Most of it at least, which would all be gone if a compiler undid it."""
    pytest.importorskip(backend)
    again, kept = (
        probe(tmp_path / f"{mode}.npz", backend=backend, mode=mode)
        for mode in ("recompute", "keep")
    )
    kept_bytes, again_bytes = (
        8 * activation_bytes(CONFIG, length=256, predictions=4, recompute=recompute)
        for recompute in (False, True)
    )
    assert kept.pop("bytes") - again.pop("bytes") > 0.6 * (kept_bytes - again_bytes)
    assert_same(again, kept, tolerance=1e-4)
