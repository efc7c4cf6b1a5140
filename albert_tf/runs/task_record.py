"""What a fine-tuned model was trained for, and what it is worth.

`task.json` has the task and how texts are encoded for it, `eval.json` the measures.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from albert_tf.runs.run_record import recorded_settings
from schemas.errors import AlbertError
from schemas.files import read_json, undamaged, write_json
from schemas.layout import EXPORT_RECORD, TASK, TASK_EVALUATION
from schemas.report import Table
from schemas.settings import check_type
from schemas.task import KINDS, Columns, TaskRecord, TaskSpec

# The key under which the record of an export holds what `task.json` says.
EXPORTED_TASK = "task"

Taken = TypeVar("Taken")
# The types of single values in `task.json`.
_PLAIN = (str, int, bool, str | None, int | None, float | None)


def write_record(folder: Path, record: TaskRecord) -> None:
    """Write `task.json`."""
    write_json(folder / TASK, record_values(record))


def record_values(record: TaskRecord) -> dict[str, Any]:
    """The fields of the task beside those of the record, for JSON."""
    values = dataclasses.asdict(record)
    return {**values.pop("spec"), **values}


def read_record(folder: Path) -> TaskRecord:
    """What `task.json` says."""
    path = folder / TASK
    return _record_of(read_json(path), path=path)


def exported_record(folder: Path) -> TaskRecord | None:
    """What the record of an export says of its task; None where it says nothing."""
    path = folder / EXPORT_RECORD
    values = read_json(path).get(EXPORTED_TASK) if path.is_file() else None
    return None if values is None else _record_of(values, path=path)


def _record_of(values: Any, *, path: Path) -> TaskRecord:
    with undamaged(path, remedy="put the file back as it was written"):
        if values["kind"] not in KINDS:
            raise ValueError(f"kind is {values['kind']!r:.60}")
        columns = _taken(Columns, values["columns"])
        if columns.first_option not in (None, 0, 1):
            raise ValueError(f"columns.first_option is {columns.first_option!r:.60}")
        spec = _taken(TaskSpec, {**values, "columns": columns})
        return _taken(TaskRecord, {**values, "spec": spec})


def _taken(kind: type[Taken], values: dict[str, Any]) -> Taken:
    """The fields of a dataclass in an object."""
    given = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        value = values[field.name]
        if isinstance(value, list):
            given[field.name] = tuple(value)
        else:
            given[field.name] = value
            if field.type in _PLAIN:
                check_type(field.name, value, field.type)
    return kind(**given)


def shown(value: float) -> str:
    """A measure, to four decimal places.

    >>> shown(-0.00001)
    '0.0000'
    """
    return f"{value:z.4f}"


def read_worth(folder: Path) -> dict[str, Any]:
    """What `eval.json` of a fine-tuned model says."""
    path = folder / TASK_EVALUATION
    if not path.exists():
        if recorded_settings(folder).get("command") == "import":
            raise AlbertError(
                f"{folder} was imported and has no {TASK_EVALUATION}; measure it with "
                "albert evaluate --data FILE instead."
            )
        raise AlbertError(f"{folder} is not finished yet; run the same albert finetune again.")
    result: dict[str, Any] = read_json(path)
    with undamaged(path, remedy="put the file back as it was written"):
        name = result["metric"]
        _ = result["step"], result["examples"], result["metrics"][name] + 0.0
        for values in (result["metrics"], *result["baselines"].values()):
            _ = [value + 0.0 for value in values.values()]
        for measure in result["metrics"]:
            low, high = result["intervals"][measure]
            _ = low + high
    return result


def measures_table(result: dict[str, Any]) -> Table:
    """The measures with their intervals, beside those of guessing."""
    baselines = result["baselines"]
    rows = []
    for name, value in result["metrics"].items():
        low, high = result["intervals"][name]
        others = (shown(values[name]) for values in baselines.values())
        rows.append((name, shown(value), f"{shown(low)} to {shown(high)}", *others))
    return Table(
        title="Measures", columns=("measure", "model", "95 %", *baselines), rows=tuple(rows)
    )


def labels_table(result: dict[str, Any]) -> Table | None:
    """Precision, recall and F1 of each label, the most frequent first, if it has any.

    A label of tags that are entities is a type of them, and `all` stands for all types.
    """
    if "labels" not in result:
        return None
    names = ("precision", "recall", "f1")
    found = sorted(result["labels"].items(), key=lambda item: -item[1]["support"])
    return Table(
        title="Labels",
        columns=("label", *names, "examples"),
        rows=tuple(
            (label, *(shown(values[name]) for name in names), values["support"])
            for label, values in found
        ),
        is_folded=True,
    )


def verdict(result: dict[str, Any]) -> Iterator[str]:
    """What the measures say, in sentences."""
    name = result["metric"]
    value = result["metrics"][name]
    guesses = result["baselines"]
    majority = guesses.get("majority", {}).get(name)
    words = guesses.get("words", {}).get(name)
    if majority is not None and value <= majority:
        yield _beside_majority(result, name, value=value, majority=majority)
    elif words is not None and value <= words:
        yield (f"Words alone give {shown(words)}: the model is no better than they are.")
    if epochs := result.get("still_improving_after_epochs"):
        steps = result.get("still_improving_after_steps")
        either = f" or --steps {2 * steps}" if steps else ""
        yield (
            "It was still improving at the last step: train again, into another "
            f"--output, twice as long (--epochs {2 * epochs}{either}) or with a higher "
            "--learning-rate."
        )


def _beside_majority(result: dict[str, Any], name: str, *, value: float, majority: float) -> str:
    """What is said of a model that is no better than always the same answer."""
    if name in ("pearson", "spearman"):
        return (
            "The model predicts no better than the mean: its scores do not follow the "
            f"right ones ({name} {shown(value)})."
        )
    if name == "entity_f1" and value == 0:
        return f"No entity that the model finds is right: {name} {shown(value)}."
    # Two that are always wrong are so each in its way.
    metrics = result["metrics"]
    is_same = any(metrics.values()) and metrics == result["baselines"]["majority"]
    relation = "stuck at" if is_same else "no better than"
    return (
        f"The model is {relation} the majority: {name} {shown(value)}, and always "
        f"giving the same answer scores {shown(majority)}."
    )
