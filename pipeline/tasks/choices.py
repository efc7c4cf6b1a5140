"""Multiple choice: RACE's folders, C3, and rows with options."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.tasks.table_files import (
    Row,
    Table,
    as_text,
    as_texts,
    decode_text,
    json_records,
    read_data,
    table_of_records,
)
from schemas.errors import AlbertError
from schemas.task import Columns, TaskExample

_LETTERS = "ABCDEFGHIJ"


def read_race(folder: str, *, counts: Counter[str]) -> list[TaskExample]:
    """The questions of all files below a folder such as RACE's `train` or `dev/high`.

    Each file is one JSON object, or several of them a line (the `all.txt` that
    google-research/albert reads).
    """
    paths = [
        path
        for path in sorted(Path(folder).rglob("*"))
        if path.suffix in (".txt", ".json", ".jsonl") and path.is_file()
    ]
    examples: list[TaskExample] = []
    for path in paths:
        text = decode_text(read_data(str(path)), str(path), counts=counts)
        table = table_of_records(json_records(text, str(path)), path=str(path))
        for row in table.rows:
            examples += race_questions(row, path.stem)
    if not examples:
        raise AlbertError(
            f"{folder} has no files of questions (.txt with JSON, as in RACE)."
        )
    return examples


def race_questions(row: Row, name: str) -> Iterator[TaskExample]:
    """The questions on one article.

    Args:
        row: With an article, and one entry for each question in all else.
        name: What the article is called if it does not say.
    """
    record = row.cells
    try:
        article, questions = as_text(record["article"]), as_texts(record["questions"])
        options = [as_texts(choices) for choices in record["options"]]
        answers = record.get("answers") or [None] * len(questions)
        asked = list(zip(questions, options, answers, strict=True))
    except (KeyError, TypeError, ValueError):
        raise AlbertError(
            f"{row.place} is not in the form of RACE: it needs an article, and as many "
            "questions, options and answers."
        ) from None
    identity = str(record.get("id", name)).removesuffix(".txt")
    for number, (question, choices, answer) in enumerate(asked):
        place = f"{row.place}, question {number}"
        yield TaskExample(
            id=f"{identity}-{number}",
            place=place,
            text=article,
            text_pair=question,
            options=_two_or_more(choices, place=place),
            choice=choice_of(answer, choices, place=place),
        )


def in_hub_form(table: Table) -> Table:
    """A table of ARC as AI2 publishes it in the form of the hub; others as they are."""
    rows = [*map(_of_hub, table.rows)]
    if rows == table.rows:
        return table
    return table._replace(rows=rows, columns=(*table.columns, "choices"))


def _of_hub(row: Row) -> Row:
    """A row whose question has a stem and choices.

    >>> choices = [{"text": "red", "label": "A"}, {"text": "blue", "label": "B"}]
    >>> question = {"stem": "Which?", "choices": choices}
    >>> _of_hub(Row("a, line 1", {"question": question, "answerKey": "B"}, 0)).cells
    ... # doctest: +NORMALIZE_WHITESPACE
    {'question': 'Which?', 'answerKey': 'B',
     'choices': {'text': ['red', 'blue'], 'label': ['A', 'B']}}
    """
    question = row.cells.get("question")
    if not isinstance(question, dict) or not {"stem", "choices"} <= question.keys():
        return row
    try:
        choices = {
            key: [as_text(choice[key]) for choice in question["choices"]]
            for key in ("text", "label")
        }
    except (KeyError, TypeError):
        raise AlbertError(
            f"{row.place} is not in the form of ARC: a question has a stem and "
            "choices, which have text and label."
        ) from None
    return row._replace(
        cells={**row.cells, "question": question["stem"], "choices": choices}
    )


def is_c3(value: Any) -> bool:
    """Whether a value of JSON has documents as C3 has them: lines, questions and id."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, list) and len(first) in (2, 3)


def read_c3(value: Any, *, path: str) -> list[TaskExample]:
    """The questions of a file of C3.

    >>> value = [[["A: hi"], [{"question": "Who?", "choice": ["a", "b"],
    ...                        "answer": "b"}], "1-2"]]
    >>> example, = read_c3(value, path="c3.json")
    >>> example.id, example.options, example.choice
    ('1-2-0', ('a', 'b'), 1)
    """
    examples: list[TaskExample] = []
    for number, document in enumerate(value):
        place = f"{path}, document {number + 1}"
        try:
            examples += _questions_of_c3(document, number, place=place)
        except (KeyError, TypeError, IndexError, AttributeError):
            raise AlbertError(
                f"{place} is not in the form of C3: lines, questions with choice and "
                "answer, and an id."
            ) from None
    return examples


def _questions_of_c3(document: Any, number: int, *, place: str) -> list[TaskExample]:
    text = "\n".join(as_texts(document[0]))
    identity = document[2] if len(document) > 2 else number
    examples = []
    for index, asked in enumerate(document[1]):
        options = _two_or_more(as_texts(asked["choice"]), place=place)
        choice = choice_of(asked.get("answer"), options, place=place)
        examples.append(
            TaskExample(
                id=f"{identity}-{index}",
                place=f"{place}, question {index}",
                text=text,
                text_pair=as_text(asked["question"]),
                options=options,
                choice=choice,
            )
        )
    return examples


def options_of(row: Row, columns: Columns) -> tuple[str, ...]:
    """The options of a row: one column with a list, or a column each.

    Empty ones at the end are absent.
    """
    cells = [row.cells.get(name) for name in columns.options]
    if len(cells) == 1 and isinstance(cells[0], dict):
        # ARC has the options under text, and what each is called under label.
        cells = [cells[0].get("text")]
    if len(cells) == 1 and isinstance(cells[0], list):
        cells = list(cells[0])
    while cells and cells[-1] in (None, ""):
        cells.pop()
    options = tuple("" if cell is None else str(cell) for cell in cells)
    return _two_or_more(options, place=row.place)


def option_names(row: Row, columns: Columns) -> list[str]:
    """What the options of a row are called, where it says so, as in ARC."""
    cell = row.cells.get(columns.options[0]) if len(columns.options) == 1 else None
    names = cell.get("label") if isinstance(cell, dict) else None
    return [str(name) for name in names] if isinstance(names, list) else []


def _two_or_more(options: tuple[str, ...], *, place: str) -> tuple[str, ...]:
    if len(options) < 2:
        raise AlbertError(f"{place} has fewer than two options; give two or more.")
    return options


def first_option_of(table: Table, columns: Columns) -> int:
    """The number of the first option in a table: 1 if a row needs it, else 0."""
    if columns.label is None:
        return 0
    smallest, last_from_one = None, None
    are_numbers = answers_are_numbers(table, columns)
    for row in table.rows:
        answer, options = row.cells.get(columns.label), options_of(row, columns)
        number = _number(answer)
        if number is None or (answer in options and not are_numbers):
            continue
        smallest = number if smallest is None else min(smallest, number)
        if number == len(options):
            last_from_one = row.place
    if last_from_one is not None and smallest == 0:
        raise AlbertError(
            f"{last_from_one}: the right option has the number of options as its "
            "number, and other rows count from 0; correct one of them."
        )
    return int(last_from_one is not None)


def answers_are_numbers(table: Table, columns: Columns) -> bool:
    """Whether right answers are the numbers of options, also if options are numbers.

    They are if one of them is not among its options and all may be numbers of options:
    "1" is the number of an option beside 10, 20 and 30, and so it is beside 1, 2 and 3
    in another row of that file.
    """
    if columns.label is None:
        return False
    is_other = False
    for row in table.rows:
        answer, options = row.cells.get(columns.label), options_of(row, columns)
        number = _number(answer)
        if number is not None and not -1 <= number <= len(options):
            return False
        is_known = number is not None and number != -1
        is_other = is_other or (is_known and answer not in options)
    return is_other


def choice_of(
    answer: Any,
    options: Sequence[str],
    *,
    place: str,
    first: int = 0,
    are_numbers: bool = False,
) -> int | None:
    """The number of the right option: given as a letter, a number or its text.

    Args:
        answer: As the file has it; None or empty where it is withheld.
        first: What the file counts from.
        are_numbers: Whether numeric answers are option indices.

    >>> [choice_of(a, ("red", "blue"), place="") for a in ("B", 1, "1", "blue", None)]
    [1, 1, 1, 1, None]
    """
    if answer is None or answer == "":
        return None
    number = _number(answer)
    if answer in options and not (are_numbers and number is not None):
        return options.index(answer)  # the first of some that are the same, as in C3
    if number is not None and 0 <= number - first < len(options):
        return number - first
    if number == -1:
        return None
    letter = str(answer).strip().upper()
    if len(letter) == 1 and letter in _LETTERS[: len(options)]:
        return _LETTERS.index(letter)
    raise AlbertError(
        f"{place}: the right answer {str(answer)!r:.60} is none of the {len(options)} "
        "options; correct it."
    )


def _number(value: Any) -> int | None:
    """A whole number, also one that is written as text or as 1.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    return None
