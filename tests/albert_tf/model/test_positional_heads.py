"""Positional heads: in the first weights, heads look at the tokens beside them."""

import dataclasses

import numpy as np
import pytest

from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.positional_heads import OFFSETS, begin_with_positional_heads
from albert_tf.model.pretrainer import AlbertPretrainer
from schemas.config import ModelConfig

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


def model_with_positional_heads(config, *, standard_deviation=0.02):
    model = AlbertPretrainer(config)
    initialize_weights(model, standard_deviation=standard_deviation, seed=1)
    begin_with_positional_heads(model.encoder)
    return model


def attention_of(model, layer):
    """The attention weights of a layer on a random text, `[A, S, S]`."""
    config, rng = model.config, np.random.default_rng(0)
    ids = rng.integers(5, config.vocab_size, (1, LENGTH))
    ones, zeros = np.ones_like(ids), np.zeros_like(ids)
    rows = model.encoder.embeddings(ids, zeros)
    if layer:
        every = model.encoder(ids, ones, zeros, every_layer=True)
        rows = every[layer - 1]
    attentions = [n for n in model.encoder.sublayers if n.endswith("attention")]
    weights = model.encoder.sublayers[attentions[min(layer, len(attentions) - 1)]]
    queries, keys = (
        np.reshape(part(rows), (LENGTH, config.num_attention_heads, -1))
        for part in (weights.query, weights.key)
    )
    scores = np.einsum("iad,jad->aij", queries, keys) / np.sqrt(queries.shape[-1])
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("config", [FACTORISED, LIKE_BERT], ids=["albert", "bert"])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_every_head_looks_most_at_its_offset_in_every_layer(config, layer):
    attention = attention_of(model_with_positional_heads(config), layer)
    inside = np.arange(2, LENGTH - 2)
    for head, offset in enumerate(OFFSETS):
        most = attention[head, inside].argmax(axis=-1)
        assert (most == inside + offset).mean() > 0.9
        assert attention[head, inside, inside + offset].mean() > 5 / LENGTH
