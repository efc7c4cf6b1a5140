"""LAMB and AdamW against plain NumPy written from the published code."""

from typing import get_args, get_type_hints

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.training.optimizers import (
    OPTIMIZERS,
    adamw_update,
    is_excluded,
    lamb_update,
    trust_ratio,
)
from schemas.config import TrainConfig


def numpy_steps(weight, gradients, rates, *, is_excluded, has_trust_ratio):
    """google-research/albert `lamb_optimizer.py`, `apply_gradients`, in float64."""
    m = v = np.zeros_like(weight)
    for gradient, rate in zip(gradients, rates, strict=True):
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        update = m / (np.sqrt(v) + 1e-6)
        ratio = 1.0
        if not is_excluded:
            update = update + 0.01 * weight
            w_norm, u_norm = np.linalg.norm(weight), np.linalg.norm(update)
            if has_trust_ratio and w_norm > 0 and u_norm > 0:
                ratio = w_norm / u_norm
        weight = weight - ratio * rate * update
    return weight, m, v


@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.parametrize(
    ("update", "has_trust_ratio"), [(lamb_update, True), (adamw_update, False)]
)
def test_fifty_steps_equal_the_published_algorithm(update, has_trust_ratio, excluded):
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(7, 5))
    gradients = rng.normal(size=(50, 7, 5)) * np.geomspace(1e-6, 10, 5)
    rates = np.linspace(0.0, 0.1, 50)
    state = tuple(tf.constant(x, tf.float32) for x in (weight, 0 * weight, 0 * weight))
    for gradient, rate in zip(gradients, rates, strict=True):
        weight_then, *moments = state
        weight_next, moments = update(
            weight_then,
            tf.constant(gradient, tf.float32),
            tuple(moments),
            learning_rate=tf.constant(rate, tf.float32),
            is_excluded=excluded,
        )
        state = (weight_next, *moments)
    expected = numpy_steps(
        weight, gradients, rates, is_excluded=excluded, has_trust_ratio=has_trust_ratio
    )
    for ours, exact in zip(state, expected, strict=True):
        assert np.linalg.norm(ours - exact) <= 1e-5 * np.linalg.norm(exact)


def test_first_step_of_an_excluded_weight_has_no_bias_correction():
    zero, one = tf.zeros([1]), tf.ones([1])
    weight, _ = lamb_update(
        zero, one, (zero, zero), learning_rate=1.0, is_excluded=True
    )
    assert float(weight[0]) == pytest.approx(-0.1 / (0.001**0.5 + 1e-6))


@pytest.mark.parametrize(
    ("weight", "direction", "ratio"),
    [([3.0, 4.0], [0.0, 2.0], 2.5), ([0.0], [1.0], 1.0), ([1.0], [0.0], 1.0)],
)
def test_trust_ratio_is_one_where_a_norm_is_zero(weight, direction, ratio):
    assert float(trust_ratio(tf.constant(weight), tf.constant(direction))) == ratio


def test_layer_norms_and_biases_are_excluded_and_nothing_else():
    paths = {
        "albert/encoder/embeddings/word_embeddings": False,
        "albert/encoder/embeddings/position_embeddings": False,
        "albert/encoder/embeddings/layer_norm/gamma": True,
        "albert/encoder/embeddings/layer_norm/beta": True,
        "albert/encoder/group_0_inner_0_attention/query/kernel": False,
        "albert/encoder/group_0_inner_0_attention/query/bias": True,
        "albert/masked_lm_head/output_bias": True,
        "albert/sentence_head/classifier/kernel": False,
        "albert/sentence_head/classifier/bias": True,
    }
    assert {path: is_excluded(path) for path in paths} == paths


def test_every_optimizer_that_can_be_asked_for_is_there():
    names = get_args(get_type_hints(TrainConfig)["optimizer"])
    assert set(OPTIMIZERS) == set(names)


def test_gradients_above_the_norm_are_clipped_together():
    weights = {"a/kernel": tf.zeros([1]), "b/bias": tf.zeros([1])}
    gradients = {"a/kernel": tf.constant([3.0]), "b/bias": tf.constant([4.0])}
    optimizer = OPTIMIZERS["adamw"]
    norm, _, state = optimizer.step(
        weights, gradients, optimizer.zeros(weights, tf.zeros_like), learning_rate=1.0
    )
    assert float(norm) == 5.0
    assert {path: round(float(value[0]), 7) for path, value in state.items()} == {
        "a/kernel/m": 0.06,
        "a/kernel/v": 0.00036,
        "b/bias/m": 0.08,
        "b/bias/v": 0.00064,
    }
