"""Which layers share weights, and that sharing is nothing but equal weights."""

import dataclasses
import re

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.encoder import Encoder
from albert_tf.initial_weights import truncated_normal
from albert_tf.sharing import weight_owner
from tests.batches import random_batch
from tests.huggingface_albert import SMALL

BATCH = {name: tf.constant(values) for name, values in random_batch(SMALL).items()}


def encoder(**changes):
    layer = Encoder(dataclasses.replace(SMALL, **changes))
    layer.build()
    return layer


def encode(layer):
    names = ("input_ids", "input_mask", "segment_ids")
    return layer(*(BATCH[name] for name in names)).numpy()


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
