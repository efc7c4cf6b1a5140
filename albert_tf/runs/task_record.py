"""`task.json`: what a fine-tuned model was trained for, and how texts are encoded."""

import dataclasses
from pathlib import Path
from typing import Any

from schemas.errors import AlbertError
from schemas.files import read_json, write_json
from schemas.finetune_config import FineTuneConfig
from schemas.json_shape import COUNT, TEXT, Rule, or_null, problem
from schemas.layout import EXPORT_RECORD, TASK
from schemas.task import KINDS, Columns, TaskSpec

# The key under which the record of an export holds what `task.json` says.
EXPORTED_TASK = "task"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskRecord:
    """What `task.json` says.

    Attributes:
        spec: The task.
        max_seq_length: Tokens in a sequence.
        doc_stride: Tokens between windows of `answer`.
        max_query_tokens: Of a question of `answer`.
        max_answer_tokens: Of an answer.
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
    found = problem(values, _SHAPE)
    # The files of older models have none of these.
    if not found and "first_option" in values["columns"]:
        found = problem(values, {"columns": {"first_option": or_null(_ZERO_OR_ONE)}})
    if not found and "trained_length" in values:
        found = problem(values, {"trained_length": or_null(COUNT)})
    if found:
        raise AlbertError(f"{path}: {found}; put the file back as it was written.")
    columns = {
        **values["columns"],
        "options": tuple(values["columns"]["options"]),
    }
    own = {field.name for field in dataclasses.fields(TaskRecord)} - {"spec"}
    fields = {field.name for field in dataclasses.fields(TaskSpec)}
    given = {name: _as_tuple(values[name]) for name in fields}
    spec = TaskSpec(**{**given, "columns": Columns(**columns)})
    return TaskRecord(spec=spec, **{name: values.get(name) for name in own})


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


_FINITE = Rule(
    "a number", lambda value: type(value) in (int, float) and abs(value) < 2**63
)
_ZERO_OR_ONE = Rule("0 or 1", lambda value: type(value) is int and value in (0, 1))
_SHAPE: Any = {
    "name": TEXT,
    "kind": Rule(f"one of {', '.join(KINDS)}", lambda value: value in KINDS),
    "labels": [TEXT],
    "columns": {
        "text": or_null(TEXT),
        "pair": or_null(TEXT),
        "label": or_null(TEXT),
        "options": [TEXT],
        "id": or_null(TEXT),
    },
    "metrics": [TEXT],
    "max_seq_length": COUNT,
    "has_unanswerable": Rule("true or false", lambda value: isinstance(value, bool)),
    "score_range": Rule(
        "two numbers, or null",
        lambda value: (
            value is None
            or (
                isinstance(value, list)
                and len(value) == 2
                and all(map(_FINITE.holds, value))
            )
        ),
    ),
    "submissions": [TEXT],
    "doc_stride": COUNT,
    "max_query_tokens": COUNT,
    "max_answer_tokens": COUNT,
    "threshold": or_null(_FINITE),
}
