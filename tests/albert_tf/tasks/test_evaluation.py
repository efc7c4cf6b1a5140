"""Measures of a task, their intervals, and what is reported of a model."""

import numpy as np
import pytest

from albert_tf.runs.task_record import task_verdict
from albert_tf.tasks.evaluation import Answered, evaluated, interval_of, measured, task_of
from schemas.errors import SettingError
from schemas.task import TaskExample, TaskSpec
from tests.refusals import refusal

TASK = task_of(
    TaskSpec(name="classify", kind="classify", labels=("a", "b", "c"), metrics=("accuracy",))
)


def test_a_label_that_the_task_has_not_is_refused():
    example = TaskExample(id="0", place="", text="", label="d")
    said = refusal(TASK.target, example, error=SettingError)
    assert "'d' is not one of classify: a, b, c" in said


def test_the_interval_of_a_share_is_wilsons_and_of_others_by_samples():
    true, said = [0, 1] * 50, [0, 0] * 50
    assert measured(TASK, true, said) == {"accuracy": 0.5}
    low, high = interval_of(TASK, "accuracy", true, said)
    assert (round(low, 3), round(high, 3)) == (0.404, 0.596)
    low, high = interval_of(TASK, "macro_f1", true, said)
    assert low < 1 / 3 < high
    assert interval_of(TASK, "macro_f1", true, said) == (low, high)


@pytest.mark.parametrize(
    ("true", "said", "expected"),
    [
        ([0, 1, 2], [0, 1, 2], (0.438, 1.0)),
        ([0, 0, 0], [1, 1, 1], (0.0, 0.562)),
        ([0, 1, 2, 0] * 50, [0, 1, 2, 0] * 50, (0.981, 1.0)),
    ],
)
def test_where_all_samples_agree_the_interval_is_that_of_a_share(true, said, expected):
    low, high = interval_of(TASK, "macro_f1", true, said)
    assert (round(low, 3), round(high, 3)) == expected


@pytest.mark.parametrize("metric", ["pearson", "spearman"])
def test_of_three_scores_a_correlation_may_be_any(metric):
    task = task_of(TaskSpec(name="regress", kind="regress", metrics=(metric,)))
    assert interval_of(task, metric, [1.0], [2.0]) == (-1.0, 1.0)
    assert interval_of(task, metric, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == (-1.0, 1.0)
    low, high = interval_of(task, metric, [1.0, 2.0, 4.0, 3.0], [1.0, 3.0, 2.0, 4.0])
    assert -1.0 <= low < high <= 1.0


def error_of(spec, given, *outputs):
    """The one error of a model that says these of examples that are all alike."""
    examples = [TaskExample(id=str(n), place="", **given) for n in range(len(outputs))]
    answered = Answered(task_of(spec), examples, [*map(np.array, outputs)])
    (error,) = evaluated(answered)["errors"]
    return error["id"], error["predicted"], error["right"]


def test_errors_are_told_by_the_words_that_are_wrong_or_the_text_of_the_options():
    labels = ("O", "B-PER", "I-PER")
    spec = TaskSpec(name="tag", kind="tag", labels=labels, metrics=("entity_f1",))
    given = {"text": "Tom a", "words": ("Tom", "a"), "tags": ("B-PER", "O")}
    said = [[0.0, 0.0, 2.0], [2.0, 0.0, 0.0]]
    assert error_of(spec, given, said) == ("0", ["Tom/I-PER"], ["Tom/B-PER"])
    spec = TaskSpec(name="choose", kind="choose", metrics=("accuracy",))
    given = {"text": "Tom?", "options": ("pears", "apples"), "choice": 1}
    assert error_of(spec, given, [2.0, 0.0], [0.0, 1.0]) == ("0", "pears", "apples")


GUESSES, NOTHING = {"majority": 0.5, "words": 0.7}, {"majority": 0.0}
IMPROVING = {"still_improving_after_epochs": 10, "still_improving_after_steps": 50}


@pytest.mark.parametrize(
    ("metric", "value", "guesses", "more", "sentence"),
    [
        ("f1", 0.9, GUESSES, {}, ""),
        (
            *("f1", 0.9, GUESSES, IMPROVING),
            "It was still improving at the last step: train again, into another --output, "
            "twice as long (--epochs 20 or --steps 100) or with a higher --learning-rate.",
        ),
        (
            *("f1", 0.6, GUESSES, {}),
            "Words alone give 0.7000: the model is no better than they are.",
        ),
        (
            *("f1", 0.4, GUESSES, {}),
            "The model is no better than the majority: f1 0.4000, and always giving the same "
            "answer scores 0.5000.",
        ),
        (
            *("f1", 0.5, GUESSES, {}),
            "The model is stuck at the majority: f1 0.5000, and always giving the same answer "
            "scores 0.5000.",
        ),
        # Without a right answer it is not called stuck.
        (
            *("f1", 0.0, NOTHING, {}),
            "The model is no better than the majority: f1 0.0000, and always giving the same "
            "answer scores 0.0000.",
        ),
        (
            *("pearson", -0.03, NOTHING, {}),
            "The model predicts no better than the mean: its scores do not follow the right "
            "ones (pearson -0.0300).",
        ),
        (
            *("entity_f1", 0.0, NOTHING, {}),
            "No entity that the model finds is right: entity_f1 0.0000.",
        ),
    ],
)
def test_a_verdict_tells_the_measures_and_what_to_change(metric, value, guesses, more, sentence):
    baselines = {name: {metric: worth} for name, worth in guesses.items()}
    result = {"metric": metric, "metrics": {metric: value}, "baselines": baselines, **more}
    assert list(task_verdict(result)) == ([sentence] if sentence else [])
