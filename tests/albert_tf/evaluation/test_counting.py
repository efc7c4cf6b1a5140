"""Counts of tokens and their neighbours, the marks that a model has to beat."""

import numpy as np
import pytest

from albert_tf.evaluation.counting import SMOOTHING, UNKNOWN, Asked, NeighbourCounts, masked_tokens
from pipeline.records.reading import Unmasked
from schemas.example import CLS_ID, MASK_ID, SEP_ID


def text_of(*rows):
    """Rows of which nothing is masked."""
    ids = np.concatenate([np.array(row) for row in rows])
    offsets = np.cumsum([0, *map(len, rows)])
    return Unmasked(ids, ids, np.zeros(len(ids), bool), offsets)


TEXTS = [
    text_of([CLS_ID, 5, 6, 7, SEP_ID], [CLS_ID, 5, 6, 6, SEP_ID]),
    text_of([CLS_ID, 7, 6, 7, SEP_ID]),
]
COUNTS = NeighbourCounts(TEXTS, vocab_size=8)

# How often the tokens 5 to 7 occur, each with half a sighting more.
SHARE = np.array([2.5, 4.5, 3.5]) / 10.5


def smoothed(counts):
    """The share of each of the tokens 5 to 7 in some sightings."""
    values = np.array(counts) + SMOOTHING * SHARE
    return values / values.sum()


# What stands after 6, what stands before 7, and what between them.
AFTER_6 = smoothed([0, 1, 2])
BEFORE_7 = smoothed([0, 2, 0])
BETWEEN = AFTER_6 * BEFORE_7 / SHARE


# The token on the left, that on the right, and the shares of those between them.
BESIDE = {
    "without neighbours a token is as likely as it is frequent": (UNKNOWN, UNKNOWN, SHARE),
    "one on the left is smoothed towards the frequencies": (6, UNKNOWN, AFTER_6),
    "one on the right as well": (UNKNOWN, 7, BEFORE_7),
    "two are independent given the token between them": (6, 7, BETWEEN / BETWEEN.sum()),
    "special tokens are neighbours too": (CLS_ID, UNKNOWN, smoothed([2, 0, 1])),
    "the end of a row is none of the beginning of the next": (SEP_ID, UNKNOWN, SHARE),
}


@pytest.mark.parametrize(("left", "right", "expected"), BESIDE.values(), ids=BESIDE)
def test_a_token_is_as_likely_as_its_neighbours_make_it(left, right, expected):
    weights = COUNTS.weights(left, right)
    assert weights[:5].sum() == 0  # Special tokens are not predicted.
    np.testing.assert_allclose(weights[5:] / weights.sum(), expected)


def test_the_loss_is_minus_the_log_of_the_share_and_a_hit_the_likeliest_token():
    """Which by frequencies alone is always the most frequent one."""
    asked = Asked(np.array([6, 7, 5]), np.array([6, 6, CLS_ID]), np.array([7, -1, -1]))
    losses, hits = COUNTS.from_neighbours(asked)
    expected = [BETWEEN[1] / BETWEEN.sum(), AFTER_6[2], smoothed([2, 0, 1])[0]]
    np.testing.assert_allclose(losses, -np.log(expected))
    assert hits.tolist() == [True, False, False]
    losses, hits = COUNTS.from_frequencies(asked)
    np.testing.assert_allclose(losses, -np.log(SHARE[[1, 2, 0]]))
    assert hits.tolist() == [True, False, False]
    # What was never counted is still possible.
    weights = NeighbourCounts([], vocab_size=8).weights(5, 6)
    np.testing.assert_allclose(weights[5:] / weights.sum(), np.full(3, 1 / 3))


def test_beside_a_masked_token_counting_sees_what_a_model_sees():
    #         [CLS]  5 masked  6 masked  7      8 masked, kept  9      [SEP]
    ids = np.array([CLS_ID, 5, 6, 7, 8, 9, SEP_ID])
    shown = np.array([CLS_ID, MASK_ID, MASK_ID, 7, 8, 9, SEP_ID])
    is_masked = np.isin(ids, [5, 6, 8])
    asked = masked_tokens(Unmasked(ids, shown, is_masked, np.array([0, 7])))
    assert [each.tolist() for each in asked] == [[5, 6, 8], [CLS_ID, UNKNOWN, 7], [UNKNOWN, 7, 9]]
