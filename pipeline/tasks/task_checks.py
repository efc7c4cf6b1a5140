"""What a person should know of the examples of a task before training on them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.tasks.task_labels import labels_of
from schemas.errors import AlbertError
from schemas.task import TaskExample, TaskSpec

# Of a label with fewer training examples nothing can be learned or measured.
RARE = 10

# Of them so many are named.
_MOST_RARE = 20

# Answers that are not in their passages, of which there are 2 in 100 in real files.
_MAX_LOST_ANSWERS = 0.1


class TaskChecks(NamedTuple):
    """What was found. None of it forbids training.

    Attributes:
        train: Number of training examples.
        evaluation: Number of examples to choose by.
        labels: How many training examples, or words of `tag`, each label has.
        rare: The labels that fewer than `RARE` have.
        overlap: Evaluation examples whose text, or passage, is a training example's.
        empty: Examples of both with an empty text.
        lost_answers: Training questions none of whose answers is in the passage; they
            are not trained on.
    """

    train: int
    evaluation: int
    labels: dict[str, int]
    rare: dict[str, int]
    overlap: int
    empty: int
    lost_answers: int

    def warnings(self) -> Iterator[str]:
        """What a person should know, a sentence each."""
        if self.rare:
            shown = [f"{label} {count}" for label, count in self.rare.items()]
            more = len(shown) - _MOST_RARE
            listed = ", ".join(shown[:_MOST_RARE])
            listed += f" and {more:,} more" if more > 0 else ""
            yield f"Labels with fewer than {RARE} training examples: {listed}."
        if self.overlap:
            yield (
                f"Evaluation examples with a text that is trained on: "
                f"{self.overlap:,} of {self.evaluation:,}."
            )
        if self.empty:
            yield f"Examples with an empty text: {self.empty:,}."
        if self.lost_answers:
            yield (
                "Questions not trained on, because their answers are not in their "
                f"passages: {self.lost_answers:,}."
            )


def check_examples(
    task: TaskSpec, train: Sequence[TaskExample], evaluation: Sequence[TaskExample]
) -> TaskChecks:
    """What there is to know of examples.

    Args:
        task: With its labels.
        train: To train on.
        evaluation: To choose by.

    Raises:
        AlbertError: Evaluation examples have a label that no training example has, or
            answers are of other passages.
    """
    for example in evaluation:
        for label in labels_of(example):
            if label not in task.labels:
                raise AlbertError(
                    f"{example.place}: no training example has the label "
                    f"{label!r:.60}; add some, or leave it out."
                )
    counts = Counter(label for example in train for label in labels_of(example))
    known = [example for example in train if example.answers]
    lost = [
        example
        for example in known
        if all(answer.start < 0 for answer in example.answers or ())
    ]
    if len(lost) > _MAX_LOST_ANSWERS * len(known):
        raise AlbertError(
            f"{lost[0].place} and {len(lost) - 1} more of {len(known)} have an answer "
            "that is not in the passage; copy answers from it character by character."
        )
    trained = {_key(example) for example in train}
    labels = {label: counts[label] for label in task.labels}
    return TaskChecks(
        train=len(train),
        evaluation=len(evaluation),
        labels=labels,
        rare={label: n for label, n in labels.items() if n < RARE and _counts(label)},
        overlap=sum(_key(example) in trained for example in evaluation),
        empty=sum(_is_empty(example) for example in [*train, *evaluation]),
        lost_answers=len(lost),
    )


def _counts(label: str) -> bool:
    """Whether a label is one whose number says something: inner words are not."""
    return not label.startswith("I-")


def _key(example: TaskExample) -> tuple[str, str]:
    """What is the same in two examples that a model would learn by heart."""
    is_passage = example.options or example.answers is not None
    pair = "" if is_passage else example.text_pair or ""
    return (" ".join(example.text.split()), " ".join(pair.split()))


def _is_empty(example: TaskExample) -> bool:
    pair = example.text_pair
    return not example.text.strip() or (pair is not None and not pair.strip())
