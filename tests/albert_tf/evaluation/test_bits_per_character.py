"""Bits for each character of held-out words, and what counting knows beside them."""

import numpy as np
import pytest

from albert_tf.evaluation.bits_per_character import bits_per_character, known_beside
from albert_tf.evaluation.neighbour_counts import UNKNOWN
from albert_tf.evaluation.word_scores import questions_about
from albert_tf.evaluation.words import Span


def test_the_value_is_all_bits_by_all_characters():
    found = bits_per_character(np.log([2.0, 2.0**9]), np.array([1.0, 4.0]))
    # 1 and 9 bits, 2 a character on average: one less and one more than expected.
    assert found.value == pytest.approx(2.0)
    assert found.high == pytest.approx(2.0 + 1.96 * np.sqrt(1**2 + 1**2) / 5)
    assert found.low == pytest.approx(2.0 - 1.96 * np.sqrt(1**2 + 1**2) / 5)


def test_the_interval_is_that_of_many_draws_of_the_words():
    rng = np.random.default_rng(0)
    characters = rng.integers(1, 10, (2000, 400)).astype(float)
    losses = rng.exponential(2.0, characters.shape) * characters
    values = (losses.sum(axis=1) / np.log(2)) / characters.sum(axis=1)
    found = bits_per_character(losses[0], characters[0])
    spread = 1.96 * values.std()
    assert found.high - found.value == pytest.approx(spread, rel=0.15)
    assert found.value - found.low == pytest.approx(spread, rel=0.15)


def test_counting_knows_what_follows_a_word_only_at_its_last_token():
    rows = [np.array([2, 9, 3]), np.array([2, 10, 11, 12, 3])]
    questions = questions_about(rows, [Span(1, 1, 3), Span(1, 3, 4), Span(0, 1, 2)])
    assert [column.tolist() for column in known_beside(questions)] == [
        [10, 11, 12, 9],
        [2, 10, 11, 2],
        [UNKNOWN, 12, 3, 3],
    ]
