"""Measures of 2,000 made predictions, as other programs have them.

What SQuAD's and CMRC's own scripts say of the made answers was computed once, by
google-research/albert (b772393, `squad_utils.py`, which has both of SQuAD's scripts)
and ymcui/cmrc2018 (c0eb1b6, `cmrc2018_evaluate.py`, with NLTK 3.10.4). The other
programs are asked each time.
"""

import numpy as np
import pytest

from albert_tf.tasks import answer_metrics, label_metrics
from albert_tf.tasks.entity_metrics import count_entities
from albert_tf.tasks.kinds import task_of
from albert_tf.tasks.measures import measured
from schemas.task import TaskSpec
from tests.albert_tf.tasks.made_predictions import (
    NUMBER,
    generator,
    made_answers,
    made_chinese_answers,
    made_null_scores,
)

LABELS = ("a", "b", "c", "d", "e")


def close_to(value):
    return pytest.approx(value, abs=1e-9, rel=0)


def percent(measure, made):
    values = [answer_metrics.best_of(measure, said, golds) for said, golds in made]
    return 100 * sum(values) / len(values)


def test_answers_are_worth_what_the_script_of_squad_1_says():
    made = made_answers()
    assert percent(answer_metrics.exact_match, made) == close_to(14.55)
    assert percent(answer_metrics.answer_f1, made) == close_to(71.32382561882591)


def test_answers_and_their_threshold_are_worth_what_the_script_of_squad_2_says():
    made = made_answers(seed=3, has_unanswerable=True)
    assert percent(answer_metrics.exact_match, made) == close_to(14.45)
    assert percent(answer_metrics.answer_f1, made) == close_to(53.3568179043177)
    for measure, best, threshold in (
        (answer_metrics.answer_f1, 63.40681790431819, 9.99),
        (answer_metrics.exact_match, 35.45, -3.17),
    ):
        found_threshold, worth = answer_metrics.best_null_threshold(
            made_null_scores(made),
            [answer_metrics.best_of(measure, said, golds) for said, golds in made],
            [answer_metrics.best_of(measure, "", golds) for _, golds in made],
        )
        assert 100 * worth == close_to(best)
        assert found_threshold == close_to(threshold)


def test_chinese_answers_are_worth_what_the_script_of_cmrc_says():
    made = made_chinese_answers()
    assert percent(answer_metrics.cmrc_f1, made) == close_to(60.20031936931308)
    assert percent(answer_metrics.cmrc_exact_match, made) == close_to(8.55)


def made_labels(*, labels, seed):
    """Labels of which some are rare, and predictions that are often right."""
    rng = generator(seed)
    shares = np.arange(1, labels + 1) ** 2.0
    true, said = rng.choice(labels, (2, NUMBER), p=shares / shares.sum())
    return true, np.where(rng.random(NUMBER) < 0.5, true, said)


@pytest.mark.slow
def test_labels_are_worth_what_scikit_learn_says():
    metrics = pytest.importorskip("sklearn.metrics")
    true, said = made_labels(labels=5, seed=4)
    spec = TaskSpec(
        name="classify",
        kind="classify",
        labels=LABELS,
        metrics=("accuracy", "macro_f1", "matthews"),
    )
    assert measured(task_of(spec), true, said) == {
        "accuracy": close_to(metrics.accuracy_score(true, said)),
        "macro_f1": close_to(metrics.f1_score(true, said, average="macro")),
        "matthews": close_to(metrics.matthews_corrcoef(true, said)),
    }
    table = label_metrics.confusion(true, said, labels=5)
    np.testing.assert_array_equal(table, metrics.confusion_matrix(true, said))
    theirs = metrics.precision_recall_fscore_support(true, said)[:3]
    ours = label_metrics.precision_recall_f1(table)
    np.testing.assert_allclose(ours, theirs, atol=1e-9, rtol=0)
    assert label_metrics.balanced_accuracy(table) == close_to(
        metrics.balanced_accuracy_score(true, said)
    )


@pytest.mark.slow
def test_two_labels_are_worth_what_scikit_learn_says():
    metrics = pytest.importorskip("sklearn.metrics")
    true, said = made_labels(labels=2, seed=5)
    table = label_metrics.confusion(true, said, labels=2)
    assert label_metrics.f1(table) == close_to(metrics.f1_score(true, said))
    assert label_metrics.matthews(table) == close_to(
        metrics.matthews_corrcoef(true, said)
    )


@pytest.mark.slow
def test_several_labels_are_worth_what_scikit_learn_says():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = generator(7)
    true = (rng.random((NUMBER, 5)) < [0.5, 0.3, 0.1, 0.05, 0.01]).astype(int)
    said = np.where(rng.random((NUMBER, 5)) < 0.9, true, 1 - true)
    names = ("micro_f1", "macro_f1", "accuracy")
    spec = TaskSpec(name="multilabel", kind="multilabel", labels=LABELS, metrics=names)
    assert measured(task_of(spec), true, said) == {
        "micro_f1": close_to(metrics.f1_score(true, said, average="micro")),
        "macro_f1": close_to(metrics.f1_score(true, said, average="macro")),
        "accuracy": close_to(metrics.accuracy_score(true, said)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("digits", [0, 1, 12])
def test_scores_are_worth_what_scipy_says(digits):
    stats = pytest.importorskip("scipy.stats")
    rng = generator(8)
    true = rng.uniform(0, 5, NUMBER)
    said = (true + rng.normal(size=NUMBER)).round(digits)
    spec = TaskSpec(name="regress", kind="regress", metrics=("pearson", "spearman"))
    assert measured(task_of(spec), true, said) == {
        "pearson": close_to(stats.pearsonr(true, said)[0]),
        "spearman": close_to(stats.spearmanr(true, said)[0]),
    }


@pytest.mark.slow
def test_entities_are_worth_what_seqeval_says():
    """Also of tags that break the rules: an I- after another type, or after none."""
    seqeval = pytest.importorskip("seqeval.metrics")
    rng, tags = generator(9), ("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-X", "I-X")
    true, said = [], []
    for _ in range(NUMBER):
        right = rng.choice(len(tags), int(rng.integers(1, 12)), p=[0.4, *[0.1] * 6])
        other = rng.choice(len(tags), len(right))
        guess = np.where(rng.random(len(right)) < 0.7, right, other)
        true.append([tags[number] for number in right])
        said.append([tags[number] for number in guess])
    counts = count_entities(true, said)
    theirs = seqeval.classification_report(true, said, output_dict=True)
    assert {name for name in counts if name} == {"PER", "LOC", "X"}
    for name, count in counts.items():
        expected = theirs[name or "micro avg"]
        assert count.precision == close_to(expected["precision"])
        assert count.recall == close_to(expected["recall"])
        assert count.f1 == close_to(expected["f1-score"])
        assert count.wanted == expected["support"]
