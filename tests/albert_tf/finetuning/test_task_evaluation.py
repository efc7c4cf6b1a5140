"""What is reported of a fine-tuned model."""

import numpy as np
import pytest

from albert_tf.finetuning.task_evaluation import Answered, evaluated
from albert_tf.tasks import calibration
from albert_tf.tasks.kinds import task_of
from schemas.task import TaskExample, TaskSpec

TWO_LABELS = task_of(
    TaskSpec(name="classify", kind="classify", labels=("0", "1"), metrics=("accuracy",))
)


def test_errors_of_tags_are_told_by_the_words_that_are_wrong():
    tags = ("O", "B-PER", "I-PER")
    spec = TaskSpec(name="tag", kind="tag", labels=tags, metrics=("entity_f1",))
    example = TaskExample(
        id="0", place="", text="Tom a", words=("Tom", "a"), tags=("B-PER", "O")
    )
    output = np.array([[0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
    answered = Answered(task_of(spec), [example], [output])
    (error,) = evaluated(answered, threshold=None)["errors"]
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
    answered = Answered(task_of(spec), examples, outputs)
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
