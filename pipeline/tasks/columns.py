"""Which columns of a table a task reads, and what a program wrote in their cells."""

import ast
import contextlib
import dataclasses
import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from importlib.resources import files
from typing import Any

from pipeline.tasks.named_tasks import wanted
from pipeline.tasks.table_files import TaskTable
from schemas.errors import AlbertError, SettingError
from schemas.readable import listed
from schemas.task import Columns, Kind

# Of texts that only look like JSON or Python.
_UNPARSED = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)

# The list of a cell that is no list for JSON and Python, and the object of a library.
_ITEM = r"(?:'[^']*'|\"[^\"]*\"|True|False|-?[0-9]+(?:\.[0-9]*)?)"
_OF_NUMPY = re.compile(rf"(?s)\[\s*{_ITEM}(?:\s+{_ITEM})+\s*\]|(?:array|tensor)\(.*\)")


def checked_text(value: Any) -> str:
    """A value that has to be text, else a TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not text")
    return value


def checked_texts(value: Any) -> list[str]:
    """A list that has to be of texts, else a TypeError."""
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.60} is not a list")
    return [*map(checked_text, value)]


def parsed(cell: Any) -> Any:
    """A cell, read if it is a list or an object as JSON or Python writes it.

    >>> parsed('["Arts, crafts"]'), parsed("[(0, 3, 'PER')]"), parsed("{'a': None}")
    (['Arts, crafts'], [[0, 3, 'PER']], {'a': None})
    >>> parsed("a, b"), parsed("[a]"), parsed(7)
    ('a, b', '[a]', 7)
    """
    text = cell.strip() if isinstance(cell, str) else ""
    if _OF_NUMPY.fullmatch(text):
        raise AlbertError(
            f"The cell {text!r:.60} is a list as NumPy or PyTorch writes it; write the table "
            "from pandas with df.to_json('rows.jsonl', orient='records', lines=True)."
        )
    for read in (json.loads, ast.literal_eval) if text[:1] in ("[", "(", "{") else ():
        with contextlib.suppress(*_UNPARSED):
            # With lists in the place of tuples and sets, as JSON has them.
            found = json.loads(json.dumps(read(text), default=sorted))
            return found if isinstance(found, list | dict) else cell
    return cell


def text_of_part(part: Any, *, place: str) -> str:
    """A word or an option; of an object, as Prodigy has them, its text.

    >>> text_of_part({"text": "Ada", "start": 0}, place=""), text_of_part(7, place="")
    ('Ada', '7')
    """
    text = part.get("text") if isinstance(part, dict) else part
    if not isinstance(text, str | int | float):
        raise AlbertError(
            f"{place}: {part!r:.60} is neither a text nor an object with a text; correct the row."
        )
    return str(text)


# What a column has, and the names that it has in published files for that.
_ROWS = [
    (what, tuple(names.split(",")))
    for row in (files("pipeline.tasks") / "columns.tsv").read_text("utf-8").splitlines()[1:]
    for what, names in [row.split("\t")]
]
_PAIRS = [names for what, names in _ROWS if what == "pair"]
NAMES = dict(_ROWS)

# Parts of a data set that a column may tell apart, and columns that a message names.
_MANY_PARTS, _MANY_NAMES = 12, 20
_SPLITS = {"train", "training", "dev", "valid", "validation", "val", "test"}
_OPTION = re.compile(r"(?i)(?:ending|option|choice|answer)[ _]?(?:[0-9]{1,2}|[a-j])|[a-j]")

# What columns are called in which pandas writes the numbers of rows.
_ROW_NUMBERS = {"", "Unnamed: 0", "__index_level_0__"}

# What some kinds read beside the columns that are told, where a file has it.
_KIND_OTHERS = {"answer": ("is_impossible", "answer_start"), "tag": ("text",)}
_FLAGS = {"text": "--text-column", "pair": "--pair-column", "label": "--label-column"}


def find_columns(table: TaskTable, kind: Kind, *, given: Columns, is_labelled: bool) -> Columns:
    """The columns of a table that a task reads.

    Args:
        given: What a person, or the table that was read for training, has said.

    >>> from collections import Counter
    >>> table = TaskTable("a.csv", ("Id", "premise", "hypothesis", "label"), [], Counter())
    >>> found = find_columns(table, "classify", given=Columns(), is_labelled=True)
    >>> found.text, found.pair, found.label, found.id
    ('premise', 'hypothesis', 'label', 'Id')
    """
    _require(table, given.text, flag=_FLAGS["text"])
    _require(table, given.pair, flag=_FLAGS["pair"])
    label = given.label
    if label is None or not set(label_names(table.columns, label)) <= {*table.columns}:
        if label is not None and is_labelled:
            _require(table, *label_names(table.columns, label), flag=_FLAGS["label"])
        label = _first(table, NAMES[f"{kind} label"])
    options = given.options
    if kind == "choose":
        _require(table, *options)
        one = _first(table, NAMES["options"])
        # In the order of their numbers or letters, which answers go by.
        names = filter(_OPTION.fullmatch, table.columns)
        several = sorted(names, key=lambda name: (len(name), name.lower()))
        options = options or tuple(several if one is None else [one])
    elif kind == "embed" and (negative := _first(table, NAMES["negative"])):
        options = (negative,)
    found = dataclasses.replace(
        given, label=label, options=options, id=given.id or _first(table, NAMES["id"])
    )
    found = _with_texts(table, kind, found)
    if kind == "embed" and found.pair is None and is_labelled:
        raise _unclear(table, "pair", kind=kind)
    if found.label is None and is_labelled and kind != "embed":
        rest = _others(table, found)
        if len(rest) != 1 or kind == "answer" or _NO_NAME.fullmatch(rest[0]):
            raise _unclear(table, "label", kind=kind)
        found = dataclasses.replace(found, label=rest[0])
    if kind == "choose" and not options:
        raise SettingError(
            f"{table.path} has no columns of options that are known by name; it has "
            f"{_named(table.columns)}; name one with lists, or one for each option, with "
            f"--option-columns A,B,C{wanted(kind)}"
        )
    return found


def remarks_on_columns(table: TaskTable, kind: Kind, *, found: Columns) -> Iterator[str]:
    """What is said of the columns that a task does not read, if there are any.

    >>> from collections import Counter
    >>> table = TaskTable("a.csv", ("text", "label", "title"), [], Counter())
    >>> found = Columns(text="text", label="label")
    >>> list(remarks_on_columns(table, "classify", found=found))
    ["columns that are not read: 'title'"]
    """
    rest = unread_columns(table, kind, found=found)
    for name in rest:
        parts = Counter(str(row.cells.get(name)).lower() for row in table.rows)
        is_split = name.lower() in NAMES["split"] or set() < {*parts} <= _SPLITS
        if is_split and len(parts) < _MANY_PARTS:
            shown = ", ".join(f"{part} {count:,}" for part, count in parts.items())
            yield (
                f"column {name!r} divides the rows ({shown:.100}) and is not read: all are in "
                "one part; write each part to a file of its own"
            )
    if rest:
        yield f"columns that are not read: {_named(rest)}"


def unread_columns(table: TaskTable, kind: Kind, *, found: Columns) -> list[str]:
    """The columns that a task does not read, those of pandas' row numbers left out."""
    known = _KIND_OTHERS.get(kind, ())
    return [name for name in _others(table, found) if name not in known]


def label_names(columns: Container[str], label: str) -> list[str]:
    """The columns that a label is in: one, or several with commas between.

    >>> label_names(("text", "rude", "loud"), "rude,loud")
    ['rude', 'loud']
    """
    return [label] if label in columns else label.split(",")


def _with_texts(table: TaskTable, kind: Kind, found: Columns) -> Columns:
    """The same with the text, and with the second text if there is one."""
    text, pair = found.text, found.pair
    if names := NAMES.get(f"{kind} text"):
        text = text or _first(table, names, without=pair)
        if kind != "tag" and pair is None:
            pair = _first(table, NAMES["question"])
    elif text is None:
        labels = label_names(table.columns, found.label or "")
        for names in _PAIRS:
            both = [_first(table, (name,)) for name in names]
            # Labels of the latter are no degrees of likeness.
            others = (*labels, "hypothesis" if kind == "embed" else "positive")
            if pair is None and all(both) and names[1] not in others:
                text, pair = both
        text = text or _first(table, NAMES["text"], without=pair)
        rest = _others(table, found)
        if text is None and len(rest) == 1 and not _NO_NAME.fullmatch(rest[0]):
            (text,) = rest
    if text is None:
        raise _unclear(table, "text", kind=kind)
    if kind == "answer" and pair is None:
        raise _unclear(table, "pair", kind=kind)
    return dataclasses.replace(found, text=text, pair=None if pair == text else pair)


def _others(table: TaskTable, found: Columns) -> list[str]:
    """The columns that nothing is known of, those of pandas' row numbers left out."""
    known = {*_ROW_NUMBERS, found.text, found.pair, found.id, *found.options}
    if found.label is not None:
        known |= set(label_names(table.columns, found.label))
    return [name for name in table.columns if name not in known]


def _first(table: TaskTable, names: Sequence[str], *, without: str | None = None) -> str | None:
    """The first column with one of these names, as the table spells it, except one."""
    columns = {name.strip().lower(): name for name in reversed(table.columns)}
    found = (columns.get(name, without) for name in names)
    return next((name for name in found if name != without), None)


def _require(table: TaskTable, *names: str | None, flag: str = "") -> None:
    """Refuse a table that lacks a column; a flag, if any, may name another one."""
    missing = [name for name in names if name not in (None, *table.columns)]
    if not missing:
        return
    remedy = f"rename one{', or say which it is with ' if flag else ''}{flag}"
    raise SettingError(
        f"{table.path} has no column {missing[0]!r:.60}; it has {_named(table.columns)}; {remedy}."
    )


# What is a number, or has as many words as a sentence, names no column.
_NO_NAME = re.compile(r"\s*[-+]?[0-9.]+\s*|\s*(?:\S+\s+){3,}\S+\s*")


def _unclear(table: TaskTable, what: str, *, kind: Kind) -> SettingError:
    remedy = f"name it with {_FLAGS[what]}"
    if any(map(_NO_NAME.fullmatch, table.columns)):
        remedy += "; if these are no names, put a line of names above the first row"
    elif {"train", "test"} <= {*table.columns}:
        remedy = "write each part to a file of its own: jq -c '.train[]' FILE > train.jsonl"
    elif what == "label" and kind == "multilabel":
        remedy += ", which takes several names with commas between"
    if what == "pair":
        what = "second text" if kind == "embed" else "question"
    return SettingError(
        f"{table.path}: the columns {_named(table.columns)} do not show which one is "
        f"the {what}; {remedy}{wanted(kind)}"
    )


def _named(columns: Sequence[str]) -> str:
    return listed(map(repr, columns), most=_MANY_NAMES)
