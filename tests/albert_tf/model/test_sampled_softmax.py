"""A sampled softmax learns what the whole one does, and follows from seed and step."""

import dataclasses

import numpy as np
import pytest

from albert_tf.model.pretrainer import AlbertPretrainer, micro_batch_loss
from albert_tf.model.sampled_softmax import Candidates, Sampler, among_any, num_candidates
from albert_tf.training.timing import random_batch
from schemas.architecture import ModelConfig
from schemas.config import DataConfig, TrainConfig
from tests.training_data import TINY

VOCABULARY, MASKED, NUMBER = 200, 40, 90

# Smoothed, as those of a run are: what is never drawn would be missed.
SHARES = 0.9 * np.random.default_rng(7).dirichlet(np.full(VOCABULARY, 0.3)) + 0.1 / VOCABULARY


def drawn(seed, *, labels=None, shown=()):
    random = np.random.default_rng(seed)
    shown = np.array([*shown, *random.choice(VOCABULARY, 60, p=SHARES)])
    if labels is None:
        labels = random.choice(VOCABULARY, MASKED, p=SHARES)
    sampler = Sampler(number=NUMBER, log_shares=np.log(SHARES), seed=1)
    return labels, shown, sampler.draw(labels, shown=shown, step=seed)


def test_candidates_are_what_is_masked_and_what_is_drawn_by_its_share():
    labels, shown, found = drawn(1)
    assert len(found.candidates) == NUMBER
    assert (np.diff(found.candidates) > 0).all()
    assert set(labels) < set(found.candidates)
    is_drawn = found.offsets >= 0
    # Others than labels are there only where they are drawn.
    assert set(found.candidates[~is_drawn]) < set(labels)
    chances = np.exp(-found.offsets[is_drawn])
    of_step = np.bincount(shown, minlength=VOCABULARY) / 60
    shares = (SHARES + of_step)[found.candidates[is_drawn]]
    threshold = (chances / shares)[chances < 1].max()
    np.testing.assert_allclose(chances, np.minimum(1, threshold * shares), rtol=1e-6)
    assert 10 < np.count_nonzero(chances == 1) < 60


def test_the_same_step_has_the_same_candidates_in_whatever_order_it_is_masked():
    labels, _, found = drawn(1)
    *_, again = drawn(1, labels=labels[::-1])
    for one, other in zip(found, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(found.candidates, drawn(2, labels=labels)[-1].candidates)


def test_the_logits_add_up_to_those_of_the_whole_vocabulary_whatever_is_masked():
    """Also where a step masks some rare tokens again and again."""
    logits = np.random.default_rng(3).normal(size=VOCABULARY)
    rare = np.repeat(np.argsort(SHARES)[:8], 5)
    logits[rare] += 3
    sums = []
    for seed in range(3000):
        *_, found = drawn(seed, labels=rare)
        sums.append(np.exp(logits[found.candidates] + found.offsets).sum())
    assert np.mean(sums) == pytest.approx(np.exp(logits).sum(), rel=0.02)


def test_a_sampled_softmax_learns_the_probabilities_of_the_whole_one():
    """Of logits without a model, where two texts have, and show, rare tokens of their own."""
    random = np.random.default_rng(0)
    truth = np.full((2, VOCABULARY), 0.5 / VOCABULARY)
    for text, own in enumerate(np.argsort(SHARES)[:20].reshape(2, 10)):
        truth[text, own] += 0.05
    logits, squares, learnt = (np.zeros((2, VOCABULARY)) for _ in range(3))
    for step in range(3000):
        texts = np.repeat([0, 1], MASKED // 2)
        labels = np.array([random.choice(VOCABULARY, p=truth[text]) for text in texts])
        *_, found = drawn(step, labels=labels, shown=np.argsort(SHARES)[:20])
        is_label = found.candidates == labels[:, None]
        offsets = np.where(is_label, 0, found.offsets)
        seen = np.exp(logits[texts][:, found.candidates] + offsets)
        gradient = np.zeros_like(logits)
        of_rows = seen / seen.sum(axis=1, keepdims=True) - is_label
        np.add.at(gradient, (texts[:, None], found.candidates[None]), of_rows / MASKED)
        squares = 0.99 * squares + 0.01 * gradient**2
        logits -= 0.02 * gradient / (np.sqrt(squares) + 1e-6)
        if step >= 1000:
            shares = np.exp(logits)
            learnt += shares / shares.sum(axis=1, keepdims=True) / 2000
    of_own = [learnt[text][truth[text] > 0.01].sum() for text in range(2)]
    assert of_own == pytest.approx([0.525, 0.525], abs=0.04)


def lively(precision="float32"):
    model = AlbertPretrainer(TINY, precision=precision)
    for variable in model.trainable_variables:
        values = np.random.default_rng(len(variable.path)).normal(0, 0.3, variable.shape)
        variable.assign(values)
    return model


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.05)])
def test_logits_are_of_candidates_with_offsets_but_where_they_are_the_label(precision, tolerance):
    batch = random_batch((1, 4, 16), length=12, predictions=3, vocab_size=TINY.vocab_size)
    batch["masked_lm_ids"][...] = [5, 6, 17]
    ids = np.array([2, 5, 6, 17, 40], np.int32)
    offsets = np.array([0.0, -10_000.0, 3.0, -10_000.0, 1.5], np.float32)
    given = Candidates(ids, offsets).batch(batch)
    model = lively(precision)
    whole, sampled = (
        np.asarray(model({name: values[0] for name, values in one.items()})[0], "float32")
        for one in (batch, given)
    )
    is_label = np.arange(5) == [[1], [2], [3]] * 4
    expected = whole[:, ids] + np.where(is_label, 0, offsets)
    np.testing.assert_allclose(sampled, expected, atol=tolerance, rtol=tolerance)


def test_a_batch_among_all_tokens_has_the_loss_of_the_whole_softmax():
    model = lively()
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
        ({}, {}, 2400),
        ({"hidden_size": 384}, {}, 2400),
        ({"hidden_size": 512}, {}, None),
        ({"vocab_size": 8000}, {}, 2400),
        ({"vocab_size": 7000}, {}, None),
        ({}, {"sampled_softmax": False}, None),
        # There would be no step with the whole vocabulary.
        ({}, {"schedule": "linear"}, None),
        # The step masks so much that a sample is no smaller.
        ({}, {"batch_size": 256}, None),
        ({}, {"batch_size": 64}, 4032),
    ],
)
def test_the_shape_decides_how_many_candidates_there_are(model, train, number):
    model, train = dataclasses.replace(MODEL, **model), dataclasses.replace(TRAIN, **train)
    assert num_candidates(model, train, DATA) == number
