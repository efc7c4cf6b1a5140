"""What a model says of one text, against what it computes in a padded batch."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_tf.model import operations, tensorflow_operations
from albert_tf.model.trained_model import in_order_probability, mask_probabilities
from schemas.example import CLS_ID, MASK_ID, SEP_ID
from tests.huggingface_albert import SMALL, lively_model

TEXT = [CLS_ID, 7, MASK_ID, 9, 10, MASK_ID, SEP_ID]
PAIR = [CLS_ID, 7, 8, 9, SEP_ID, 20, 21, SEP_ID]


@pytest.fixture(scope="module")
def model():
    return lively_model(operations=operations)


def batch(ids, places, *, length):
    """A row of `length`, padded at its end, as records are read."""
    separator = ids.index(SEP_ID)
    rest = length - len(ids)
    rows = {
        "input_ids": [*ids, *[0] * rest],
        "input_mask": [*[1] * len(ids), *[0] * rest],
        "segment_ids": [*[int(n > separator) for n in range(len(ids))], *[0] * rest],
        "masked_lm_positions": places,
    }
    return {name: tf.constant([row], tf.int32) for name, row in rows.items()}


def test_masks_and_the_order_are_answered_as_in_a_padded_batch(model):
    logits, _ = model(batch(TEXT, [2, 5], length=16))
    found = mask_probabilities(model, TEXT)
    assert found.shape == (2, SMALL.vocab_size)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found, tf.nn.softmax(logits), atol=1e-6)
    _, logits = model(batch(PAIR, [0], length=16))
    found = in_order_probability(model, PAIR)
    assert found == pytest.approx(float(tf.nn.softmax(logits)[0, 0]), abs=1e-6)
    assert found != pytest.approx(0.5, abs=0.01)


def test_a_text_of_another_length_compiles_nothing(model, monkeypatch):
    def refuse(*arguments, **settings):
        raise AssertionError("it would be compiled for this length")

    for name in ("attend", "cross_entropy", "gelu", "normalize", "project_activated"):
        monkeypatch.setattr(tensorflow_operations, name, refuse)
    assert mask_probabilities(model, TEXT).shape == (2, SMALL.vocab_size)
    assert 0 < in_order_probability(model, PAIR) < 1


def test_a_text_may_have_no_mask_and_a_model_no_sentence_task():
    model = lively_model(dataclasses.replace(SMALL, sentence_task="none"))
    assert mask_probabilities(model, TEXT).shape == (2, SMALL.vocab_size)
    assert mask_probabilities(model, [CLS_ID, 7, SEP_ID]).shape == (0, SMALL.vocab_size)
