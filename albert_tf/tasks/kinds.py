"""The class of each kind of task."""

from albert_tf.tasks.answer import AnswerInPassage
from albert_tf.tasks.choose import Choose
from albert_tf.tasks.classify import Classify
from albert_tf.tasks.multilabel import MultiLabel
from albert_tf.tasks.regress import Regress
from albert_tf.tasks.tag import Tag
from albert_tf.tasks.task import Task
from schemas.task import Kind, TaskSpec

_KINDS: dict[Kind, type[Task]] = {
    "classify": Classify,
    "multilabel": MultiLabel,
    "regress": Regress,
    "choose": Choose,
    "answer": AnswerInPassage,
    "tag": Tag,
}


def task_of(spec: TaskSpec) -> Task:
    """A task, as its kind computes and measures it."""
    return _KINDS[spec.kind](spec)
