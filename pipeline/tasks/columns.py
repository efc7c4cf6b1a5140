"""Which columns of a table a task reads, and what its options are called."""

import dataclasses
import re
from collections.abc import Container, Sequence
from typing import Any

from pipeline.tasks.table_files import Row, Table, listed_value, parsed_value
from schemas.errors import AlbertError, SettingError
from schemas.task import Columns, Kind

# Names that columns have in published files, the more specific first; upper and lower
# case are the same.
_PAIRS = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("#1 string", "#2 string"),
    ("text_a", "text_b"),
    ("text", "text_pair"),
    ("text1", "text2"),
    ("query", "document"),
    ("question", "passage"),
    ("question", "context"),
    ("query", "passage"),
    ("query", "text"),
)
TEXT_COLUMNS = (
    *("text", "sentence", "sentence1", "text_a", "content", "review", "comment"),
    *("comment_text", "tweet", "document", "question"),
)
_PASSAGES = ("context", "article", "passage", "sent1", "premise", "text")
_QUESTIONS = ("question", "query", "sent2")
WORDS = ("tokens", "words", "token", "word", "form")
_LABELS = (
    *("gold_label", "label", "labels", "target", "class", "category"),
    *("is_duplicate", "quality", "score"),
)
_SCORES = ("score", "label", "target", "similarity", "rating", "labels")
_CHOICES = ("label", "answer", "target", "answerkey")
TAGS = (
    *("tags", "ner_tags", "ner_tag", "ner", "tag", "bio", "iob", "pos_tags"),
    *("pos_tag", "labels", "label", "entities", "entity", "spans", "pos"),
)
# What numbers the sentences of a table with one word a row.
SENTENCES = (
    *("sentence #", "sentence", "sentence_id", "sentence id", "sentence_idx"),
    *("sent_id", "sent"),
)
# What tells the documents apart that they are from.
DOCUMENTS = (
    *("doc_id", "doc id", "doc", "document_id", "document id", "document"),
    *("article_id", "article id", "article"),
)
_ANSWERS = ("answers", "answer")
_IDS = ("index", "idx", "id", "guid")
_OPTION_LISTS = ("options", "choices", "choice", "endings")
_OPTION = re.compile(
    r"(?:ending|option|choice|answer)[ _]?(?:[0-9]{1,2}|[a-j])|[a-j]", re.IGNORECASE
)

# A question to choose an answer to may stand alone, as in ARC.
_KIND_TEXTS = {
    "choose": (*_PASSAGES, "question"),
    "answer": _PASSAGES,
    "tag": (*WORDS, "text"),
}
_KIND_LABELS = {
    "classify": _LABELS,
    "multilabel": ("labels", "label", "tags", "categories", "target"),
    "regress": _SCORES,
    "choose": _CHOICES,
    "answer": _ANSWERS,
    "tag": TAGS,
}
# What some kinds read beside the columns that are told, where a file has it.
_KIND_OTHERS = {"answer": ("is_impossible",), "tag": ("text",)}
_FLAGS = {"text": "--text-column", "pair": "--pair-column", "label": "--label-column"}


def find_columns(
    table: Table, kind: Kind, *, given: Columns, is_labelled: bool
) -> Columns:
    """The columns of a table that a task reads.

    Args:
        given: What a person, or the table that was read for training, has said.

    >>> from collections import Counter
    >>> table = Table("a.csv", ("Id", "premise", "hypothesis", "label"), [], Counter())
    >>> found = find_columns(table, "classify", given=Columns(), is_labelled=True)
    >>> found.text, found.pair, found.label, found.id
    ('premise', 'hypothesis', 'label', 'Id')
    """
    _require(table, given.text, flag=_FLAGS["text"])
    _require(table, given.pair, flag=_FLAGS["pair"])
    _require(table, *given.options)
    label = given.label
    if label is None or not set(label_names(table.columns, label)) <= {*table.columns}:
        if label is not None and is_labelled:
            _require(table, *label_names(table.columns, label), flag=_FLAGS["label"])
        label = _first(table, _KIND_LABELS[kind])
    options = given.options or _options(table) if kind == "choose" else ()
    found = dataclasses.replace(
        given, label=label, options=options, id=given.id or _first(table, _IDS)
    )
    if found.text is None:
        found = _with_texts(table, kind, found)
    if found.label is None and is_labelled:
        rest = _others(table, found)
        if len(rest) != 1 or kind == "answer":
            raise _unclear(table, "label", kind=kind)
        found = dataclasses.replace(found, label=rest[0])
    if kind == "choose" and not options:
        raise SettingError(
            f"{table.path} has no columns of options (options, choices, or ending0, "
            f"ending1 and so on); it has {_listed(table.columns)}."
        )
    return found


def remarks_on_columns(
    table: Table, kind: Kind, *, found: Columns, others: Sequence[str] = ()
) -> tuple[str, ...]:
    """What is said of the columns that a task does not read, if there are any.

    Args:
        others: Columns that are read beside those that were found.

    >>> from collections import Counter
    >>> table = Table("a.csv", ("text", "label", "title"), [], Counter())
    >>> found = Columns(text="text", label="label")
    >>> remarks_on_columns(table, "classify", found=found)
    ("columns that are not read: 'title'",)
    """
    known = ("", *others, *_KIND_OTHERS.get(kind, ()))
    rest = [name for name in _others(table, found) if name not in known]
    return (f"columns that are not read: {_listed(rest)}",) if rest else ()


def label_names(columns: Container[str], label: str) -> list[str]:
    """The columns that a label is in: one, or several with commas between.

    >>> label_names(("text", "rude", "loud"), "rude,loud")
    ['rude', 'loud']
    """
    return [label] if label in columns else label.split(",")


def _with_texts(table: Table, kind: Kind, found: Columns) -> Columns:
    """The same with the text, and with the second text if there is one."""
    text, pair = None, found.pair
    if kind in _KIND_TEXTS:
        text = _first(table, _KIND_TEXTS[kind], without=pair)
        if kind != "tag" and pair is None:
            pair = _first(table, _QUESTIONS)
    else:
        for first, second in _PAIRS:
            if pair is None and _first(table, (first,)) and _first(table, (second,)):
                text, pair = _first(table, (first,)), _first(table, (second,))
        text = text or _first(table, TEXT_COLUMNS, without=pair)
        rest = _others(table, found)
        if text is None and len(rest) == 1:
            (text,) = rest
    if text is None:
        raise _unclear(table, "text", kind=kind)
    if kind == "answer" and pair is None:
        raise _unclear(table, "pair", kind=kind)
    return dataclasses.replace(found, text=text, pair=None if pair == text else pair)


def _options(table: Table) -> tuple[str, ...]:
    if (one := _first(table, _OPTION_LISTS)) is not None:
        return (one,)
    names = filter(_OPTION.fullmatch, table.columns)
    # In the order of their numbers or letters, which answers go by.
    return tuple(sorted(names, key=lambda name: (len(name), name.lower())))


def _others(table: Table, found: Columns) -> list[str]:
    """The columns that nothing is known of."""
    known = {found.text, found.pair, found.id, *found.options}
    if found.label is not None:
        known |= set(label_names(table.columns, found.label))
    return [name for name in table.columns if name not in known]


def _first(
    table: Table, names: Sequence[str], *, without: str | None = None
) -> str | None:
    """The first column with one of these names, as the table spells it, except one."""
    columns = {name.strip().lower(): name for name in reversed(table.columns)}
    found = (columns[name] for name in names if name in columns)
    return next((name for name in found if name != without), None)


def _require(table: Table, *names: str | None, flag: str = "") -> None:
    """Refuse a table that lacks a column; a flag, if any, may name another one."""
    missing = [name for name in names if name not in (None, *table.columns)]
    if not missing:
        return
    remedy = f"rename one{', or say which it is with ' if flag else ''}{flag}"
    raise SettingError(
        f"{table.path} has no column {missing[0]!r:.60}; it has "
        f"{_listed(table.columns)}; {remedy}."
    )


# What is a number, or has as many words as a sentence, names no column.
_NO_NAME = re.compile(r"\s*[-+]?[0-9.]+\s*|\s*(?:\S+\s+){3,}\S+\s*")


def _unclear(table: Table, what: str, *, kind: Kind) -> SettingError:
    names = {"text": "text", "pair": "question", "label": "label"}
    more = ""
    if any(map(_NO_NAME.fullmatch, table.columns)):
        more = "; if these are no names, put a line of names above the first row"
    elif what == "label" and kind == "multilabel":
        more = ", which takes several names with commas between"
    return SettingError(
        f"{table.path}: the columns {_listed(table.columns)} do not show which one is "
        f"the {names[what]}; name it with {_FLAGS[what]}{more}."
    )


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in columns)
    return f"{shown[:200]} ..." if len(shown) > 200 else shown


# What options are called where a file names them by letters.
_LETTERS = "ABCDEFGHIJ"


# Of so many rows for each option, the first is right in some of nearly every file.
_MANY_ROWS = 10

# A list as pandas writes it inside an object.
_ARRAY = re.compile(r"array\((\[[^\[\]]*\])(?:,\s*dtype=[^()]+)?\)")


def object_value(value: Any) -> Any:
    """A cell, read if it is a list or an object as JSON, Python or pandas writes them.

    >>> object_value("{'text': array(['Ada'], dtype=object)}"), object_value("['Ada']")
    ({'text': ['Ada']}, ['Ada'])
    >>> object_value("{b}")
    '{b}'
    """
    value = listed_value(value)
    if not (isinstance(value, str) and value.strip().startswith("{")):
        return value
    for written in (value, _ARRAY.sub(r"\1", value)):
        if isinstance(found := parsed_value(written.strip()), dict):
            return found
    return value


def text_of_part(part: Any, *, place: str) -> str:
    """A word or an option; of an object, as Prodigy has them, its text.

    >>> text_of_part({"text": "Ada", "start": 0}, place=""), text_of_part(7, place="")
    ('Ada', '7')
    """
    text = part.get("text") if isinstance(part, dict) else part
    if not isinstance(text, str | int | float):
        raise AlbertError(
            f"{place}: {part!r:.60} is neither a text nor an object with a text; "
            "correct the row."
        )
    return str(text)


def options_of(row: Row, columns: Columns) -> tuple[str, ...]:
    """The options of a row: one column with a list, or a column each.

    Empty ones at the end are absent.
    """
    cells, _ = _named_options(row, columns)
    while cells and cells[-1] in (None, ""):
        cells.pop()
    options = tuple(
        "" if cell is None else text_of_part(cell, place=row.place) for cell in cells
    )
    return two_or_more(options, place=row.place)


def names_of_options(row: Row, columns: Columns) -> list[str]:
    """What the options of a row are called, if it says so."""
    _, names = _named_options(row, columns)
    return [str(name) for name in names]


def _named_options(row: Row, columns: Columns) -> tuple[list[Any], list[Any]]:
    """The options of a row as it has them, and their names if it says so."""
    if len(columns.options) != 1:
        return [row.cells.get(name) for name in columns.options], []
    cell = row.cells.get(columns.options[0])
    value = object_value(cell)
    if isinstance(value, dict) and isinstance(value.get("text"), list):
        # As in ARC.
        names = value.get("label")
        return list(value["text"]), names if isinstance(names, list) else []
    if isinstance(value, dict):
        return list(value.values()), list(value)
    if not isinstance(value, list):
        raise AlbertError(
            f"{row.place}: the options {cell!r:.60} are no list; write them as in JSON "
            '(["red", "blue"]), or in a column each.'
        )
    # Numbers say which option is right, as two that are the same do.
    names = {each.get("label") for each in value if isinstance(each, dict)}
    are_names = len(names) == len(value) and all(isinstance(n, str) for n in names)
    return list(value), [each["label"] for each in value] if are_names else []


def two_or_more(options: tuple[str, ...], *, place: str) -> tuple[str, ...]:
    """Options that can be chosen from."""
    if len(options) < 2:
        raise AlbertError(f"{place} has fewer than two options; give two or more.")
    return options


def first_option_of(table: Table, columns: Columns) -> int | None:
    """The number of the first option in a table; None where answers are no numbers.

    It is 1 if a row needs it, or if of many rows none has 0.
    """
    if columns.label is None:
        return None
    numbers, last_from_one, most = list[int](), None, 0
    are_places = answers_are_places(table, columns)
    for row in table.rows:
        answer, options = row.cells.get(columns.label), options_of(row, columns)
        number = _number(answer)
        is_name = str(answer) in names_of_options(row, columns)
        is_text = is_name or (answer in options and not are_places)
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


def answers_are_places(table: Table, columns: Columns) -> bool:
    """Whether numbers and letters are the places of options, also if these are such.

    They are if one of them is not among its options and all numbers may be those of
    options: "1" is the number of an option beside 10, 20 and 30, and so it is beside 1,
    2 and 3 in another row of that file.
    """
    if columns.label is None:
        return False
    is_other = False
    for row in table.rows:
        answer, options = row.cells.get(columns.label), options_of(row, columns)
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

    >>> _letter("b"), _letter("ab")
    (1, None)
    """
    letter = str(answer).strip().upper()
    return _LETTERS.index(letter) if letter in [*_LETTERS] else None


def choice_of(
    answer: Any,
    options: Sequence[str],
    *,
    place: str,
    first: int = 0,
    are_places: bool = False,
) -> int | None:
    """The number of the right option: given as a letter, a number or its text.

    Args:
        answer: As the file has it; None or empty where it is withheld.
        first: What the file counts from.
        are_places: As of `answers_are_places`.

    >>> [choice_of(a, ("red", "blue"), place="") for a in ("B", 1, "1", "blue", None)]
    [1, 1, 1, 1, None]
    """
    if answer is None or answer == "":
        return None
    number = _number(answer)
    if answer in options and not (are_places and _is_place(answer, options)):
        return options.index(answer)  # the first of some that are the same, as in C3
    if number is not None and 0 <= number - first < len(options):
        return number - first
    if number == -1:
        return None
    letter = _letter(answer)
    if letter is not None and letter < len(options):
        return letter
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
