"""Rows of a table become examples of a task."""

import functools
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from pipeline.core.writing_systems import is_unspaced
from pipeline.tasks.columns import label_names, listed_value, object_value, text_of_part
from pipeline.tasks.options import answers_are_places, choice_of, options_in
from pipeline.tasks.published import answers_of, located
from pipeline.tasks.table_files import Row, Table
from pipeline.tasks.tags import are_spans, has_spans, marked_value, tags_of_row
from schemas.errors import AlbertError
from schemas.task import Columns, Kind, TaskExample

# Fields of an example.
Known = dict[str, Any]

# What is counted of rows that become no example.
NO_LABEL = "row without a label, left out"

# What is counted of rows whose labels have no names.
VECTOR = "row with 0 or 1 for each label, whose labels are called by their places from 0"

# How SNLI and MNLI mark an example that annotators did not agree on, and in which
# column; elsewhere the same sign is a label like others.
_NO_AGREEMENT, _AGREED_LABEL = "-", "gold_label"

# How files mark an example of a test set.
_HIDDEN = "-1"

_LABEL_DIVIDERS = re.compile(r"[,;|]")

# Signs that divide labels only between such as stand alone elsewhere: C# is one label.
_OTHER_DIVIDERS = re.compile(r"[#/+&]")

# 0 or 1 for each label, written without brackets.
_BARE_MARKS = re.compile(r"[01](?:\.0?)?(?:[\s,;|]+[01](?:\.0?)?)+")


def examples_of_table(
    table: Table, kind: Kind, *, columns: Columns, num_labels: int = 0
) -> list[TaskExample]:
    """The examples in a table.

    Args:
        table: For `choose` as `with_options` makes it.
        columns: Of the table; without a label, nothing is known of what to predict.
        num_labels: That a model knows, if there is one.

    >>> from collections import Counter
    >>> row = Row("a.csv, line 2", {"text": "Good.", "label": "1"}, 0)
    >>> table = Table("a.csv", ("text", "label"), [row], Counter())
    >>> example, = examples_of_table(
    ...     table, "classify", columns=Columns(text="text", label="label"))
    >>> example.id, example.text, example.label
    ('0', 'Good.', '1')
    """
    label, target = columns.label, _target_of(table, kind, columns, num_labels)
    if kind == "classify" and label is not None:
        values = {label_text(row.cells.get(label)) for row in table.rows}
        label = None if values == {_HIDDEN} else label
    ids = [str(row.cells.get(columns.id or "")) for row in table.rows]
    if columns.id is None or len(set(ids)) < len(ids):
        # They do not tell the rows apart.
        ids = [str(row.number) for row in table.rows]
    examples = []
    for identity, row in zip(ids, table.rows, strict=True):
        known = {"id": identity, **_texts(row, kind, columns)}
        if label is not None:
            known |= target(row, label, known)
            if known.get("label", "") is None:
                table.counts[NO_LABEL] += 1
                continue
        examples.append(TaskExample(place=row.place, **known))
    return located(examples, table.counts) if kind == "answer" else examples


def _target_of(table: Table, kind: Kind, columns: Columns, num_labels: int) -> Callable[..., Known]:
    """What reads the target of a row, as all rows together show it is written."""
    target, label = _TARGETS[kind], columns.label
    if kind == "choose":
        are_places = answers_are_places(table, columns)
        return functools.partial(target, columns=columns, are_places=are_places)
    if kind == "tag" and label is not None:
        found = has_spans(table, label)
        return functools.partial(target, has_spans=found, counts=table.counts)
    if kind == "multilabel" and label is not None:
        is_one = len(label_names(table.columns, label)) == 1
        cells = label_cells(table, label, num_labels) if is_one else None
        if cells is not None and cells.are_marks:
            table.counts[VECTOR] += len(table.rows)
        return functools.partial(target, cells=cells)
    return target


def _texts(row: Row, kind: Kind, columns: Columns) -> Known:
    """The texts of a row; for `tag`, its words; for `choose`, its options."""
    if kind == "tag":
        value = _cell(row, columns.text)
        if isinstance(listed := listed_value(value), list):
            words = tuple(text_of_part(each, place=row.place) for each in listed)
            # Spans count the characters of a text that stands beside the words.
            marked = marked_value(row.cells.get(columns.label or ""))
            text = row.cells.get("text") if are_spans(marked) else None
            is_text = isinstance(text, str) and text
            return {"words": words, "text": text if is_text else " ".join(words)}
        if not isinstance(value, str):
            raise AlbertError(
                f"{row.place}: {columns.text!r} is neither a list of words nor a text; "
                "correct the row."
            )
        # CLUENER marks characters, spaces among them.
        marked = marked_value(row.cells.get(columns.label or ""))
        words = tuple(value) if isinstance(marked, dict) else words_of(value)
        return {"words": words, "text": value}
    texts: Known = {"text": _text(row, columns.text)}
    if kind == "choose":
        texts["options"] = options_in(row).texts
    if columns.pair is not None:
        texts["text_pair"] = _text(row, columns.pair)
    return texts


def _text(row: Row, name: str | None) -> str:
    value = _cell(row, name)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    if isinstance(value, dict):
        raise AlbertError(f"{row.place}: {name!r} is no text; correct the row.")
    return str(value)


def _cell(row: Row, name: str | None) -> Any:
    value = None if name is None else row.cells.get(name)
    if value is None:
        raise AlbertError(f"{row.place} has no {name!r}; correct the row.")
    return value


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text that have a tag each.

    What is written without spaces is divided into characters.

    >>> words_of("I love 寿司 a lot")
    ('I', 'love', '寿', '司', 'a', 'lot')
    """
    return tuple(
        word for part in text.split() for word in (part if any(map(is_unspaced, part)) else [part])
    )


def label_text(value: Any) -> str | None:
    """A label as text, the same from every format; None if there is none.

    >>> [label_text(value) for value in (1, 1.0, " 1 ", True, math.nan, None)]
    ['1', '1', '1', 'true', None, None]
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # Missing in a column of numbers.
        if math.isnan(value):
            return None
        value = int(value) if value.is_integer() else value
    text = "" if value is None else str(value).strip()
    return text or None


def _label(row: Row, name: str, _: Known) -> Known:
    cell = row.cells.get(name)
    if isinstance(listed_value(cell), list | dict):
        raise AlbertError(
            f"{row.place}: the label {cell!r:.60} is a list or an object; give one "
            "label a row, or --task multilabel for any number of them."
        )
    label = label_text(cell)
    is_agreed = label != _NO_AGREEMENT or name.strip().lower() != _AGREED_LABEL
    return {"label": label if is_agreed else None}


class LabelCells(NamedTuple):
    """How the cells of a column of labels are written.

    Attributes:
        are_marks: Whether each is 0 or 1 for every label there is.
    """

    are_marks: bool
    alone: frozenset[str]


def label_cells(table: Table, name: str, num_labels: int) -> LabelCells:
    """How a column of labels is written, from all its rows."""
    rows = [row for row in table.rows if _is_filled(row.cells.get(name))]
    marks = [_marks_of(row.cells.get(name)) for row in rows]
    found = [own for own in marks if own is not None]
    are_marks = len(found) == len(rows) and any(len(set(m)) < len(m) for m in found)
    widths = Counter(map(len, found))
    if not are_marks and len(widths) == 1 and len(found) == len(rows):
        # No row has a mark twice: of two labels, or the numbers of two among more.
        are_marks = num_labels in (0, *widths)
    if are_marks and len(widths) > 1:
        usual, _ = widths.most_common(1)[0]
        row = next(r for r, own in zip(rows, found, strict=True) if len(own) != usual)
        raise AlbertError(
            f"{row.place}: {name!r} has another number of marks than the {usual} of "
            "the other rows, 0 or 1 for each label; correct the row."
        )
    cells = (row.cells.get(name) for row in rows)
    alone = frozenset(cell.strip() for cell in cells if isinstance(cell, str))
    return LabelCells(are_marks, alone)


def _is_filled(cell: Any) -> bool:
    return label_text(cell) is not None and listed_value(cell) != []


def _marks_of(cell: Any) -> list[float] | None:
    """0 or 1 for each label, if a cell has nothing else.

    >>> _marks_of("[0, 1, 1]"), _marks_of("0,1"), _marks_of("1"), _marks_of("[1, 2]")
    ([0, 1, 1], [0.0, 1.0], None, None)
    """
    value = listed_value(cell)
    if isinstance(value, str) and _BARE_MARKS.fullmatch(value.strip()):
        value = [float(mark) for mark in re.split(r"[\s,;|]+", value.strip())]
    if not isinstance(value, list) or len(value) < 2:
        return None
    are_marks = all(isinstance(each, int | float) and each in (0, 1) for each in value)
    return value if are_marks else None


def _labels(row: Row, name: str, _: Known, *, cells: LabelCells | None) -> Known:
    """The labels of a row: a list, a text with commas, or 0 and 1 for each of them."""
    names = label_names(row.cells, name)
    if cells is None:
        found = [each for each in names if _is_marked(row, each)]
        return {"labels": tuple(found)}
    cell = row.cells.get(name)
    if cells.are_marks:
        marks = enumerate(_marks_of(cell) or ())
        return {"labels": tuple(str(n) for n, mark in marks if mark)}
    value = object_value(cell)
    if isinstance(value, dict) and (not value or _marks_of([*value.values(), 0])):
        value = [each for each, mark in value.items() if mark]
    is_text = isinstance(value, str)
    if is_text:
        value = _divided_labels(value, cells.alone)
    if value is not None and not isinstance(value, list):
        value = [value]
    found = [text for each in value or [] if (text := label_text(each))]
    if any(isinstance(each, list | dict) for each in value or []) or (
        is_text and any(w[0] in "[({'\"" and w[-1] not in "])}'\"" for w in found)
    ):
        raise AlbertError(
            f"{row.place}: the labels {cell!r:.60} are neither a list of texts nor "
            "divided by commas; correct the row."
        )
    return {"labels": tuple(dict.fromkeys(found))}


def _divided_labels(value: str, alone: frozenset[str]) -> list[str]:
    """The labels of a text: what commas divide, or signs between known labels.

    >>> _divided_labels("a, 'b'", frozenset()), _divided_labels("a#b", frozenset("ab"))
    (['a', 'b'], ['a', 'b'])
    >>> _divided_labels("C#", frozenset({"C"}))
    ['C#']
    """
    parts = [part.strip() for part in _OTHER_DIVIDERS.split(value)]
    if len(parts) > 1 and alone.issuperset(parts):
        return parts
    # Also a list without quotation marks around its labels.
    parts = _LABEL_DIVIDERS.split(value.strip().removeprefix("["))
    return [part.strip(" ]'\"") for part in parts]


def _is_marked(row: Row, name: str) -> bool:
    value = (label_text(row.cells.get(name)) or "0").lower().removesuffix(".0")
    if value not in ("0", "1", "true", "false"):
        raise AlbertError(
            f"{row.place}: {name!r} is {value!r:.60}, where 0 or 1 says whether the "
            "row has this label; correct the row."
        )
    return value in ("1", "true")


def _score(row: Row, name: str, _: Known) -> Known:
    value = row.cells.get(name)
    try:
        score = float(str(value))
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise AlbertError(f"{row.place}: the score {value!r:.60} is not a number; correct the row.")
    return {"score": score}


def _answers(row: Row, name: str, _: Known) -> Known:
    try:
        return {"answers": answers_of(row.cells, name)}
    except (KeyError, TypeError, ValueError):
        raise AlbertError(
            f"{row.place}: the answers are not in the form of SQuAD (text and "
            "answer_start); correct the row."
        ) from None


def _choice(row: Row, name: str, known: Known, *, columns: Columns, are_places: bool) -> Known:
    answer, called = row.cells.get(name), options_in(row).names
    if str(answer) in called:
        return {"choice": called.index(str(answer))}
    choice = choice_of(
        answer, known["options"], place=row.place, first=columns.first_option, are_places=are_places
    )
    return {"choice": choice}


def _tags(row: Row, name: str, known: Known, *, has_spans: bool, counts: Counter[str]) -> Known:
    texts = known["words"], known["text"]
    return {"tags": tags_of_row(row, name, *texts, has_spans=has_spans, counts=counts)}


_TARGETS: dict[Kind, Callable[..., Known]] = {
    "classify": _label,
    "multilabel": _labels,
    "regress": _score,
    "choose": _choice,
    "answer": _answers,
    "tag": _tags,
}
