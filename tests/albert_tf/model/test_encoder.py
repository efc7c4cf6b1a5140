"""Which layers share weights, and that sharing is nothing but equal weights."""

import dataclasses
import re

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.model.encoder import DropoutSeeds, Encoder
from albert_tf.model.initial_weights import truncated_normal
from albert_tf.model.parameters import weight_owner
from tests.batches import random_batch
from tests.huggingface_albert import SMALL

BATCH = {name: tf.constant(values) for name, values in random_batch(SMALL).items()}


def encoder(**changes):
    layer = Encoder(dataclasses.replace(SMALL, **changes))
    layer.build()
    return layer


def encode_tensors(layer, *, sequences=3, **how):
    names = ("input_ids", "input_mask", "segment_ids")
    return layer(*(BATCH[name][:sequences] for name in names), **how)


def encode(layer):
    return encode_tensors(layer).numpy()


def owners(layer):
    return {
        match[0]
        for weight in layer.weights
        if (match := re.search(r"(group|layer)_\d+_inner_\d+_\w+", weight.path))
    }


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


def test_ffn_shared_model_has_one_ffn_and_an_attention_for_each_layer():
    layer = encoder(sharing="ffn", num_hidden_groups=1)
    attentions = {f"layer_{n}_inner_0_attention" for n in range(4)}
    assert owners(layer) == attentions | {"group_0_inner_0_ffn"}


def test_a_group_of_two_inner_blocks_has_two_of_everything():
    assert owners(encoder(num_hidden_groups=1, inner_group_num=2)) == {
        "group_0_inner_0_attention",
        "group_0_inner_0_ffn",
        "group_0_inner_1_attention",
        "group_0_inner_1_ffn",
    }


@pytest.mark.parametrize("sharing", ["all", "attention", "ffn"])
def test_sharing_equals_not_sharing_with_equal_weights(sharing):
    shared = encoder(sharing=sharing)
    apart = encoder(sharing="none")
    values = {}
    for weight in shared.weights:
        value = truncated_normal(tuple(weight.shape), path=weight.path, seed=1)
        values[weight.path] = value
        weight.assign(value)
    for weight in apart.weights:
        match = re.search(r"layer_(\d)_inner_0_(\w+)", weight.path)
        path = weight.path
        if match:
            owner = weight_owner(match[2], int(match[1]), shared.config)
            path = path.replace(f"layer_{match[1]}", owner)
        weight.assign(values[path])
    np.testing.assert_allclose(encode(shared), encode(apart), atol=1e-6)


@pytest.mark.parametrize("groups", [1, 2])
def test_layers_in_a_loop_have_the_rows_and_gradients_of_layers_one_by_one(groups):
    """With dropout too: each layer draws masks of its own."""
    layer = encoder(
        num_hidden_groups=groups,
        hidden_dropout_prob=0.2,
        attention_probs_dropout_prob=0.2,
    )
    for weight in layer.weights:
        weight.assign(truncated_normal(tuple(weight.shape), path=weight.path, seed=1))
    variables = [weight.value for weight in layer.weights]

    @tf.function
    def rows_and_gradients(every_layer):
        seeds = DropoutSeeds(tf.constant([1, 2], tf.int64))
        with tf.GradientTape() as tape:
            rows = encode_tensors(layer, seeds=seeds, every_layer=every_layer)
            rows = rows[-1] if every_layer else rows
            total = tf.reduce_sum(rows * tf.linspace(-1.0, 1.0, rows.shape[1]))
        gradients = tape.gradient(total, variables, unconnected_gradients="zero")
        return rows, [tf.convert_to_tensor(gradient) for gradient in gradients]

    (rows, ours), (expected, theirs) = map(rows_and_gradients, (False, True))
    np.testing.assert_array_equal(rows, expected)
    for weight, gradient, other in zip(layer.weights, ours, theirs, strict=True):
        np.testing.assert_allclose(gradient, other, atol=1e-5, err_msg=weight.path)


def test_more_layers_that_share_all_do_not_make_the_graph_larger():
    def operations(**changes):
        layer = encoder(num_hidden_groups=1, **changes)
        graph = tf.function(lambda: encode_tensors(layer)).get_concrete_function()
        whole = graph.graph.as_graph_def()
        parts = [whole.node, *(part.node_def for part in whole.library.function)]
        return sum(map(len, parts))

    assert operations(num_hidden_layers=24) == operations(num_hidden_layers=4)


def test_every_weight_has_a_path_of_its_own():
    layer = encoder(sharing="attention", num_hidden_groups=2, inner_group_num=2)
    paths = [weight.path for weight in layer.weights]
    assert len(set(paths)) == len(paths)


def test_pooled_is_the_tanh_of_the_first_piece():
    layer = encoder()
    for weight in layer.weights:
        weight.assign(truncated_normal(tuple(weight.shape), path=weight.path, seed=2))
    rows = np.arange(3 * 12 * 16, dtype="float32").reshape(36, 16) / 500
    first = rows.reshape(3, 12, 16)[:, 0]
    expected = np.tanh(first @ layer.pooler.kernel.numpy() + layer.pooler.bias.numpy())
    np.testing.assert_allclose(layer.pool(rows, 12), expected, atol=1e-5)
