"""What a person should know of the examples of a task before training on them."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pipeline.tasks.task_labels import labels_of
from schemas.errors import AlbertError
from schemas.task import TaskExample, TaskSpec

# Of a label with fewer training examples nothing can be learned or measured.
_RARE = 10

# This many of them are named.
_MOST_RARE = 20

# The share of answers that may be absent from their passages; real files lack 2 in 100.
_MAX_LOST_ANSWERS = 0.1


def check_examples(
    task: TaskSpec, train: Sequence[TaskExample], *, evaluation: Sequence[TaskExample]
) -> None:
    """Refuse examples that a task cannot have.

    Args:
        task: With its labels.
        train: To train on.
        evaluation: To choose by.
    """
    for example in evaluation:
        for label in labels_of(example):
            if label not in task.labels:
                raise AlbertError(
                    f"{example.place}: no training example has the label "
                    f"{label!r:.60}; add some, or leave it out."
                )
    known = sum(bool(example.answers) for example in train)
    lost = _without_their_answers(train)
    if len(lost) > _MAX_LOST_ANSWERS * known:
        raise AlbertError(
            f"{lost[0].place} and {len(lost) - 1} more of {known} have an answer "
            "that is not in the passage; copy answers from it character by character."
        )


def warnings_about(
    task: TaskSpec, train: Sequence[TaskExample], *, evaluation: Sequence[TaskExample]
) -> Iterator[str]:
    """What a person should know, a sentence each. None of it forbids training.

    Args:
        task: With its labels.
        train: To train on.
        evaluation: To choose by.
    """
    if rare := _rare_labels(task, train):
        more = len(rare) - _MOST_RARE
        listed = ", ".join(rare[:_MOST_RARE])
        listed += f" and {more:,} more" if more > 0 else ""
        yield f"Labels with fewer than {_RARE} training examples: {listed}."
    trained = set(map(_key, train))
    if overlap := sum(_key(example) in trained for example in evaluation):
        yield (
            f"Evaluation examples with a text that is trained on: {overlap:,} of "
            f"{len(evaluation):,}."
        )
    if empty := sum(map(_is_empty, [*train, *evaluation])):
        yield f"Examples with an empty text: {empty:,}."
    if lost := len(_without_their_answers(train)):
        yield (
            "Questions not trained on, because their answers are not in their "
            f"passages: {lost:,}."
        )


def _rare_labels(task: TaskSpec, train: Sequence[TaskExample]) -> list[str]:
    """The labels that few training examples have, each with how many, or words.

    The number of an entity's inner words says nothing.
    """
    counts = Counter(label for example in train for label in labels_of(example))
    return [
        f"{label} {counts[label]}"
        for label in task.labels
        if counts[label] < _RARE and not label.startswith("I-")
    ]


def _without_their_answers(train: Sequence[TaskExample]) -> list[TaskExample]:
    """The questions that have answers, none of which is in the passage."""
    return [
        example
        for example in train
        if example.answers and all(answer.start < 0 for answer in example.answers)
    ]


def _key(example: TaskExample) -> tuple[str, str]:
    """What two examples share if knowing one by heart is to know the other."""
    is_passage = example.options or example.answers is not None
    pair = "" if is_passage else example.text_pair or ""
    return (" ".join(example.text.split()), " ".join(pair.split()))


def _is_empty(example: TaskExample) -> bool:
    pair = example.text_pair
    return not example.text.strip() or (pair is not None and not pair.strip())
