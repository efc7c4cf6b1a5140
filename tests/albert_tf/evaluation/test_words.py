"""Which words of held-out text a model is asked about."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.evaluation import words
from albert_tf.evaluation.words import (
    SHARE,
    Span,
    Vocabulary,
    first_rows,
    sample_words,
    words_of_row,
)


def vocabulary(pieces, *, inside=()):
    """A vocabulary of these pieces, of which some start no word."""
    return Vocabulary(pieces, np.array([piece not in inside for piece in pieces]))


PIECES = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "▁the", "▁old", "er", "-", "▁"]


VOCABULARY = vocabulary(PIECES, inside=("er",))


def found(row):
    """The text of each word found in a row."""
    shown = [PIECES[token] for token in row]
    spans = [word.span for word in words_of_row(shown, VOCABULARY.word_starts[row])]
    return ["".join(shown[span.start : span.end]) for span in spans]


def test_a_word_has_all_its_tokens_and_nothing_but_letters():
    assert found([2, 5, 6, 7, 8, 9, 1, 3]) == ["▁the", "▁older"]


def test_the_rest_of_a_word_that_the_row_cuts_off_is_not_a_word():
    assert found([2, 7, 5, 3]) == ["▁the"]


def test_what_tells_words_apart_are_the_letters_around_them():
    alone, between = (
        list(words_of_row(shown, np.ones(len(shown), bool)))[-1]
        for shown in (["[CLS]", "▁a"], ["[CLS]", "▁the", "▁a"])
    )
    dotted = words_of_row(["▁the", ".", "▁a", "."], np.ones(4, bool))
    assert alone.key != between.key == list(dotted)[-1].key


letters = st.sampled_from("abcde")
texts = st.lists(st.text(letters, min_size=1, max_size=6), min_size=1, max_size=40)

SPECIAL = ["[CLS]", "[SEP]"]
LETTERS = [*SPECIAL, *(f"▁{c}" for c in "abcde"), *"abcde"]
PAIRS = [
    *LETTERS,
    *(f"▁{c}{d}" for c in "abcde" for d in "abcde"),
    *(f"{c}{d}" for c in "abcde" for d in "abcde"),
]


def encoded(text, pieces):
    """A text as the longest pieces that fit, between [CLS] and [SEP]."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    row = [ids["[CLS]"]]
    for word in text:
        left = f"▁{word}"
        while left:
            piece = next(left[:n] for n in (3, 2, 1) if left[:n] in ids)
            row.append(ids[piece])
            left = left[len(piece) :]
    return np.array([*row, ids["[SEP]"]])


def sampled(text, pieces):
    """Hash and length of each word sampled from a text."""
    inside = [piece for piece in pieces if piece[0] not in "▁["]
    sample = sample_words(
        [encoded(text, pieces)], vocabulary(pieces, inside=inside), maximum=100
    )
    return [(word.key, word.characters) for word in sample]


@given(texts)
def test_two_vocabularies_are_asked_about_the_same_words(text):
    assert sampled(text, LETTERS) == sampled(text, PAIRS)


def test_about_the_share_of_all_words_is_sampled():
    pieces = [
        *SPECIAL,
        *(f"▁{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(676)),
    ]
    row = np.array([0, *range(2, len(pieces)), 1])
    sample = sample_words([row], vocabulary(pieces), maximum=1000)
    assert abs(len(sample) / 676 - SHARE) < 0.04


def test_a_smaller_sample_is_part_of_a_larger_one_in_the_order_of_the_text():
    rows = [np.array([2, 5, 6, 5, 6, 7, 5, 5, 6, 6, 5, 3])] * 30
    large, small = (sample_words(rows, VOCABULARY, maximum=n) for n in (30, 10))
    assert len(small) == min(10, len(large))
    assert set(small) <= set(large)
    assert small == sorted(small, key=lambda word: word.span)


def test_words_are_drawn_from_so_many_letters_of_text(monkeypatch):
    monkeypatch.setattr(words, "TEXT_LETTERS", 20)
    row = np.array([2, 5, 6, 7, 9, 1, 3])  # Eight letters: the, old, er.
    assert len(list(first_rows([row] * 10, VOCABULARY))) == 3


def test_where_a_word_stands_is_told_by_row_and_tokens():
    row = np.array([2, 5, 6, 7, 3])
    shown = [PIECES[token] for token in row]
    found = words_of_row(shown, VOCABULARY.word_starts[row], number=4)
    assert [word.span for word in found] == [Span(4, 1, 2), Span(4, 2, 4)]
