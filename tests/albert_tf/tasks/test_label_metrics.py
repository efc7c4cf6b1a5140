"""Measures of labels by hand; `test_published_measures` has what other programs say."""

import numpy as np
import pytest

from albert_tf.tasks import label_metrics


def test_a_label_without_predictions_has_no_precision_and_counts_in_the_mean():
    table = label_metrics.confusion([0, 1, 2, 2], [0, 0, 2, 2], labels=3)
    scores = label_metrics.precision_recall_f1(table)
    np.testing.assert_allclose(scores[0], [0.5, 0, 1])
    np.testing.assert_allclose(scores[1], [1, 0, 1])
    np.testing.assert_allclose(scores[2], [2 / 3, 0, 1])
    assert label_metrics.macro_f1(table) == pytest.approx(5 / 9)
    assert label_metrics.balanced_accuracy(table) == pytest.approx(2 / 3)


def test_labels_that_neither_occur_nor_are_predicted_do_not_count():
    table = label_metrics.confusion([0, 1, 1], [0, 1, 1], labels=4)
    assert label_metrics.macro_f1(table) == 1.0
    table = label_metrics.confusion([0, 1, 1], [0, 1, 3], labels=4)
    assert label_metrics.macro_f1(table) == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_matthews_of_two_labels_is_the_correlation_of_their_numbers():
    rng = np.random.default_rng(1)
    true, said = rng.integers(0, 2, (2, 300))
    table = label_metrics.confusion(true, said, labels=2)
    assert label_metrics.matthews(table) == pytest.approx(np.corrcoef(true, said)[0, 1])
    assert label_metrics.matthews(np.array([[3, 0], [5, 0]])) == 0.0


def test_what_is_constant_correlates_with_nothing():
    assert label_metrics.pearson(np.ones(3), np.arange(3)) == 0.0
    assert label_metrics.spearman(np.arange(3), np.ones(3)) == 0.0
