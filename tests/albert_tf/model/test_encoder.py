"""Which layers share weights, and what loops and dropout change in what they compute."""

import dataclasses
import re

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.model.encoder import DropoutSeeds, Encoder, FeedForward, SelfAttention, dropout
from albert_tf.model.initial_weights import truncated_normal
from albert_tf.model.parameters import weight_owner
from tests.batches import random_batch
from tests.huggingface_albert import SMALL

BATCH = {name: tf.constant(values) for name, values in random_batch(SMALL).items()}


def encoder(**changes):
    layer = Encoder(dataclasses.replace(SMALL, **changes))
    layer.build()
    return layer


def encode(layer, **how):
    return layer(*(BATCH[name] for name in ("input_ids", "input_mask", "segment_ids")), **how)


def draw(layer, *, seed):
    """Give a layer weights that are drawn by their paths."""
    for weight in layer.weights:
        weight.assign(truncated_normal(tuple(weight.shape), path=weight.path, seed=seed))


@pytest.mark.parametrize(
    ("sharing", "groups", "expected"),
    [
        ("all", 1, ["group_0", "group_0", "group_0", "group_0"]),
        ("all", 2, ["group_0", "group_0", "group_1", "group_1"]),
        ("all", 3, ["group_0", "group_0", "group_1", "group_2"]),
        ("ffn", 1, ["layer_0", "layer_1", "layer_2", "layer_3"]),
        ("none", 2, ["layer_0", "layer_1", "layer_2", "layer_3"]),
    ],
)
def test_attention_of_each_layer_belongs_to(sharing, groups, expected):
    config = dataclasses.replace(SMALL, sharing=sharing, num_hidden_groups=groups)
    assert [weight_owner("attention", n, config) for n in range(4)] == expected


def test_a_group_of_two_inner_blocks_has_two_of_everything():
    weights = encoder(num_hidden_groups=1, inner_group_num=2).weights
    found = (re.search(r"(group|layer)_\d+_inner_\d+_\w+", weight.path) for weight in weights)
    assert {match[0] for match in found if match} == {
        "group_0_inner_0_attention",
        "group_0_inner_0_ffn",
        "group_0_inner_1_attention",
        "group_0_inner_1_ffn",
    }


@pytest.mark.parametrize("sharing", ["all", "attention", "ffn"])
def test_sharing_equals_not_sharing_with_equal_weights(sharing):
    shared, apart = encoder(sharing=sharing), encoder(sharing="none")
    draw(shared, seed=1)
    values = {weight.path: weight.numpy() for weight in shared.weights}
    for weight in apart.weights:
        path = weight.path
        if match := re.search(r"layer_(\d)_inner_0_(\w+)", path):
            owner = weight_owner(match[2], int(match[1]), shared.config)
            path = path.replace(f"layer_{match[1]}", owner)
        weight.assign(values[path])
    np.testing.assert_allclose(encode(shared), encode(apart), atol=1e-6)


# Some of 36 places, one of them twice.
PLACES = [3, 0, 12, 17, 35, 17]


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({}, None),
        ({"num_hidden_layers": 3, "num_hidden_groups": 1}, PLACES),
        ({"sharing": "ffn", "num_hidden_layers": 2}, PLACES),
        ({"num_hidden_layers": 1, "num_hidden_groups": 1}, PLACES),
    ],
)
def test_layers_in_a_loop_and_rows_alone_have_values_and_gradients_of_whole_layers(changes, places):
    """With dropout too: each layer draws masks of its own, each row has its own of them."""
    rates = {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2}
    layer = encoder(**rates, **changes)
    draw(layer, seed=1)
    variables = [weight.value for weight in layer.weights]

    def rows_and_gradients(every_layer):
        seeds = DropoutSeeds(tf.constant([1, 2], tf.int64))
        with tf.GradientTape() as tape:
            if every_layer:
                rows = encode(layer, seeds=seeds, every_layer=True)[-1]
                rows = rows if places is None else tf.gather(rows, places)
            else:
                rows = encode(layer, seeds=seeds, places=places and tf.constant(places))
            total = tf.reduce_sum(rows * tf.linspace(-1.0, 1.0, rows.shape[1]))
        gradients = tape.gradient(total, variables, unconnected_gradients="zero")
        return rows, [tf.convert_to_tensor(gradient) for gradient in gradients]

    rows, ours = tf.function(rows_and_gradients)(False)
    expected, theirs = rows_and_gradients(True)
    np.testing.assert_allclose(rows, expected, atol=0 if places is None else 1e-6)
    for weight, gradient, other in zip(layer.weights, ours, theirs, strict=True):
        tolerance = 1e-5 * (1 if places is None else 1 + np.abs(other).max())
        np.testing.assert_allclose(gradient, other, atol=tolerance, err_msg=weight.path)


def test_more_layers_that_share_all_do_not_make_the_graph_larger():
    def operations(**changes):
        layer = encoder(num_hidden_groups=1, **changes)
        graph = tf.function(lambda: encode(layer)).get_concrete_function()
        whole = graph.graph.as_graph_def()
        parts = [whole.node, *(part.node_def for part in whole.library.function)]
        return sum(map(len, parts))

    assert operations(num_hidden_layers=24) == operations(num_hidden_layers=4)


def seeds(key=1):
    return DropoutSeeds(tf.constant([key, 0], tf.int64))


def test_dropout_with_the_same_key_draws_the_same_mask_and_else_another():
    x, of_pass = tf.ones((40, 40)), seeds(1)
    first = dropout(x, 0.5, of_pass).numpy()
    assert (first == dropout(x, 0.5, seeds(1)).numpy()).all()
    assert (first != dropout(x, 0.5, of_pass).numpy()).any()
    assert (first != dropout(x, 0.5, seeds(2)).numpy()).any()
    assert set(np.unique(first)) == {0.0, 2.0}
    assert first.mean() == pytest.approx(1.0, abs=0.1)
    # Without seeds or at rate zero there is none.
    assert dropout(x, 0.5, None) is dropout(x, 0.0, seeds()) is x


@pytest.mark.parametrize(
    ("field", "is_in_ffn"), [("hidden_dropout_prob", True), ("attention_probs_dropout_prob", False)]
)
def test_the_two_rates_of_dropout_act_apart(field, is_in_ffn):
    config = dataclasses.replace(SMALL, **{field: 0.5})
    attention = SelfAttention(config, name="attention")
    ffn = FeedForward(config, name="ffn")
    for layer in (attention, ffn):
        layer.build()
        draw(layer, seed=1)
    rows, mask = tf.random.stateless_normal((36, 16), (1, 2)), BATCH["input_mask"]
    assert np.any(attention(rows, mask) != attention(rows, mask, seeds=seeds()))
    assert np.any(ffn(rows) != ffn(rows, seeds=seeds())) == is_in_ffn
