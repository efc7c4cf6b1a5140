"""The options of a row to choose from, and which of them is right."""

from collections.abc import Sequence
from typing import Any

from pipeline.tasks.columns import parsed, text_of_part
from pipeline.tasks.named_tasks import wanted
from pipeline.tasks.table_files import Options, Row, TaskTable
from schemas.errors import AlbertError
from schemas.task import Columns

# What options are called where a file names them by letters.
_LETTERS = {letter: place for place, letter in enumerate("ABCDEFGHIJ")}


# Of so many rows for each option, the first is right in some of nearly every file.
_MANY_ROWS = 10


def with_options(table: TaskTable, columns: Columns, *, are_all: bool = False) -> TaskTable:
    """The table with the options of each row, read once.

    Args:
        are_all: Whether empty ones at the end are options too, not absent.
    """
    rows = []
    for row in table.rows:
        cells, names = _named_options(row, columns)
        while cells and cells[-1] in (None, "") and not are_all:
            cells.pop()
        texts = ("" if cell is None else text_of_part(cell, place=row.place) for cell in cells)
        options = Options(tuple(texts), tuple(map(str, names))[: len(cells)])
        if len(options.texts) < 2:
            raise AlbertError(f"{row.place} has fewer than two options; give two or more.")
        rows.append(row._replace(options=options))
    return table._replace(rows=rows)


def _named_options(row: Row, columns: Columns) -> tuple[list[Any], list[Any]]:
    """The options of a row, in one column or in one each, and what they are called."""
    if len(columns.options) != 1:
        return [row.cells.get(name) for name in columns.options], [*columns.options]
    cell = row.cells.get(columns.options[0])
    value = parsed(cell)
    if isinstance(value, dict) and isinstance(value.get("text"), list):
        # As in ARC.
        names = value.get("label")
        return list(value["text"]), names if isinstance(names, list) else []
    if isinstance(value, dict):
        return list(value.values()), list(value)
    if not isinstance(value, list):
        raise AlbertError(
            f"{row.place}: the options {cell!r:.60} are no list; write them as in JSON, or in "
            f"a column each{wanted('choose')}"
        )
    # Numbers say which option is right, as two that are the same do.
    names = {each.get("label") for each in value if isinstance(each, dict)}
    are_names = len(names) == len(value) and all(isinstance(n, str) for n in names)
    return list(value), [each["label"] for each in value] if are_names else []


def first_option_of(table: TaskTable, columns: Columns) -> int | None:
    """The number of the first option in a table; None where answers are no numbers.

    It is 1 if a row needs it, or if of many rows none has 0.

    Args:
        table: As `with_options` makes it.
    """
    numbers, last_from_one, most = list[int](), None, 0
    are_places = answers_are_places(table, columns)
    for row in table.rows:
        answer = row.cells.get(columns.label or "")
        options, names = row.options
        number = _number(answer)
        is_text = str(answer) in names or (answer in options and not are_places)
        if number is None or number < 0 or is_text:
            continue
        numbers.append(number)
        most = max(most, len(options))
        if number == len(options):
            last_from_one = row.place
    if last_from_one is not None and 0 in numbers:
        raise AlbertError(
            f"{last_from_one}: the right option has the number of options as its "
            "number, and other rows count from 0; correct one of them."
        )
    is_from_one = len(numbers) >= _MANY_ROWS * most and 0 not in numbers
    return int(last_from_one is not None or is_from_one) if numbers else None


def answers_are_places(table: TaskTable, columns: Columns) -> bool:
    """Whether numbers and letters are the places of options, also if these are such.

    They are if one of them is not among its options and all numbers may be those of
    options: "1" is the number of an option beside 10, 20 and 30, and so it is beside 1,
    2 and 3 in another row of that file.
    """
    is_other = False
    for row in table.rows:
        answer, options = row.cells.get(columns.label or ""), row.options.texts
        number = _number(answer)
        if number is not None and not -1 <= number <= len(options):
            return False
        is_known = _is_place(answer, options) and number != -1
        is_other = is_other or (is_known and answer not in options)
    return is_other


def _is_place(answer: Any, options: Sequence[str]) -> bool:
    """Whether an answer is a number, or the letter of an option."""
    return _number(answer) is not None or _letter(answer) in range(len(options))


def _letter(answer: Any) -> int | None:
    """The place of a letter, from 0.

    >>> _letter("b"), _letter("(B)"), _letter("ab")
    (1, 1, None)
    """
    return _LETTERS.get(str(answer).strip(" ().").upper())


def choice_of(row: Row, columns: Columns, *, are_places: bool) -> int | None:
    """The number of the right option, given as its name, a letter, a number or its text.

    None where it is withheld.

    Args:
        are_places: As of `answers_are_places`.

    >>> from collections import Counter
    >>> columns = Columns(label="label", options=("choice1", "choice2"))
    >>> row = {"choice1": "red", "choice2": "blue"}
    >>> answers = ("choice2", "B", 1, "1", "blue", None)
    >>> rows = [Row("", {**row, "label": answer}, 0) for answer in answers]
    >>> table = with_options(TaskTable("", (), rows, Counter()), columns)
    >>> [choice_of(row, columns, are_places=False) for row in table.rows]
    [1, 1, 1, 1, 1, None]
    """
    answer, (options, names) = row.cells.get(columns.label or ""), row.options
    if answer is None or answer == "":
        return None
    if str(answer) in names:
        return names.index(str(answer))
    number, first = _number(answer), columns.first_option
    if answer in options and not (are_places and _is_place(answer, options)):
        return options.index(answer)  # the first of some that are the same, as in C3
    if number is not None and 0 <= number - (first or 0) < len(options):
        return number - (first or 0)
    if number == -1:
        return None
    letter = _letter(answer)
    if letter is not None and letter < len(options):
        return letter
    if first is not None and number in (0, len(options)):
        raise AlbertError(
            f"{row.place}: the right answer {number} counts the options from {1 - first}, "
            f"and the other files of the task count from {first}; correct one of them."
        )
    raise AlbertError(
        f"{row.place}: the right answer {str(answer)!r:.60} is none of the {len(options)} "
        "options; correct it."
    )


def _number(value: Any) -> int | None:
    """A whole number, also one that is written as text or as 1.0.

    >>> _number(2.0), _number("2.0"), _number("2.5"), _number(True)
    (2, 2, None, None)
    """
    text = str(value).strip().removesuffix(".0")
    return int(text) if text.removeprefix("-").isdecimal() else None
