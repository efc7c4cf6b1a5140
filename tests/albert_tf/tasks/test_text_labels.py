"""Measures of labels and scores that scikit-learn and scipy have to be asked for."""

import numpy as np
import pytest

from albert_tf.tasks.evaluation import interval_of, measured, task_of
from schemas.task import TaskSpec

LABELS = ("a", "b", "c", "d")


def task(kind, *metrics, labels=LABELS):
    spec = TaskSpec(name=kind, kind=kind, labels=labels, metrics=metrics)
    return task_of(spec)


def test_a_label_without_predictions_has_no_precision_and_counts_in_the_mean():
    classify = task("classify", "macro_f1")
    true, said = [0, 1, 2, 2], [0, 0, 2, 2]
    assert measured(classify, true, said)["macro_f1"] == pytest.approx(5 / 9)
    found = classify.by_label(true, said)
    precisions = [scores["precision"] for scores in found["labels"].values()]
    assert precisions == [0.5, 0.0, 1.0, 0.0]
    assert found["balanced_accuracy"] == pytest.approx(2 / 3)
    assert found["confusion"][1] == [1, 0, 0, 0]


def test_labels_that_neither_occur_nor_are_predicted_do_not_count():
    classify = task("classify", "macro_f1")
    assert measured(classify, [0, 1, 1], [0, 1, 1])["macro_f1"] == 1.0
    expected = pytest.approx((1 + 2 / 3 + 0) / 3)
    assert measured(classify, [0, 1, 1], [0, 1, 3])["macro_f1"] == expected


def test_f1_is_that_of_the_second_label_also_if_it_is_rare():
    classify = task("classify", "f1", "matthews", labels=("1", "0"))
    assert measured(classify, [0, 0, 0, 1], [0, 0, 1, 1])["f1"] == pytest.approx(2 / 3)
    assert measured(classify, [0, 0], [0, 0]) == {"f1": 0.0, "matthews": 0.0}


@pytest.mark.parametrize("number", [1, 2])
def test_several_labels_are_measured_by_those_that_are_given(number):
    """Also a single one, which scikit-learn takes for two."""
    several = task("multilabel", "micro_f1", "macro_f1", labels=LABELS[:number])
    true = [(1,) * number, (0,) * number, (0,) * number, (1,) * number]
    said = [(1,) * number, (0,) * number, (0,) * number, (0,) * number]
    expected = pytest.approx(2 / 3)
    assert measured(several, true, said) == {"micro_f1": expected, "macro_f1": expected}
    found = several.by_label(true, said)["labels"]
    assert list(found) == list(LABELS[:number])
    assert found["a"] == {"precision": 1.0, "recall": 0.5, "f1": expected, "support": 2}


def test_labels_that_are_nowhere_do_not_count_in_a_mean_or_its_interval():
    several = task("multilabel", "macro_f1", labels=LABELS)
    true = [(0,) * n + (1,) + (0,) * (len(LABELS) - n - 1) for n in (0, 0, 1)]
    assert measured(several, true, true) == {"macro_f1": 1.0}
    # Wilson's of three examples that are all right.
    assert interval_of(several, "macro_f1", true, true) == pytest.approx((0.4385, 1.0), abs=1e-4)
    none = [(0,) * len(LABELS)] * 3
    assert measured(several, none, none) == {"macro_f1": 0.0}


def test_what_is_constant_correlates_with_nothing():
    regress = task("regress", "pearson", "spearman", labels=())
    nothing = {"pearson": 0.0, "spearman": 0.0}
    assert measured(regress, [1.0, 1.0, 1.0], [0.0, 1.0, 2.0]) == nothing
    assert measured(regress, [0.0, 1.0, 2.0], [1.0, 1.0, 1.0]) == nothing
    assert measured(regress, [1.0], [1.0]) == nothing
    scores = measured(regress, np.array([1, 2, 2, 3]), np.array([10, 30, 20, 40]))
    assert scores["spearman"] == pytest.approx(0.9486832980505138)
