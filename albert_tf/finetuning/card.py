"""The card of a fine-tuned model: what it does, and what it is worth, for a person."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from albert_tf.finetuning.job import TuningJob
from albert_tf.runs.run_record import (
    labels_table,
    measures_table,
    recorded_settings,
    shown,
    verdict,
)
from albert_tf.tasks.evaluation import task_of
from schemas import __version__
from schemas.config import deciding
from schemas.finetune_config import OF_ANSWERS
from schemas.layout import TASK_EVALUATION
from schemas.report import markdown_lines
from schemas.task import TaskRecord

# Labels that a card has room for.
_MOST_LABELS = 30

# Of a text in the list of errors.
_CHARACTERS = 120


def tuned_card(record: TaskRecord, job: TuningJob, result: dict[str, Any]) -> str:
    """`README.md` of a fine-tuned model.

    Args:
        job: How it was trained; what its folder records is included too.
        result: What `eval.json` says.
    """
    config = job.source.config
    lines = [
        f"# {record.spec.name}: ALBERT, {config.num_hidden_layers} layers of width "
        f"{config.hidden_size}",
        "",
        f"It {task_of(record.spec).does}. {_origin(job)} with "
        f"albert-pretraining {__version__} "
        f"([ALBERT](https://arxiv.org/abs/1909.11942)); weights of step "
        f"{result['step']:,}.",
        "",
        f"On {result['examples']:,} held-out examples:",
        "",
        *markdown_lines(measures_table(result)),
        "",
        *verdict(result),
        *_threshold(record),
        "",
        *_labels(result),
        *_recipe(record, job, examples=result["training_examples"]),
        "",
        *(_errors(result) if job.config.examples_in_card else ()),
    ]
    return "\n".join(lines) + "\n"


def _origin(job: TuningJob) -> str:
    """From what and on what, by the names of files, as far as it is recorded."""
    settings = recorded_settings(job.run)
    is_anew = not job.source.weights
    said = "Trained from scratch" if is_anew else "Fine-tuned"
    if source := settings.get("model"):
        said += f" {'in the shape of' if is_anew else 'from'} {_named([source])}"
    files = [*settings.get("train", []), settings.get("data")]
    if named := _named([file for file in files if file]):
        said += f" on {named}"
    return said


def _named(paths: list[str]) -> str:
    return ", ".join(f"`{Path(path).name}`" for path in paths)


def _threshold(record: TaskRecord) -> Iterator[str]:
    """What is said only from a threshold on."""
    if record.threshold is None:
        return
    if record.spec.kind == "multilabel":
        yield f"A label is given from a probability of {record.threshold:.4f} up."
    else:
        yield (
            "A question has no answer where [CLS] scores more than the best span by "
            f"more than {record.threshold:.4f}."
        )
    yield "It was chosen on half of these examples; the measures are of all of them."


def _labels(result: dict[str, Any]) -> Iterator[str]:
    table = labels_table(result)
    if table is None:
        return
    shown = dataclasses.replace(table, rows=table.rows[:_MOST_LABELS])
    yield from (f"## {table.title}", "", *markdown_lines(shown), "")
    if more := len(table.rows) - len(shown.rows):
        yield from (f"{TASK_EVALUATION} has {more:,} more.", "")


def _recipe(record: TaskRecord, job: TuningJob, *, examples: int) -> Iterator[str]:
    yield from ("## Recipe", "", "| setting | value |", "|---|---|")
    for name, value in deciding(job.config).items():
        is_of_kind = record.spec.kind == "answer" or name not in OF_ANSWERS
        if is_of_kind and value is not None:
            yield f"| {name} | {value} |"
    yield f"| examples to train on | {examples:,} |"


def _errors(result: dict[str, Any]) -> Iterator[str]:
    """The errors that the model is surest of."""
    if not result["errors"]:
        return
    yield from ("## The errors it is surest of", "")
    for error in result["errors"][:10]:
        parts = filter(None, [error["text"], error["text_pair"]])
        text = " / ".join(map(_beginning, parts))
        said, right = (_value(error[name]) for name in ("predicted", "right"))
        yield f"- {text!r}: {said}, and right is {right}"


def _value(value: Any) -> str:
    """A label, labels, a score or an answer.

    >>> [_value(value) for value in (["7", "seven", "7"], [], "", 0.123456, "good")]
    ['7, seven', 'none', 'none', '0.1235', 'good']
    """
    if isinstance(value, float):
        return shown(value)
    different = dict.fromkeys(value) if isinstance(value, list) else [value]
    return ", ".join(different) or "none"


def _beginning(text: str) -> str:
    """A text on one line, as much of it as is shown."""
    line = " ".join(text.split())
    return line if len(line) <= _CHARACTERS else f"{line[:_CHARACTERS]}..."
