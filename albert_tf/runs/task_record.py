"""`task.json`: what a fine-tuned model was trained for, and how texts are encoded."""

import dataclasses
from pathlib import Path
from typing import Any, TypeVar

from schemas.files import read_json, undamaged, write_json
from schemas.finetune_config import FineTuneConfig
from schemas.layout import EXPORT_RECORD, TASK
from schemas.settings import check_type
from schemas.task import KINDS, Columns, TaskSpec

# The key under which the record of an export holds what `task.json` says.
EXPORTED_TASK = "task"

Taken = TypeVar("Taken")
_ADDED_LATER = ("first_option", "trained_length")
# The types of single values in `task.json`.
_PLAIN = (str, int, bool, str | None, int | None, float | None)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskRecord:
    """What `task.json` says.

    Attributes:
        doc_stride: Tokens between windows of `answer`.
        threshold: See `Task.best_threshold`; None where there is none, or not yet.
        trained_length: Tokens in the longest sequences that the encoder was ever
            trained on; None where it is not known.
    """

    spec: TaskSpec
    max_seq_length: int
    doc_stride: int
    max_query_tokens: int
    max_answer_tokens: int
    threshold: float | None = None
    trained_length: int | None = None

    @classmethod
    def of(
        cls,
        spec: TaskSpec,
        settings: FineTuneConfig,
        *,
        max_seq_length: int,
        trained_length: int | None = None,
    ) -> "TaskRecord":
        """That of a task and settings, before anything is known of the model."""
        return cls(
            spec=spec,
            max_seq_length=max_seq_length,
            doc_stride=settings.doc_stride,
            max_query_tokens=settings.max_query_tokens,
            max_answer_tokens=settings.max_answer_tokens,
            trained_length=trained_length,
        )


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
    """The fields of a dataclass in an object; older files lack some."""
    given = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in _ADDED_LATER and field.name not in values:
            continue
        value = values[field.name]
        if isinstance(value, list):
            given[field.name] = tuple(value)
        else:
            given[field.name] = value
            if field.type in _PLAIN:
                check_type(field.name, value, field.type)
    return kind(**given)
