"""How likely a model finds whole words in their places."""

import numpy as np
import pytest

from albert_tf.evaluation.bits_per_character import (
    bits_per_character,
    counting_losses,
    model_losses,
    unmasked_rows,
)
from albert_tf.evaluation.neighbour_counts import NeighbourCounts
from albert_tf.evaluation.word_scores import (
    WIDTH,
    Question,
    batches_by_length,
    questions_about,
    token_losses,
)
from albert_tf.evaluation.words import Word
from albert_tf.inference.predictions import mask_probabilities
from albert_tf.model.pretrainer import AlbertPretrainer
from schemas.special_tokens import CLS_ID, MASK_ID, SEP_ID
from tests.huggingface_albert import SMALL, lively_weights

ROW = [CLS_ID, 10, 11, 12, SEP_ID, 13, 14, SEP_ID]


@pytest.fixture(scope="module")
def model():
    model = AlbertPretrainer(SMALL)
    weights = lively_weights(model)
    for path, weight in model.weights_by_path.items():
        weight.assign(weights[path])
    return model


def test_a_word_is_predicted_from_left_to_right():
    assert list(questions_about(ROW, [(1, 3), (5, 6)])) == [
        Question([CLS_ID, MASK_ID, MASK_ID, 12, SEP_ID, 13, 14, SEP_ID], 1, 10),
        Question([CLS_ID, 10, MASK_ID, 12, SEP_ID, 13, 14, SEP_ID], 2, 11),
        Question([CLS_ID, 10, 11, 12, SEP_ID, MASK_ID, 14, SEP_ID], 5, 13),
    ]


def test_the_loss_of_a_token_is_that_of_the_model_at_its_mask(model):
    questions = list(questions_about(ROW, [(2, 3)]))
    (expected,) = mask_probabilities(model, questions[0].tokens)
    np.testing.assert_allclose(
        token_losses(model, questions), [-np.log(expected[11])], rtol=1e-5
    )


def test_what_else_is_in_the_batch_makes_no_difference(model):
    questions = list(questions_about(ROW, [(1, 4)]))
    longer = list(questions_about([CLS_ID, *range(10, 20), SEP_ID], [(1, 11)]))
    alone = token_losses(model, questions)
    together = token_losses(model, [*longer, *questions])[-3:]
    np.testing.assert_allclose(together, alone, rtol=1e-5)


def test_questions_of_a_length_share_one_shape_whatever_their_number():
    questions = list(questions_about([CLS_ID, *range(10, 20), SEP_ID], [(1, 11)]))
    longer = list(questions_about([CLS_ID, *[9] * WIDTH, SEP_ID], [(1, 2)]))
    shapes = [
        (rows.tolist(), batch["input_ids"].shape)
        for rows, batch in batches_by_length([*longer, *questions], longest=100)
    ]
    assert shapes == [(list(range(1, 11)), (128, 64)), ([0], (81, 100))]


def test_the_losses_of_a_word_are_those_of_its_tokens_added_up(model):
    rows = [np.array(ROW)]
    words = [Word(0, 1, 3, 5, 0), Word(0, 5, 6, 2, 0)]
    tokens = token_losses(model, list(questions_about(ROW, [(1, 3), (5, 6)])))
    np.testing.assert_allclose(
        model_losses(model, rows, words), [tokens[0] + tokens[1], tokens[2]]
    )


def test_counting_knows_what_follows_a_word_only_at_its_last_token():
    rows = [np.array(ROW)]
    counts = NeighbourCounts([np.array(ROW)] * 3, vocab_size=20)
    unigram, neighbours = counting_losses(counts, rows, [Word(0, 1, 3, 5, 0)])
    expected = counts.losses(
        np.array([10, 11]), left=np.array([CLS_ID, 10]), right=np.array([-1, 12])
    )
    np.testing.assert_allclose(neighbours, [expected.sum()])
    np.testing.assert_allclose(
        unigram, [counts.unigram_losses(np.array([10, 11])).sum()]
    )


def test_masked_tokens_are_put_back_and_padding_is_cut_off():
    batch = {
        "input_ids": np.array([[2, MASK_ID, 9, 3, 0], [0] * 5], np.int32),
        "input_mask": np.array([[1, 1, 1, 1, 0], [0] * 5], np.int32),
        "masked_lm_positions": np.array([[1, 0], [0, 0]], np.int32),
        "masked_lm_ids": np.array([[8, 0], [0, 0]], np.int32),
        "masked_lm_weights": np.array([[1.0, 0.0], [0.0, 0.0]], np.float32),
    }
    assert [row.tolist() for row in unmasked_rows([batch])] == [[2, 8, 9, 3]]


def test_the_interval_is_that_of_many_draws_of_the_words():
    rng = np.random.default_rng(0)
    characters = rng.integers(1, 10, (2000, 400)).astype(float)
    losses = rng.exponential(2.0, characters.shape) * characters
    values = (losses.sum(axis=1) / np.log(2)) / characters.sum(axis=1)
    found = bits_per_character(losses[0], characters[0])
    spread = 1.96 * values.std()
    assert found.high - found.value == pytest.approx(spread, rel=0.15)
    assert found.value - found.low == pytest.approx(spread, rel=0.15)
