"""What a fine-tuned model is for and what it is worth: `task.json` and `eval.json`."""

import dataclasses
import shlex
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from albert_tf.runs.checkpoints import best_step, newest_step
from albert_tf.runs.run_record import recorded_settings
from schemas.config import check_type
from schemas.errors import AlbertError
from schemas.files import Values, read_json, undamaged, write_json
from schemas.layout import EXPORT_RECORD, TASK, TASK_EVALUATION
from schemas.report import Table
from schemas.task import KINDS, Columns, TaskRecord, TaskSpec

Config = TypeVar("Config")

# The key under which the record of an export holds what `task.json` says.
EXPORTED_TASK = "task"

# The types of single values in `task.json`.
_PLAIN = (str, int, bool, str | None, int | None, float | None)


def write_record(folder: Path, record: TaskRecord) -> None:
    """Write `task.json`."""
    write_json(folder / TASK, record_values(record))


def record_values(record: TaskRecord) -> Values:
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
        # Records of before 0.3 have no divider.
        columns = _taken(Columns, {"divider": None, **values["columns"]})
        if columns.first_option not in (None, 0, 1):
            raise ValueError(f"columns.first_option is {columns.first_option!r:.60}")
        spec = _taken(TaskSpec, {**values, "columns": columns})
        return _taken(TaskRecord, {**values, "spec": spec})


def _taken(kind: type[Config], values: Values) -> Config:
    """The fields of a dataclass in an object."""
    given = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        value = given[field.name] = values[field.name]
        kinds = (field.type, *typing.get_args(field.type))
        lists = [each for each in kinds if typing.get_origin(each) is tuple]
        if lists and (value is not None or field.type in lists):
            check_type(field.name, value, list)
            for item in value:
                check_type(field.name, item, typing.get_args(lists[0])[0])
            given[field.name] = tuple(value)
        elif field.type in _PLAIN:
            check_type(field.name, value, field.type)
    return kind(**given)


def shown(value: float) -> str:
    """A measure, to four decimal places.

    >>> shown(-0.00001)
    '0.0000'
    """
    return f"{value:z.4f}"


def unmeasured(folder: Path) -> str | None:
    """Why a fine-tuned model has no `eval.json`, and what to do; None if it has one."""
    if (folder / TASK_EVALUATION).exists():
        return None
    if recorded_settings(folder).get("command") == "import":
        return (
            f"{folder} was imported and has no {TASK_EVALUATION}; albert evaluate "
            f"{shlex.quote(str(folder))} --data FILE measures it."
        )
    newest, best = newest_step(folder) or 0, best_step(folder) or 0
    return (
        f"{folder} is not finished yet: its newest checkpoint is of step {newest:,}, the best of "
        f"step {best:,}; the same albert finetune goes on."
    )


def read_worth(folder: Path) -> Values:
    """What `eval.json` of a fine-tuned model says."""
    path = folder / TASK_EVALUATION
    if reason := unmeasured(folder):
        raise AlbertError(reason)
    result: Values = read_json(path)
    with undamaged(path, remedy="put the file back as it was written"):
        # Whatever is shown of it can be shown.
        _ = result["step"], result["examples"]
        measures_table(result)
        labels_table(result)
        list(task_verdict(result))
    return result


def measures_table(result: Values) -> Table:
    """The measures with their intervals, beside those of guessing."""
    baselines, rows = result["baselines"], []
    # Earlier records have none of the baselines.
    known = {"model": result["intervals"], **result.get("baseline_intervals", {})}
    for name in result["metrics"]:
        cells = []
        for what, values in {"model": result["metrics"], **baselines}.items():
            bounds = known[what][name] if what in known else ()
            interval = f" ({' to '.join(map(shown, bounds))})" if bounds else ""
            cells.append(shown(values[name]) + interval)
        rows.append((name, *cells))
    return Table(
        title="Measures", columns=("measure (95 %)", "model", *baselines), rows=tuple(rows)
    )


def labels_table(result: Values) -> Table | None:
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


def threshold_sentence(record: TaskRecord) -> str:
    """From which threshold on a model says something; "" where it has none."""
    said = {
        "multilabel": "A label is given from a probability of {:.4f} up.",
        "answer": "A question has no answer where [CLS] scores more than the best span by more "
        "than {:.4f}.",
    }
    has_one = record.threshold is not None
    return said.get(record.spec.kind, "").format(record.threshold) if has_one else ""


def task_verdict(result: Values) -> Iterator[str]:
    """What the measures say, in sentences."""
    name = result["metric"]
    value = result["metrics"][name]
    # What the model does not beat.
    as_good = {
        what: of[name]
        for what, of in result["baselines"].items()
        if name in of and value <= of[name]
    }
    for what in ("tf-idf", "bm25", "before"):
        if what in as_good:
            called = {"before": "it was before"}.get(what, what.upper())
            yield f"The model is no better than {called} ({name} {shown(as_good[what])})."
    if "majority" in as_good:
        yield _beside_majority(result, name, value=value, majority=as_good["majority"])
    elif "words" in as_good:
        yield f"Words alone give {shown(as_good['words'])}: the model is no better than they are."
    if epochs := result.get("still_improving_after_epochs"):
        steps = result.get("still_improving_after_steps")
        either = f" or --steps {2 * steps}" if steps else ""
        yield (
            "It was still improving at the last step: train again, into another "
            f"--output, twice as long (--epochs {2 * epochs}{either}) or with a higher "
            "--learning-rate."
        )


def _beside_majority(result: Values, name: str, *, value: float, majority: float) -> str:
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
