"""The files that the sites of the tasks take: predictions on a test set."""

from collections.abc import Sequence

from schemas.json_file import json_text
from schemas.task import TaskExample, TaskSpec

_GLUE_HEADER = "index\tprediction\n"


def submission_text(
    task: TaskSpec,
    examples: Sequence[TaskExample],
    predictions: Sequence[str | float],
) -> str:
    r"""A file of predictions, as GLUE or SQuAD takes it.

    Args:
        task: With a file to hand in.
        examples: Of its test set, in the order of the file.
        predictions: For each: the label as the task writes it, the score, or the
            answer, "" for none.

    >>> task = TaskSpec(name="sts-b", kind="regress", score_range=(0.0, 5.0))
    >>> example = TaskExample(id="0", place="", text="A man.", text_pair="A woman.")
    >>> submission_text(task, [example], [5.31])
    'index\tprediction\n0\t5.000\n'
    """
    pairs = list(zip([example.id for example in examples], predictions, strict=True))
    if task.kind == "answer":
        return json_text(dict(pairs))
    rows = [f"{identity}\t{_shown(task, value)}\n" for identity, value in pairs]
    return _GLUE_HEADER + "".join(rows)


def _shown(task: TaskSpec, value: str | float) -> str:
    if isinstance(value, str):
        return value
    if task.score_range is not None:
        least, greatest = task.score_range
        value = min(max(value, least), greatest)
    return f"{value:.3f}"
