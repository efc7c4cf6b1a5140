"""Vectors of tokens: what stands beside the same tokens is alike."""

import numpy as np
import pytest

from albert_tf.training.first_weights import (
    CONTEXTS,
    leading_vectors,
    neighbour_counts,
    pmi_vectors,
    positive_information,
    whole_texts,
)
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, MASK_ID, PAD_ID, SEP_ID

A, B, C = range(FIRST_ORDINARY_ID, FIRST_ORDINARY_ID + 3)


def counted(*rows, vocab_size=FIRST_ORDINARY_ID + 3):
    """Counts by token and context, contexts in the order of their ids."""
    ids = np.array(rows)
    counts = neighbour_counts([ids], vocab_size=vocab_size)
    frequencies = np.bincount(ids.ravel(), minlength=vocab_size)
    frequencies[:FIRST_ORDINARY_ID] = 0
    order = np.argsort(-frequencies, kind="stable")[: counts.shape[1]]
    return {
        (token, context): round(float(counts[token, place]), 2)
        for place, context in enumerate(order)
        for token in range(vocab_size)
        if counts[token, place]
    }


def test_near_tokens_count_more_than_far_ones_on_either_side():
    assert counted([A, B, C]) == {
        (A, B): 1.0,
        (B, A): 1.0,
        (B, C): 1.0,
        (C, B): 1.0,
        (A, C): 0.5,
        (C, A): 0.5,
    }


def test_special_tokens_and_padding_stand_beside_nothing():
    row = [CLS_ID, A, SEP_ID, B, PAD_ID, PAD_ID]
    assert counted(row) == {(A, B): 0.5, (B, A): 0.5}


def test_rows_do_not_touch():
    assert counted([A, A], [B, B]) == {(A, A): 2.0, (B, B): 2.0}


def test_no_more_contexts_than_are_frequent():
    vocab_size = CONTEXTS + 50
    counts = neighbour_counts([np.array([[A, B, C]])], vocab_size=vocab_size)
    assert counts.shape == (vocab_size, CONTEXTS)


def test_what_stands_together_less_than_by_chance_is_nothing():
    information = positive_information(np.float32([[8, 1], [1, 8], [0, 0]]))
    assert (information >= 0).all()
    assert information[0, 1] == information[1, 0] == 0
    assert not information[2].any()


def test_the_vectors_are_those_of_an_exact_decomposition():
    random = np.random.default_rng(3)
    matrix = random.random((90, 60), dtype="f4")
    found = leading_vectors(matrix, columns=4)
    left, values, _ = np.linalg.svd(matrix)
    exact = left[:, :4] * np.sqrt(values[:4])
    assert np.abs(found) == pytest.approx(np.abs(exact), abs=2e-3)


def test_tokens_in_the_same_places_are_alike_and_unseen_ones_have_none():
    random = np.random.default_rng(0)
    size = 40
    # Tokens in turns from the first and from the second half of the vocabulary.
    halves = np.arange(FIRST_ORDINARY_ID, size - 1).reshape(2, -1)
    rows = np.stack(
        [random.choice(halves[place // 8], 400) for place in range(16)], axis=1
    )
    vectors = pmi_vectors([rows], vocab_size=size, columns=2)
    assert not vectors[[*range(FIRST_ORDINARY_ID), size - 1]].any()
    seen = vectors[halves.ravel()]
    assert seen.mean(axis=0) == pytest.approx(0, abs=1e-5)
    assert seen.std(axis=0) == pytest.approx(1, abs=1e-5)
    first, second = vectors[halves[0]], vectors[halves[1]]
    spread = max(first.std(axis=0).min(), second.std(axis=0).min())
    gap = np.abs(first.mean(axis=0) - second.mean(axis=0)).max()
    assert gap > 2 * spread


A, B, C = range(FIRST_ORDINARY_ID, FIRST_ORDINARY_ID + 3)


def test_labels_are_put_back_where_they_were_masked():
    batch = {
        "input_ids": np.array([[[CLS_ID, MASK_ID, B, SEP_ID], [CLS_ID, A, C, SEP_ID]]]),
        "masked_lm_positions": np.array([[[1, 0], [2, 1]]]),
        "masked_lm_ids": np.array([[[A, 0], [B, C]]]),
        "masked_lm_weights": np.array([[[1.0, 0.0], [1.0, 1.0]]]),
    }
    assert whole_texts(batch).tolist() == [
        [CLS_ID, A, B, SEP_ID],
        [CLS_ID, C, B, SEP_ID],
    ]
