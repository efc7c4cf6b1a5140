"""A sampled softmax learns what the whole one does, and follows from seed and step."""

import dataclasses

import numpy as np
import pytest

from albert_tf.model import sampled_softmax
from albert_tf.model.pretrainer import AlbertPretrainer, micro_batch_loss
from albert_tf.model.sampled_softmax import Sampler, among_any, num_candidates
from albert_tf.training.timing import random_batch
from schemas.architecture import ModelConfig
from schemas.config import DataConfig, TrainConfig
from tests.training_data import TINY

VOCABULARY, MASKED, NUMBER = 200, 40, 90

SHARES = np.random.default_rng(7).dirichlet(np.full(VOCABULARY, 0.3))


@pytest.fixture
def few_frequent(monkeypatch):
    """As in a vocabulary of thousands, only some tokens are candidates in each step."""
    monkeypatch.setattr(sampled_softmax, "FREQUENT", 10)


def drawn(seed, *, labels=None):
    if labels is None:
        labels = np.random.default_rng(seed).choice(VOCABULARY, MASKED, p=SHARES)
    return labels, Sampler(number=NUMBER, shares=SHARES, seed=1).draw(labels, step=seed)


def test_candidates_are_what_is_masked_what_is_frequent_and_others(few_frequent):
    labels, found = drawn(1)
    frequent = np.argsort(-SHARES)[:10]
    assert len(found.ids) == NUMBER == len(set(found.ids))
    assert (np.diff(found.ids) > 0).all()
    assert set(labels) | set(frequent) < set(found.ids)
    assert (found.log_chances[np.isin(found.ids, frequent)] == 0).all()


def test_the_same_step_has_the_same_candidates_in_whatever_order_it_is_masked(few_frequent):
    labels, found = drawn(1)
    _, again = drawn(1, labels=labels[::-1])
    np.testing.assert_array_equal(found.ids, again.ids)
    np.testing.assert_array_equal(found.log_chances, again.log_chances)
    assert not np.array_equal(found.ids, drawn(2, labels=labels)[1].ids)


def test_the_lowered_logits_add_up_to_those_of_the_whole_vocabulary(few_frequent):
    logits = np.random.default_rng(3).normal(size=VOCABULARY)
    sums = []
    for seed in range(2000):
        _, found = drawn(seed)
        sums.append(np.exp(logits[found.ids] - found.log_chances).sum())
    assert np.mean(sums) == pytest.approx(np.exp(logits).sum(), rel=0.01)


def test_a_batch_among_all_tokens_has_the_loss_of_the_whole_softmax():
    model = AlbertPretrainer(TINY)
    for variable in model.trainable_variables:
        values = np.random.default_rng(len(variable.path)).normal(0, 0.3, variable.shape)
        variable.assign(values)
    batch = random_batch((1, 4, 16), length=12, predictions=3, vocab_size=TINY.vocab_size)
    losses = []
    for given in (batch, among_any(batch, number=TINY.vocab_size)):
        one = {name: values[0] for name, values in given.items()}
        loss, _ = micro_batch_loss(model, one, mlm_count=12.0, sentence_count=4.0, piece_count=48.0)
        losses.append(float(loss))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


MODEL = ModelConfig(hidden_size=256, num_attention_heads=4)
TRAIN = TrainConfig(sampled_softmax=True, batch_size=32, schedule="constant-cooldown")
DATA = DataConfig(max_seq_length=128, masked_lm_prob=0.4).resolved(input_bytes=0)


@pytest.mark.parametrize(
    ("model", "train", "number"),
    [
        ({}, {}, 2144),
        ({"hidden_size": 384}, {}, 2144),
        ({"hidden_size": 512}, {}, None),
        ({"vocab_size": 8000}, {}, 2144),
        ({"vocab_size": 7000}, {}, None),
        ({}, {"sampled_softmax": False}, None),
        # There would be no step with the whole vocabulary.
        ({}, {"schedule": "linear"}, None),
        # The step masks so much that a sample is no smaller.
        ({}, {"batch_size": 256}, None),
        ({}, {"batch_size": 64}, 3776),
    ],
)
def test_the_shape_decides_how_many_candidates_there_are(model, train, number):
    model, train = dataclasses.replace(MODEL, **model), dataclasses.replace(TRAIN, **train)
    assert num_candidates(model, train, [DATA]) == number
