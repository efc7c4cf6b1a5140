"""Which words of held-out text a model is asked about."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.evaluation.words import SHARE, sample_words, words_of_row

PIECES = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "▁the", "▁old", "er", "-", "▁"]
STARTS = np.array([piece not in ("er",) for piece in PIECES])


def found(row, pieces=PIECES, starts=STARTS):
    """The text of each word found in a row."""
    return [
        "".join(pieces[token] for token in row[word.start : word.end])
        for word in words_of_row(row, pieces, word_starts=starts)
    ]


def test_a_word_has_all_its_tokens_and_nothing_but_letters():
    assert found([2, 5, 6, 7, 8, 9, 1, 3]) == ["▁the", "▁older"]


def test_the_rest_of_a_word_that_the_example_cuts_off_is_not_a_word():
    assert found([2, 7, 5, 3]) == ["▁the"]


letters = st.sampled_from("abcde")
texts = st.lists(st.text(letters, min_size=1, max_size=6), min_size=1, max_size=40)

LETTERS = ["[CLS]", "[SEP]", *(f"▁{c}" for c in "abcde"), *"abcde"]
PAIRS = [
    *LETTERS,
    *(f"▁{c}{d}" for c in "abcde" for d in "abcde"),
    *(f"{c}{d}" for c in "abcde" for d in "abcde"),
]


def encoded(words, pieces):
    """A text as the longest pieces that fit, between [CLS] and [SEP]."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    row = [ids["[CLS]"]]
    for word in words:
        left = f"▁{word}"
        while left:
            piece = next(left[:n] for n in (3, 2, 1) if left[:n] in ids)
            row.append(ids[piece])
            left = left[len(piece) :]
    return [*row, ids["[SEP]"]]


def sampled(words, pieces):
    """Hash and length of each word sampled from a text."""
    starts = np.array([piece[0] in "▁[" for piece in pieces])
    sample = sample_words(
        [encoded(words, pieces)], pieces, word_starts=starts, maximum=100
    )
    return [(word.key, word.characters) for word in sample]


@given(texts)
def test_two_vocabularies_are_asked_about_the_same_words(words):
    assert sampled(words, LETTERS) == sampled(words, PAIRS)


def test_about_the_share_of_all_words_is_sampled():
    words = [f"{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}" for n in range(676)]
    pieces = ["[CLS]", "[SEP]", *(f"▁{word}" for word in words)]
    row = [0, *range(2, len(pieces)), 1]
    sample = sample_words(
        [row], pieces, word_starts=np.ones(len(pieces), bool), maximum=1000
    )
    assert abs(len(sample) / 676 - SHARE) < 0.04


def test_a_smaller_sample_is_part_of_a_larger_one():
    rows = [[2, 5, 6, 5, 6, 7, 5, 5, 6, 6, 5, 3]] * 30
    large, small = (
        sample_words(rows, PIECES, word_starts=STARTS, maximum=n) for n in (30, 10)
    )
    assert len(small) == min(10, len(large))
    assert set(small) <= set(large)
