"""The parts of the encoder against plain NumPy, and where dropout acts."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_tf.model.encoder import (
    DropoutSeeds,
    Embeddings,
    FeedForward,
    SelfAttention,
    dropout,
)
from albert_tf.model.tensorflow_operations import gelu
from schemas.architecture import ModelConfig

CONFIG = ModelConfig(
    vocab_size=30,
    embedding_size=6,
    hidden_size=8,
    num_attention_heads=2,
    intermediate_size=12,
    max_position_embeddings=10,
)
ROWS, LENGTH = 2, 5
RNG = np.random.default_rng(0)
HIDDEN = RNG.normal(size=(ROWS * LENGTH, 8)).astype("float32")
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "int32")


def built(layer):
    """The layer with random weights, and these by their last two names."""
    layer.build()
    for weight in layer.weights:
        weight.assign(RNG.normal(size=weight.shape))
    values = {"/".join(w.path.split("/")[-2:]): w.numpy() for w in layer.weights}
    return layer, values


def seeds(key=1):
    return DropoutSeeds(tf.constant([key, 0], tf.int64))


def normalized(x, values):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    x = (x - mean) / np.sqrt(variance + 1e-12)
    return x * values["layer_norm/gamma"] + values["layer_norm/beta"]


def dense(x, name, values):
    return x @ values[f"{name}/kernel"] + values[f"{name}/bias"]


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def numpy_gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def test_gelu_is_the_tanh_approximation():
    x = np.linspace(-6, 6, 101, dtype="float32")
    np.testing.assert_allclose(gelu(x), numpy_gelu(x), atol=1e-6)
    np.testing.assert_allclose(gelu(x), keras.ops.gelu(x, approximate=True), atol=1e-6)


def test_embeddings_are_summed_normalised_and_projected():
    layer, values = built(Embeddings(CONFIG, name="embeddings"))
    ids = RNG.integers(0, 30, (ROWS, LENGTH))
    segments = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]])
    table = {name.split("/")[1]: value for name, value in values.items()}
    x = table["word_embeddings"][ids] + table["position_embeddings"][:LENGTH]
    x = normalized(x + table["token_type_embeddings"][segments], values)
    expected = dense(x, "projection", values).reshape(-1, 8)
    output = layer(tf.constant(ids, tf.int32), tf.constant(segments, tf.int32))
    np.testing.assert_allclose(output, expected, atol=1e-4)


def test_embeddings_as_wide_as_the_layers_are_not_projected():
    config = dataclasses.replace(CONFIG, embedding_size=8)
    layer, values = built(Embeddings(config, name="embeddings"))
    assert not [name for name in values if "projection" in name]
    zeros = tf.zeros((ROWS, LENGTH), tf.int32)
    assert layer(zeros, zeros).shape == (ROWS * LENGTH, 8)


def test_attention_is_that_of_the_paper_and_padding_is_not_attended_to():
    layer, values = built(SelfAttention(CONFIG, name="attention"))
    query, key, value = (
        dense(HIDDEN, name, values).reshape(ROWS, LENGTH, 2, 4).transpose(0, 2, 1, 3)
        for name in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(4)
    scores = np.where(MASK[:, None, None, :] == 1, scores, -np.inf)
    context = (softmax(scores) @ value).transpose(0, 2, 1, 3).reshape(-1, 8)
    expected = normalized(HIDDEN + dense(context, "output", values), values)
    np.testing.assert_allclose(layer(HIDDEN, MASK), expected, atol=1e-4)


def test_feed_forward_is_that_of_the_paper():
    layer, values = built(FeedForward(CONFIG, name="ffn"))
    inner = numpy_gelu(dense(HIDDEN, "intermediate", values))
    expected = normalized(HIDDEN + dense(inner, "output", values), values)
    np.testing.assert_allclose(layer(HIDDEN), expected, atol=1e-4)


def test_feed_forward_with_relu_computes_relu():
    config = dataclasses.replace(CONFIG, hidden_act="relu")
    layer, values = built(FeedForward(config, name="ffn"))
    inner = np.maximum(dense(HIDDEN, "intermediate", values), 0)
    expected = normalized(HIDDEN + dense(inner, "output", values), values)
    np.testing.assert_allclose(layer(HIDDEN), expected, atol=1e-4)


def test_dropout_with_the_same_key_draws_the_same_mask_and_else_another():
    x = tf.ones((40, 40))
    first = dropout(x, 0.5, seeds(1)).numpy()
    assert (first == dropout(x, 0.5, seeds(1)).numpy()).all()
    assert (first != dropout(x, 0.5, seeds(2)).numpy()).any()
    assert set(np.unique(first)) == {0.0, 2.0}
    assert first.mean() == pytest.approx(1.0, abs=0.1)


def test_each_draw_of_a_pass_has_a_mask_of_its_own():
    x, of_pass = tf.ones((40, 40)), seeds()
    assert (dropout(x, 0.5, of_pass).numpy() != dropout(x, 0.5, of_pass).numpy()).any()


def test_no_dropout_without_seeds_or_at_rate_zero():
    assert dropout(HIDDEN, 0.5, None) is HIDDEN
    assert dropout(HIDDEN, 0.0, seeds()) is HIDDEN


@pytest.mark.parametrize(
    ("field", "is_changed"),
    [
        ("hidden_dropout_prob", {"attention": True, "ffn": True}),
        ("attention_probs_dropout_prob", {"attention": True, "ffn": False}),
    ],
)
def test_the_two_rates_act_apart(field, is_changed):
    config = dataclasses.replace(CONFIG, **{field: 0.5})
    attention, _ = built(SelfAttention(config, name="attention"))
    ffn, _ = built(FeedForward(config, name="ffn"))
    pairs = {
        "attention": (attention(HIDDEN, MASK), attention(HIDDEN, MASK, seeds=seeds())),
        "ffn": (ffn(HIDDEN), ffn(HIDDEN, seeds=seeds())),
    }
    for name, (without, with_dropout) in pairs.items():
        assert bool(np.any(without != with_dropout)) == is_changed[name]
