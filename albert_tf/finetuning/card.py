"""The card of a fine-tuned model: what it does, and what it is worth, for a person."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from albert_tf.finetuning.job import TuningJob
from albert_tf.runs.run_record import recorded_settings
from albert_tf.runs.task_record import (
    labels_table,
    measures_table,
    shown,
    task_verdict,
    threshold_sentence,
)
from albert_tf.tasks.evaluation import task_of
from schemas import __version__
from schemas.config import deciding
from schemas.finetune_config import OF_ANSWERS
from schemas.layout import TASK_EVALUATION
from schemas.readable import counted
from schemas.report import Section, as_facts, as_markdown
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
    card = Section(
        title=f"{record.spec.name}: ALBERT, {counted(config.num_hidden_layers, 'layer')} of width "
        f"{config.hidden_size}",
        parts=(
            f"It {task_of(record.spec).does}. {_origin(job)} with "
            f"albert-pretraining {__version__} "
            f"([ALBERT](https://arxiv.org/abs/1909.11942)); weights of step "
            f"{result['step']:,}.",
            f"On {result['examples']:,} held-out examples:",
            measures_table(result),
            "\n".join((*task_verdict(result), *_threshold(record))),
        ),
    )
    recipe = {n: v for n, v in deciding(job.config).items() if v is not None}
    if record.spec.kind != "answer":
        recipe = {name: value for name, value in recipe.items() if name not in OF_ANSWERS}
    recipe["examples to train on"] = result["training_examples"]
    sections = [card, *_labels(result), Section(title="Recipe", facts=as_facts(recipe))]
    if job.config.examples_in_card and result["errors"]:
        errors = "\n".join(map(_error_line, result["errors"][:10]))
        sections.append(Section(title="The errors it is surest of", parts=(errors,)))
    return as_markdown(sections)


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
    """What is said only from a threshold on, and how that was chosen."""
    if said := threshold_sentence(record):
        yield said
        yield "It was chosen on half of these examples; the measures are of all of them."


def _labels(result: dict[str, Any]) -> Iterator[Section]:
    table = labels_table(result)
    if table is not None:
        few, more = table.rows[:_MOST_LABELS], len(table.rows) - _MOST_LABELS
        rest = [f"{TASK_EVALUATION} has {more:,} more."] if more > 0 else []
        shown = dataclasses.replace(table, rows=few)
        yield Section(title=table.title, parts=(shown, *rest))


def _error_line(error: dict[str, Any]) -> str:
    parts = filter(None, [error["text"], error["text_pair"]])
    text = " / ".join(map(_beginning, parts))
    said, right = (_value(error[name]) for name in ("predicted", "right"))
    return f"- {text!r}: {said}, and right is {right}"


def _value(value: Any) -> str:
    """A label, labels, a score or an answer.

    >>> [_value(value) for value in (("7", "seven", "7"), [], "", 0.123456, "good")]
    ['7, seven', 'none', 'none', '0.1235', 'good']
    """
    if isinstance(value, float):
        return shown(value)
    different = dict.fromkeys(value) if isinstance(value, list | tuple) else [value]
    return ", ".join(different) or "none"


def _beginning(text: str) -> str:
    """A text on one line, as much of it as is shown."""
    line = " ".join(text.split())
    return line if len(line) <= _CHARACTERS else f"{line[:_CHARACTERS]}..."
