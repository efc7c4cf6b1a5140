"""What training examples say of a task: its labels, and metrics if it has no name."""

import dataclasses
from collections.abc import Iterable, Sequence

from pipeline.tasks.tags import are_entities
from schemas.errors import AlbertError
from schemas.task import Kind, Metric, TaskExample, TaskSpec

_METRICS: dict[Kind, tuple[Metric, ...]] = {
    "classify": ("accuracy", "macro_f1"),
    "multilabel": ("micro_f1", "macro_f1"),
    "regress": ("pearson", "spearman"),
    "choose": ("accuracy",),
    "answer": ("answer_f1", "exact_match"),
    "tag": ("accuracy",),
}


def with_labels(task: TaskSpec, train: Sequence[TaskExample]) -> TaskSpec:
    """The task as its training examples make it.

    Args:
        task: Whose labels are kept if it has some.
        train: What will be trained on.

    >>> examples = [TaskExample(id=l, place="", text="", label=l) for l in ("10", "9")]
    >>> with_labels(TaskSpec(name="classify", kind="classify"), examples).labels
    ('9', '10')
    """
    found = {
        label: example for example in reversed(train) for label in labels_of(example)
    }
    if task.labels:
        for label, example in found.items():
            if label not in task.labels:
                raise AlbertError(
                    f"{example.place}: the label {label!r:.60} is not one of "
                    f"{task.name}: {', '.join(task.labels):.200}."
                )
    labels = task.labels or _in_order(found, task.kind)
    metrics = task.metrics or default_metrics(task.kind, labels)
    learned = found if task.kind != "regress" else {each.score for each in train}
    if task.kind in ("classify", "regress", "tag") and len(learned) < 2:
        what = "score" if task.kind == "regress" else "label"
        raise AlbertError(
            f"All {len(train)} training examples have the same {what} "
            f"{next(iter(learned), None)!r:.60}; there is nothing to learn."
        )
    return dataclasses.replace(
        task,
        labels=labels,
        metrics=metrics,
        has_unanswerable=task.has_unanswerable
        or any(example.is_impossible for example in train),
    )


def default_metrics(kind: Kind, labels: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics of a task that has no name.

    >>> default_metrics("tag", ("O", "B-PER", "I-PER"))
    ('entity_f1',)
    """
    if kind == "tag" and are_entities(set(labels)):
        return ("entity_f1",)
    return _METRICS[kind]


def labels_of(example: TaskExample) -> tuple[str, ...]:
    """The labels that an example has: its label, its labels or its tags."""
    if example.label is not None:
        return (example.label,)
    return example.labels or example.tags or ()


def _in_order(labels: Iterable[str], kind: Kind) -> tuple[str, ...]:
    """Numbers by their value, all others by the alphabet; of tags, O first.

    Entities that may begin may go on, also if none of the training examples does.
    """
    different = set(labels)
    if kind == "tag" and are_entities(different):
        types = sorted({label[2:] for label in different if label != "O"})
        return ("O", *(f"{prefix}-{each}" for each in types for prefix in "BI"))
    if all(label.isascii() and label.isdecimal() for label in different):
        return tuple(sorted(different, key=int))
    return tuple(sorted(different))
