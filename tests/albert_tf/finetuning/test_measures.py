"""Measures of tasks by hand; `test_published_measures` has what other programs say."""

import dataclasses

import numpy as np
import pytest

from albert_tf.finetuning import answer_metrics, calibration, label_metrics
from albert_tf.finetuning.entity_metrics import (
    Entity,
    Found,
    count_entities,
    entities_of,
)
from albert_tf.finetuning.task_evaluation import Answered, evaluated
from albert_tf.finetuning.task_measures import interval_of, measured, targets_of
from schemas.errors import SettingError
from schemas.task import TaskExample, TaskSpec

SPEC = TaskSpec(
    name="classify", kind="classify", labels=("a", "b", "c"), metrics=("accuracy",)
)
TWO_LABELS = dataclasses.replace(SPEC, labels=("0", "1"))


def test_a_label_without_predictions_has_no_precision_and_counts_in_the_mean():
    table = label_metrics.confusion([0, 1, 2, 2], [0, 0, 2, 2], labels=3)
    scores = label_metrics.precision_recall_f1(table)
    np.testing.assert_allclose(scores[0], [0.5, 0, 1])
    np.testing.assert_allclose(scores[1], [1, 0, 1])
    np.testing.assert_allclose(scores[2], [2 / 3, 0, 1])
    assert label_metrics.macro_f1(table) == pytest.approx(5 / 9)
    assert label_metrics.balanced_accuracy(table) == pytest.approx(2 / 3)


def test_matthews_of_two_labels_is_the_correlation_of_their_numbers():
    rng = np.random.default_rng(1)
    true, said = rng.integers(0, 2, (2, 300))
    table = label_metrics.confusion(true, said, labels=2)
    assert label_metrics.matthews(table) == pytest.approx(np.corrcoef(true, said)[0, 1])
    assert label_metrics.matthews(np.array([[3, 0], [5, 0]])) == 0.0


def test_what_is_constant_correlates_with_nothing():
    assert label_metrics.pearson(np.ones(3), np.arange(3)) == 0.0
    assert label_metrics.spearman(np.arange(3), np.ones(3)) == 0.0


def test_the_area_under_the_curve_counts_pairs_and_half_of_the_ties():
    rng = np.random.default_rng(3)
    true, scores = rng.integers(0, 2, 60), rng.integers(0, 9, 60)
    pairs = scores[true == 1][:, None] - scores[true == 0]
    expected = np.mean((pairs > 0) + 0.5 * (pairs == 0))
    assert label_metrics.area_under_curve(true, scores) == pytest.approx(expected)
    assert label_metrics.area_under_curve(np.ones(3), np.arange(3)) is None


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        (["I-A", "I-A", "I-B"], [Entity("A", 0, 2), Entity("B", 2, 3)]),
        (["O", "I-A", "B-A"], [Entity("A", 1, 2), Entity("A", 2, 3)]),
        (["B-A", "I-B", "O"], [Entity("A", 0, 1), Entity("B", 1, 2)]),
        (["B-A", "I-A"], [Entity("A", 0, 2)]),
        (["O", "O"], []),
    ],
)
def test_entities_also_of_tags_that_break_the_rules(tags, entities):
    assert entities_of(tags) == entities


def test_entities_of_all_types_are_counted_together_and_apart():
    counts = count_entities([["B-A", "I-A", "O", "B-B"]], [["B-A", "O", "O", "B-B"]])
    assert counts == {"": Found(1, 2, 2), "A": Found(0, 1, 1), "B": Found(1, 1, 1)}
    assert counts[""].f1 == 0.5


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


def test_errors_of_tags_are_told_by_the_words_that_are_wrong():
    tags = ("O", "B-PER", "I-PER")
    spec = TaskSpec(name="tag", kind="tag", labels=tags, metrics=("entity_f1",))
    example = TaskExample(
        id="0", place="", text="Tom a", words=("Tom", "a"), tags=("B-PER", "O")
    )
    output = np.array([[0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
    (error,) = evaluated(Answered(spec, [example], [output]), threshold=None)["errors"]
    assert (error["predicted"], error["right"]) == (["Tom/I-PER"], ["Tom/B-PER"])


def test_errors_of_choices_are_told_by_the_text_of_the_options():
    spec = TaskSpec(name="choose", kind="choose", metrics=("accuracy",))
    examples = [
        TaskExample(
            id=str(n), place="", text="Tom?", options=("pears", "apples"), choice=1
        )
        for n in range(2)
    ]
    outputs = [np.array([2.0, 0.0]), np.array([0.0, 1.0])]
    answered = Answered(spec, examples, outputs)
    (error,) = evaluated(answered, threshold=None)["errors"]
    assert (error["id"], error["predicted"], error["right"]) == ("0", "pears", "apples")


def labelled(ids, labels):
    """Examples of one of two labels each."""
    return [
        TaskExample(id=name, place="", text="", label=str(label))
        for name, label in zip(ids, labels, strict=True)
    ]


def probabilities_of(result):
    """What is told of how right probabilities are."""
    names = (
        "temperature",
        "calibration_error",
        "calibration_error_with_temperature",
        "area_under_curve",
        "f1_threshold",
    )
    return {name: result[name] for name in names if name in result}


def test_one_example_has_a_calibration_error_once_the_temperature_is_known():
    answered = Answered(TWO_LABELS, labelled(["0"], [1]), [np.log([1.0, 3.0])])
    result = evaluated(answered, threshold=None, temperature=0.5)
    assert probabilities_of(result) == {
        "temperature": 0.5,
        "calibration_error": pytest.approx(0.25),
        "calibration_error_with_temperature": pytest.approx(0.1),
        "area_under_curve": None,
    }


def test_nothing_is_chosen_where_all_examples_are_of_one_half():
    ids = [str(n) for n in range(40) if calibration.halves([str(n)])[0]][:4]
    outputs = [np.array([0.0, score]) for score in (0.1, 0.4, 0.35, 0.8)]
    answered = Answered(TWO_LABELS, labelled(ids, [0, 0, 1, 1]), outputs)
    result = evaluated(answered, threshold=None)
    assert probabilities_of(result) == {"area_under_curve": 0.75}


def test_a_temperature_that_is_known_is_measured_on_all_examples():
    rng = np.random.default_rng(0)
    logits, true = rng.normal(0, 3, (40, 2)), rng.integers(0, 2, 40)
    examples = labelled(map(str, range(40)), true)
    answered = Answered(TWO_LABELS, examples, list(logits))
    result = evaluated(answered, threshold=None, temperature=3.0)
    assert result["temperature"] == 3.0
    for name, scale in (("", 1), ("_with_temperature", 3)):
        shares = calibration.softmax(logits / scale)
        expected = calibration.calibration_error(shares, true)
        assert result[f"calibration_error{name}"] == expected


def test_a_temperature_repairs_logits_that_are_too_sure():
    rng = np.random.default_rng(5)
    logits = rng.normal(0, 1, (4000, 3))
    shares = calibration.softmax(logits).cumsum(axis=1)
    true = (rng.random(4000)[:, None] > shares).sum(axis=1)
    assert calibration.best_temperature(logits * 4, true) == pytest.approx(4, rel=0.1)
    sure = calibration.calibration_error(calibration.softmax(logits * 4), true)
    right = calibration.calibration_error(calibration.softmax(logits), true)
    assert sure > 0.2
    assert right < 0.04


def test_a_label_that_the_task_has_not_is_refused():
    with pytest.raises(SettingError, match="'d' is not one of classify: a, b, c"):
        targets_of(SPEC, [TaskExample(id="0", place="", text="", label="d")])


def test_the_interval_of_a_share_is_wilsons_and_of_others_by_samples():
    true, said = [0, 1] * 50, [0, 0] * 50
    assert measured(SPEC, true, said) == {"accuracy": 0.5}
    low, high = interval_of(SPEC, "accuracy", true, said)
    assert (round(low, 3), round(high, 3)) == (0.404, 0.596)
    low, high = interval_of(SPEC, "macro_f1", true, said)
    assert low < 2 / 9 < high
    assert interval_of(SPEC, "macro_f1", true, said) == (low, high)
