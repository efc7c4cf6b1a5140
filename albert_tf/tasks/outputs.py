"""From the logits of rows to what a model computes for each example."""

from collections.abc import Sequence
from typing import Any

from albert_tf.tasks.task import Array, Task
from schemas.task import EncodedExample, TaskExample


def outputs_of(
    task: Task,
    examples: Sequence[TaskExample],
    rows: Sequence[EncodedExample],
    logits: Sequence[Array],
    *,
    max_answer_tokens: int,
) -> list[Any]:
    """What a model computes for each example, in the form that `Task.prediction` takes.

    Args:
        task: The task.
        examples: As they were encoded.
        rows: Of the examples.
        logits: Of each row, from `TaskLogits`.
        max_answer_tokens: Of an answer.
    """
    places: list[list[int]] = [[] for _ in examples]
    for place, row in enumerate(rows):
        places[row.example].append(place)
    return [
        task.output(
            example,
            [rows[place] for place in own],
            [logits[place] for place in own],
            max_answer_tokens=max_answer_tokens,
        )
        for example, own in zip(examples, places, strict=True)
    ]
