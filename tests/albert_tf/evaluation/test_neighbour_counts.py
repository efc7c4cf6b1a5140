"""Counts of tokens and their neighbours, the marks that a model has to beat."""

import numpy as np
import pytest

from albert_tf.evaluation.neighbour_counts import (
    EXPONENT,
    SMOOTHING,
    UNKNOWN,
    NeighbourCounts,
)

ROWS = [np.array([2, 5, 6, 7, 3]), np.array([2, 5, 6, 6, 3]), np.array([2, 7, 6, 7, 3])]
COUNTS = NeighbourCounts(ROWS, vocab_size=8)

# How often tokens 0 to 7 occur, each with half a sighting more.
SHARE = np.array([0.5, 0.5, 3.5, 3.5, 0.5, 2.5, 4.5, 3.5]) / 19


def smoothed(counts):
    values = np.array(counts) + SMOOTHING * SHARE
    return values / values.sum()


# What stands after 6, and what stands before 7.
AFTER_6 = smoothed([0, 0, 0, 1, 0, 0, 1, 2])
BEFORE_7 = smoothed([0, 0, 1, 0, 0, 0, 2, 0])


def test_without_neighbours_a_token_is_as_likely_as_it_is_frequent():
    np.testing.assert_allclose(COUNTS.shares(UNKNOWN, UNKNOWN), SHARE)
    np.testing.assert_allclose(
        COUNTS.unigram_losses(np.array([6, 0])), -np.log(SHARE[[6, 0]])
    )


@pytest.mark.parametrize(
    ("left", "right", "shares"),
    [(6, UNKNOWN, AFTER_6), (UNKNOWN, 7, BEFORE_7)],
)
def test_one_neighbour_is_smoothed_towards_the_frequencies(left, right, shares):
    np.testing.assert_allclose(COUNTS.shares(left, right), shares)


def test_two_neighbours_are_multiplied_and_damped():
    product = (AFTER_6 * BEFORE_7) ** EXPONENT
    np.testing.assert_allclose(COUNTS.shares(6, 7), product / product.sum())


def test_the_loss_is_minus_the_log_of_the_share_of_the_label():
    losses = COUNTS.losses(
        np.array([6, 7]), left=np.array([6, 6]), right=np.array([7, UNKNOWN])
    )
    product = (AFTER_6 * BEFORE_7) ** EXPONENT
    expected = [-np.log(product[6] / product.sum()), -np.log(AFTER_6[7])]
    np.testing.assert_allclose(losses, expected)


def test_what_was_never_seen_beside_anything_is_as_likely_as_it_is_frequent():
    np.testing.assert_allclose(COUNTS.shares(0, UNKNOWN), SHARE)
