"""What is reported of a fine-tuned model."""

import numpy as np

from albert_tf.finetuning.task_evaluation import Answered, evaluated
from albert_tf.tasks.kinds import task_of
from schemas.task import TaskExample, TaskSpec


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
