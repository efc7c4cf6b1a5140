"""From the logits of windows to answers, and answers beside right ones."""

from array import array

import numpy as np
import pytest

from albert_tf.tasks import answers
from albert_tf.tasks.answers import AnswerScores, AnswerSpan, answer_scores
from albert_tf.tasks.evaluation import task_of
from schemas.task import EncodedExample, TaskSpec, TokenSequence, Window

PASSAGE = "ab cd  ef gh"
# Two windows, [CLS] ? [SEP] and three words each; the second word is in both.
STARTS = ((-1, -1, -1, 0, 3, 7, -1), (-1, -1, -1, 3, 7, 10, -1))
ENDS = ((-1, -1, -1, 2, 5, 9, -1), (-1, -1, -1, 5, 9, 12, -1))
CONTEXT = (bytes([0, 0, 0, 1, 1, 0, 0]), bytes([0, 0, 0, 0, 1, 1, 0]))


def row(number):
    window = Window(array("i", STARTS[number]), array("i", ENDS[number]), CONTEXT[number])
    sequence = TokenSequence(array("i", range(7)), 3)
    return EncodedExample(example=0, sequences=(sequence,), window=window)


def logits(first=(), last=(), null=0.0):
    """Logits `[7, 2]`: 1 where an answer may begin, or end."""
    scores = np.full((7, 2), -5.0)
    scores[0] = null / 2
    for column, places in enumerate((first, last)):
        scores[list(places), column] = 1.0
    return scores


def test_an_answer_is_the_text_from_its_first_to_its_last_token_which_are_not_too_far_apart():
    found = answer_scores(PASSAGE, [row(0)], [logits([4], [5])], max_tokens=30)
    assert found.spans[0] == AnswerSpan("cd  ef", 3, 9, 2.0)
    assert found.best(None) == found.spans[0]
    # It does not end before it begins.
    scores = logits([5, 3], [3, 5])
    found = answer_scores(PASSAGE, [row(0)], [scores], max_tokens=2)
    assert found.spans[0].text == "ab"
    found = answer_scores(PASSAGE, [row(0)], [scores], max_tokens=1)
    assert sorted(span.text for span in found.spans) == ["ab", "cd"]


def test_a_question_has_no_answer_where_none_scores_more_than_all_by_the_threshold():
    scores = AnswerScores((AnswerSpan("ab", 0, 2, 1.0),), null_score=1.5)
    assert scores.best(0.4) is None
    assert scores.best(0.5) == AnswerSpan("ab", 0, 2, 1.0)
    assert AnswerScores((), 0.0).best(None) is None


def test_of_windows_an_answer_takes_the_one_most_around_it_and_none_the_least_score():
    rows = [row(0), row(1)]
    best = answer_scores(PASSAGE, rows, [logits([5], [5]), logits()], max_tokens=30).spans[0]
    assert (best.text, best.score) != ("ef", 2.0)
    windows = [logits(null=4.0), logits(null=-2.0)]
    assert answer_scores(PASSAGE, rows, windows, max_tokens=5).null_score == -2.0


def test_the_null_threshold_is_the_best_of_all():
    rng = np.random.default_rng(4)
    for _ in range(30):
        scores = rng.integers(0, 6, 12).astype(float)
        answered, unanswered = rng.random((2, 12))
        threshold, best = answers.best_null_threshold(scores, answered, unanswered)
        worth = [np.where(scores > t, unanswered, answered).mean() for t in (-1.0, *range(6))]
        assert best == pytest.approx(max(worth))
        assert np.where(scores > threshold, unanswered, answered).mean() == (pytest.approx(best))


@pytest.mark.parametrize(
    ("has_unanswerable", "margins", "threshold"),
    [(False, [1.0], None), (True, [], 0.0), (True, [3.0, 1.0], 1.0)],
)
def test_the_margin_of_no_answer_is_chosen_where_a_question_may_have_none(
    has_unanswerable, margins, threshold
):
    spec = TaskSpec(
        name="answer", kind="answer", metrics=("exact_match",), has_unanswerable=has_unanswerable
    )
    outputs = [AnswerScores((AnswerSpan("ab", 0, 2, 0.0),), margin) for margin in margins]
    # The first question has no answer, the second one has the answer found.
    assert task_of(spec).best_threshold(outputs, [(), ("ab",)][: len(outputs)]) == threshold
