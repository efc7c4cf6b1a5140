"""A fine-tuned model in a report: its worth beside guessing, and its curves."""

from pathlib import Path
from typing import Any

from albert_tf.finetuning.task_worth import (
    labels_table,
    measures_table,
    read_worth,
    verdict,
)
from albert_tf.runs.metrics import Metrics, read_metrics
from albert_tf.runs.task_record import read_record
from schemas.layout import EVAL, TRAIN
from schemas.report import Curve, Curves, Section, Table


def tuned_section(folder: Path, *, title: str) -> Section:
    """The section of a fine-tuned model.

    Raises:
        AlbertError: It is not finished, or a file cannot be read.
    """
    record, result = read_record(folder), read_worth(folder)
    lines = read_metrics(folder)
    return Section(
        title=title,
        kind="Fine-tuned model",
        facts=(
            ("task", record.spec.name),
            ("kind", record.spec.kind),
            ("held-out examples", f"{result['examples']:,}"),
            ("step of the best checkpoint", f"{result['step']:,}"),
        ),
        notes=tuple(verdict(result)),
        runs=(title,),
        plots=tuple(_curves(lines, [*result["metrics"], "loss"])),
        tables=(
            measures_table(result),
            *filter(None, [labels_table(result)]),
            *_confusion(result),
        ),
    )


def _curves(lines: list[Metrics], names: list[str]) -> list[Curves]:
    """A plot for each measure over the steps; of the loss that of training."""
    plots = []
    for name in names:
        split = TRAIN if name == "loss" else EVAL
        points = tuple(
            (line["step"], line[name])
            for line in lines
            if line["split"] == split and line.get(name) is not None
        )
        if points:
            curve = Curve(run=0, is_held_out=split == EVAL, points=points)
            about = "On held-out examples." if split == EVAL else "Of training."
            plots.append(Curves(title=name, about=about, unit="value", curves=(curve,)))
    return plots


def _confusion(result: dict[str, Any]) -> list[Table]:
    if "confusion" not in result:
        return []
    labels = tuple(result["labels"])
    rows = zip(labels, result["confusion"], strict=True)
    return [
        Table(
            title="How often each label, a row, was called what",
            columns=("label", *labels),
            rows=tuple((label, *counts) for label, counts in rows),
            is_folded=True,
        )
    ]
