"""Answers beside right ones."""

import numpy as np
import pytest

from albert_tf.tasks import answer_metrics


def test_answers_are_compared_without_case_articles_and_punctuation():
    assert answer_metrics.exact_match("The Rhine!", "rhine") == 1.0
    assert answer_metrics.answer_f1("in the 10th century", "10th century") == 0.8
    assert answer_metrics.best_of(answer_metrics.exact_match, "", ()) == 1.0
    assert answer_metrics.best_of(answer_metrics.answer_f1, "x", ()) == 0.0


def test_chinese_answers_are_compared_by_character():
    assert answer_metrics.segmented("《NBA》 3.5 米") == ["nba", "3.5", "米"]
    assert answer_metrics.cmrc_exact_match("北京，市", "北京市") == 1.0
    assert answer_metrics.cmrc_f1("上海", "北京") == 0.0


def test_the_null_threshold_is_the_best_of_all():
    rng = np.random.default_rng(4)
    for _ in range(30):
        scores = rng.integers(0, 6, 12).astype(float)
        answered, unanswered = rng.random((2, 12))
        threshold, best = answer_metrics.best_null_threshold(
            scores, answered, unanswered
        )
        worth = [
            np.where(scores > t, unanswered, answered).mean() for t in (-1.0, *range(6))
        ]
        assert best == pytest.approx(max(worth))
        assert np.where(scores > threshold, unanswered, answered).mean() == (
            pytest.approx(best)
        )
