"""Which words of held-out text a model is asked about."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from albert_tf.evaluation import bits_per_character as module
from albert_tf.evaluation.bits_per_character import Span, questions_about, sample_words
from albert_tf.evaluation.counting import UNKNOWN
from albert_tf.model.trained_model import mask_probabilities
from albert_tf.runs.metrics import bits_per_character
from schemas.example import CLS_ID, MASK_ID, PAD_ID, SEP_ID
from tests.huggingface_albert import lively_model


def vocabulary(pieces, *, inside=()):
    """A vocabulary of these pieces, of which some start no word."""
    return module.Vocabulary(pieces, np.array([piece not in inside for piece in pieces]))


PIECES = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]", "▁the", "▁old", "er", "-", "▁"]
VOCABULARY = vocabulary(PIECES, inside=("er",))


@pytest.mark.parametrize(
    ("row", "spans"),
    [
        # the, old with er; neither a mark, a space, nor what is unknown.
        ([2, 5, 6, 7, 8, 9, 1, 3], [Span(4, 1, 2), Span(4, 2, 4)]),
        # The beginning of the first word is not in the row.
        ([2, 7, 5, 3], [Span(4, 2, 3)]),
    ],
)
def test_a_word_has_all_its_tokens_in_the_row_and_nothing_but_letters(row, spans):
    shown = [PIECES[token] for token in row]
    found = module.words_of_row(shown, VOCABULARY.word_starts[row], number=4)
    assert [word.span for word in found] == spans


def test_what_tells_words_apart_are_the_letters_around_them():
    alone, between = (
        list(module.words_of_row(shown, np.ones(len(shown), bool)))[-1]
        for shown in (["[CLS]", "▁a"], ["[CLS]", "▁the", "▁a"])
    )
    dotted = module.words_of_row(["▁the", ".", "▁a", "."], np.ones(4, bool))
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
    sample = sample_words([encoded(text, pieces)], vocabulary(pieces, inside=inside), maximum=100)
    return [(word.key, word.characters) for word in sample]


@given(texts)
def test_two_vocabularies_are_asked_about_the_same_words(text):
    assert sampled(text, LETTERS) == sampled(text, PAIRS)


def test_about_a_share_of_all_words_is_sampled_and_a_smaller_sample_is_part_of_a_larger_one():
    """In the order of the text."""
    pieces = [*SPECIAL, *(f"▁{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(676))]
    row = np.array([0, *range(2, len(pieces)), 1])
    sample = sample_words([row], vocabulary(pieces), maximum=1000)
    assert abs(len(sample) / 676 - module.SHARE) < 0.04
    rows = [np.array([2, 5, 6, 5, 6, 7, 5, 5, 6, 6, 5, 3])] * 30
    large, small = (sample_words(rows, VOCABULARY, maximum=n) for n in (30, 10))
    assert len(small) == min(10, len(large))
    assert set(small) <= set(large)
    assert small == sorted(small, key=lambda word: word.span)


def test_words_are_drawn_from_so_many_letters_of_text(monkeypatch):
    monkeypatch.setattr(module, "TEXT_LETTERS", 20)
    row = np.array([2, 5, 6, 7, 9, 1, 3])  # Eight letters: the, old, er.
    assert len(list(module.first_rows([row] * 10, VOCABULARY))) == 3


ROW = np.array([CLS_ID, 10, 11, 12, SEP_ID, 13, 14, SEP_ID])


@pytest.fixture(scope="module")
def model():
    return lively_model()


def test_segments_and_padding_are_those_of_training():
    row = np.array([CLS_ID, 10, 11, 12, SEP_ID, 13, 14, 15, SEP_ID])
    ((_, batch),) = module.batches_by_length(questions_about([row], [Span(0, 1, 2)]), longest=16)
    assert batch["input_ids"][0, 9:].tolist() == [PAD_ID] * 3
    assert batch["input_mask"][0].tolist() == [1] * 9 + [0] * 3
    assert batch["segment_ids"][0].tolist() == [0] * 5 + [1] * 4 + [0] * 3


def test_the_loss_of_a_word_is_that_of_its_tokens_each_given_those_before(model):
    """Whatever else is asked."""

    def first_loss(tokens, label):
        return -np.log(mask_probabilities(model, tokens)[0][label])

    expected = [
        first_loss([CLS_ID, MASK_ID, MASK_ID, 12, SEP_ID, 13, 14, SEP_ID], 10)
        + first_loss([CLS_ID, 10, MASK_ID, 12, SEP_ID, 13, 14, SEP_ID], 11),
        first_loss([CLS_ID, 10, 11, 12, SEP_ID, MASK_ID, 14, SEP_ID], 13),
    ]
    longer, told = np.array([CLS_ID, *range(10, 20), SEP_ID]), []
    words = [Span(0, 1, 3), Span(0, 5, 6), Span(1, 1, 11)]
    losses = module.WordScorer(model).losses([ROW, longer], words, on_batch=told.append)
    np.testing.assert_allclose(losses[:2], expected, rtol=1e-5)
    assert sum(told) == 13


def test_questions_are_sorted_by_length_and_padded_to_few_widths():
    """None is greater than the positions, and the layers see one shape."""
    rows = [np.arange(20) + 5, np.arange(10) + 5]
    words = [Span(0, 1, 2), *[Span(1, 1, 2)] * 200, Span(0, 2, 3)]
    found = module.batches_by_length(questions_about(rows, words), longest=40)
    shapes = [(len(some), batch["input_ids"].shape) for some, batch in found]
    assert shapes == [(128, (128, 24)), (74, (256, 12))]
    found = [module.width_of(n, longest=40) for n in (1, 8, 17, 32, 33, 40)]
    assert found == [8, 8, 24, 32, 40, 40]
    widths = {module.width_of(length, longest=512) for length in range(1, 513)}
    assert {module.BATCH_TOKENS % width for width in widths} == {0}


def test_the_value_is_all_bits_by_all_characters_and_its_interval_that_of_many_draws():
    found = bits_per_character(np.log([2.0, 2.0**9]), np.array([1.0, 4.0]))
    # 1 and 9 bits, 2 a character on average: one less and one more than expected.
    error = 1.96 * np.sqrt(1**2 + 1**2) / 5
    assert found == pytest.approx((2.0, 2.0 - error, 2.0 + error))
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
    known = [column.tolist() for column in module.known_beside(questions)]
    assert known == [[10, 11, 12, 9], [2, 10, 11, 2], [UNKNOWN, 12, 3, 3]]
