"""First weights: distribution, independence, the same for the same seed."""

import dataclasses

import numpy as np
import pytest

from albert_tf.model import initial_weights
from albert_tf.model.initial_weights import initialize_weights, truncated_normal
from albert_tf.model.pretrainer import AlbertPretrainer
from schemas.architecture import ModelConfig
from tests.huggingface_albert import SMALL


def test_values_are_normal_cut_at_two_and_others_for_each_path_and_seed():
    values = truncated_normal((300, 300), path="a", seed=1)
    assert np.abs(values).max() <= 2
    # Variance of the standard normal distribution cut at 2.
    assert values.std() == pytest.approx(0.8796, abs=0.01)
    assert values.mean() == pytest.approx(0.0, abs=0.01)
    drawn = [truncated_normal((3,), path=p, seed=s) for p in "ab" for s in (1, 2)]
    assert len({tuple(values.tolist()) for values in drawn}) == 4


def test_kernels_are_drawn_as_the_same_seed_drew_them_biases_zero_and_scales_one():
    first, second = AlbertPretrainer(SMALL), AlbertPretrainer(SMALL)
    for model in (first, second):
        initialize_weights(model, standard_deviation=0.02, seed=1)
    for path, weight in first.weights_by_path.items():
        values = weight.numpy()
        np.testing.assert_array_equal(values, second.weights_by_path[path].numpy())
        if values.ndim > 1:
            assert 0 < values.std() < 0.03
        else:
            assert set(values.tolist()) == {float(path.endswith("gamma"))}


FACTORISED = ModelConfig(
    vocab_size=500,
    embedding_size=64,
    hidden_size=128,
    num_hidden_layers=3,
    num_attention_heads=4,
    intermediate_size=256,
)
LIKE_BERT = dataclasses.replace(FACTORISED, embedding_size=128, sharing="none")
LENGTH = 40


@pytest.mark.parametrize("config", [FACTORISED, LIKE_BERT], ids=["albert", "bert"])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_every_head_looks_most_at_its_offset_in_every_layer(config, layer):
    model, rng = AlbertPretrainer(config), np.random.default_rng(0)
    initialize_weights(model, standard_deviation=0.02, seed=1)
    initial_weights.begin_with_positional_heads(model.encoder)
    ids = rng.integers(5, config.vocab_size, (1, LENGTH))
    ones, zeros = np.ones_like(ids), np.zeros_like(ids)
    rows = model.encoder.embeddings(ids, zeros)
    if layer:
        rows = model.encoder(ids, ones, zeros, every_layer=True)[layer - 1]
    attentions = [n for n in model.encoder.sublayers if n.endswith("attention")]
    weights = model.encoder.sublayers[attentions[min(layer, len(attentions) - 1)]]
    heads = (LENGTH, config.num_attention_heads, -1)
    queries, keys = (np.reshape(part(rows), heads) for part in (weights.query, weights.key))
    powers = np.exp(np.einsum("iad,jad->aij", queries, keys) / np.sqrt(queries.shape[-1]))
    attention = powers / powers.sum(axis=-1, keepdims=True)
    inside = np.arange(2, LENGTH - 2)
    for head, offset in enumerate(initial_weights.OFFSETS):
        most = attention[head, inside].argmax(axis=-1)
        assert (most == inside + offset).mean() > 0.9
        assert attention[head, inside, inside + offset].mean() > 5 / LENGTH
