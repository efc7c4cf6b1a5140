"""Measures of a task and their intervals."""

import pytest

from albert_tf.tasks.kinds import task_of
from albert_tf.tasks.measures import interval_of, measured
from schemas.errors import SettingError
from schemas.task import TaskExample, TaskSpec

TASK = task_of(
    TaskSpec(
        name="classify", kind="classify", labels=("a", "b", "c"), metrics=("accuracy",)
    )
)


def test_a_label_that_the_task_has_not_is_refused():
    with pytest.raises(SettingError, match="'d' is not one of classify: a, b, c"):
        TASK.target(TaskExample(id="0", place="", text="", label="d"))


def test_the_interval_of_a_share_is_wilsons_and_of_others_by_samples():
    true, said = [0, 1] * 50, [0, 0] * 50
    assert measured(TASK, true, said) == {"accuracy": 0.5}
    low, high = interval_of(TASK, "accuracy", true, said)
    assert (round(low, 3), round(high, 3)) == (0.404, 0.596)
    low, high = interval_of(TASK, "macro_f1", true, said)
    assert low < 1 / 3 < high
    assert interval_of(TASK, "macro_f1", true, said) == (low, high)
