"""Rows of a table become examples of a task."""

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from typing import Any

from pipeline.core.writing_systems import is_unspaced
from pipeline.tasks.columns import label_names, parsed, text_of_part
from pipeline.tasks.named_tasks import wanted
from pipeline.tasks.options import answers_are_places, choice_of
from pipeline.tasks.published import answers_in, located
from pipeline.tasks.table_files import Row, TaskTable
from pipeline.tasks.tags import SpanReader, are_spans, marked_value, tags_of_row
from schemas.errors import AlbertError
from schemas.task import Columns, Kind, TaskExample

# Fields of an example, and what reads those of the target from a row and its texts.
Known = dict[str, Any]
Target = Callable[[Row, Known], Known]

# What is counted of rows that become no example.
NO_LABEL = "row without a label, left out"
NO_TEXT = "row without a text, left out"
UNSETTLED = "row that annotators did not settle ({}; rename the column to keep it), left out"

# What tools say of a row in a column of one of these names: what of it counts, and what
# does not. A bare `status` is Argilla's where it has a word of Argilla's own.
_STATUS = re.compile(r"(?i)answer|(?:annotation|assignment|review|label)?[ _]?status|.+\.status")
_SETTLED = re.compile("|accept(?:ed)?|approved?|validated|submitted|completed|done")
_NOT_SETTLED = re.compile("reject(?:ed)?|ignored?|skip(?:ped)?|discarded|default|draft|pending")
_OF_ARGILLA = {"validated", "submitted", "discarded", "default", "draft"}

# How SNLI and sets like it mark an example that annotators did not agree on, and how files
# mark one of a test set, or the Hugging Face Hub one without a label.
_NO_AGREEMENT, _HIDDEN = "-", "-1"
# What losses leave out.
_IGNORED = {"-100"}

# Where a score is missing.
_NO_SCORES = re.compile("(?i)|-|na|n/a|nan|null|none")

# What divides several labels; of a text in brackets, or with bars around it, these are no
# part of a label.
_DIVIDERS = (";", "|", "><", ",", "\n", " / ", " + ", " ")
_AROUND = re.compile(r"(?s)\s*(?:\[(.*)\]|<(.*)>|\|(.*)\|)\s*")

# Whether a row has a label.
_GIVEN = {"1", "true"}
_MARKS = {"0", "false", *_GIVEN}

_NUMBER = re.compile(r"(-?[0-9]+)\.0+")


def settled(table: TaskTable, *, label: str) -> TaskTable:
    """The table without the rows that annotators did not settle, if another column says so."""
    for name in filter(_STATUS.fullmatch, table.columns):
        if name == label:
            continue
        said = [_one_of(row.cells.get(name)) for row in table.rows]
        found = [("" if each is None else str(each)).strip().lower() for each in said]
        if not all(_SETTLED.fullmatch(each) or _NOT_SETTLED.fullmatch(each) for each in found):
            continue
        kept = [r for r, each in zip(table.rows, found, strict=True) if _SETTLED.fullmatch(each)]
        if left_out := len(table.rows) - len(kept):
            if name.lower() == "status" and _OF_ARGILLA.isdisjoint(found):
                continue
            words = sorted({each for each in found if not _SETTLED.fullmatch(each)})
            table.counts[UNSETTLED.format(f"{name!r} is {' or '.join(words)}")] += left_out
        columns = tuple(each for each in table.columns if each != name)
        table = table._replace(columns=columns, rows=kept)
    return table


def examples_of_table(
    table: TaskTable, kind: Kind, *, columns: Columns, labels: Collection[str] = ()
) -> list[TaskExample]:
    """The examples in a table.

    Args:
        table: For `choose` as `with_options` makes it.
        columns: Of the table; without a label, nothing is known of what to predict.
        labels: Those that a model knows, if there is one.

    >>> from collections import Counter
    >>> row = Row("a.csv, line 2", {"text": "Good.", "label": "1.0"}, 0)
    >>> table = TaskTable("a.csv", ("text", "label"), [row], Counter())
    >>> example, = examples_of_table(
    ...     table, "classify", columns=Columns(text="text", label="label"))
    >>> example.id, example.text, example.label
    ('0', 'Good.', '1')
    """
    reader = SpanReader(table.counts)
    target = _target_of(table, kind, columns, reader) if columns.label is not None else None
    # Whatever form a model was given its labels in.
    own = {label_text(label): label for label in labels}
    numbers = [str(row.number) for row in table.rows]
    given = (row.cells.get(columns.id or "") for row in table.rows)
    ids = [n if own in (None, "") else str(own) for n, own in zip(numbers, given, strict=True)]
    if columns.id is None or len(set(ids)) < len(ids):
        # They do not tell the rows apart.
        ids = numbers
    examples = []
    for identity, row in zip(ids, table.rows, strict=True):
        if target and any(row.cells.get(n) is None for n in (columns.text, columns.pair) if n):
            table.counts[NO_TEXT] += 1
            continue
        known = {"id": identity, **_texts(row, kind, columns)}
        if target is not None:
            known |= target(row, known)
            if None in (known.get("label", ""), known.get("score", "")):
                table.counts[NO_LABEL] += 1
                continue
        elif kind == "embed" and "text_pair" in known:
            known["score"] = 1.0
        if label := known.get("label"):
            known["label"] = own.get(label, label)
        if known.get("labels"):
            known["labels"] = tuple(own.get(each, each) for each in known["labels"])
        cells = row.cells if target is None else {}
        examples.append(TaskExample(place=row.place, cells=cells, **known))
    reader.check()
    return located(examples, table.counts) if kind == "answer" else examples


def _target_of(table: TaskTable, kind: Kind, columns: Columns, reader: SpanReader) -> Target:
    """What reads the target of a row, as all rows together show it is written."""
    name = columns.label or ""
    cells = [row.cells.get(name) for row in table.rows]
    if kind == "classify":
        missing = _missing_labels({text for cell in cells if (text := label_text(_one_of(cell)))})
        return lambda row, _: {"label": _label(row, name, missing)}
    if kind == "multilabel":
        names = label_names(table.columns, name)
        if len(names) > 1:
            return lambda row, _: {"labels": tuple(n for n in names if _is_marked(row, n))}
        return lambda row, _: {"labels": _labels(row, name, columns.divider or "")}
    if kind in ("regress", "embed"):
        return lambda row, _: {"score": _score(row, name, kind)}
    if kind == "answer":
        return lambda row, _: {"answers": _answers(row, name)}
    if kind == "tag" and any(map(are_spans, map(marked_value, cells))):
        return lambda row, known: {"tags": reader.tags(row, name, known["words"], known["text"])}
    if kind == "tag":
        return lambda row, _: {"tags": tags_of_row(row, name)}
    are_places = answers_are_places(table, columns)
    return lambda row, _: {"choice": choice_of(row, columns, are_places=are_places)}


def _texts(row: Row, kind: Kind, columns: Columns) -> Known:
    """The texts of a row; for `tag`, its words; for `choose`, its options."""
    if kind == "tag":
        value = _cell(row, columns.text)
        marked = marked_value(row.cells.get(columns.label or ""))
        if isinstance(listed := parsed(value), list):
            words = tuple(text_of_part(each, place=row.place) for each in listed)
            text = row.cells.get("text") if are_spans(marked) else " ".join(words)
            if not isinstance(text, str):
                raise AlbertError(
                    f"{row.place}: spans are beside words, and no 'text' is there whose characters "
                    f"they count{wanted(kind)}"
                )
            return {"words": words, "text": text}
        if not isinstance(value, str):
            raise AlbertError(
                f"{row.place}: {columns.text!r} is neither a list of words nor a text; "
                "correct the row."
            )
        # CLUENER marks characters, spaces among them.
        return {
            "words": tuple(value) if isinstance(marked, dict) else words_of(value),
            "text": value,
        }
    texts: Known = {"text": _text(row, columns.text, kind)}
    if kind == "choose":
        texts["options"] = row.options.texts
    if columns.pair is not None:
        texts["text_pair"] = _text(row, columns.pair, kind, may_be_list=kind != "embed")
    if kind == "embed" and columns.options and row.cells.get(columns.options[0]):
        texts["options"] = (_text(row, columns.options[0], kind, may_be_list=False),)
    return texts


def _text(row: Row, name: str | None, kind: Kind, *, may_be_list: bool = True) -> str:
    value = _cell(row, name)
    if may_be_list and isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    if isinstance(value, list | dict):
        raise AlbertError(f"{row.place}: {name!r} is not one text; correct the row{wanted(kind)}")
    return str(value)


def _cell(row: Row, name: str | None) -> Any:
    """What stands in a column; a text to predict that is missing is an empty one."""
    value = row.cells.get(name or "")
    return "" if value is None else value


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
    r"""A label as text, the same from every format; None if there is none.

    >>> [label_text(value) for value in (1, 1.0, " 1 ", "1.0", True, "True", "a\xa0 b", None)]
    ['1', '1', '1', '1', 'true', 'true', 'a b', None]
    """
    if value is None:
        return None
    text = " ".join(unicodedata.normalize("NFC", str(value)).split())
    if text.lower() in ("true", "false"):
        return text.lower()
    whole = _NUMBER.fullmatch(text)
    return (whole[1] if whole else text) or None


def _one_of(cell: Any) -> Any:
    """A cell, or what alone is in its list, as tools of annotation write one label."""
    value = parsed(cell)
    if not isinstance(value, list):
        return value
    return value[0] if len({*map(str, value)}) == 1 else value or None


def _missing_labels(labels: set[str]) -> set[str]:
    """What stands for no label in a column of these.

    A dash does unless others are signs too, and -1 where others count from 0 to 2 or more;
    beside 0 and 1 alone it may be a label, and a test set has nothing else.

    >>> _missing_labels({"-", "neutral"}), _missing_labels({"-", "+"}), _missing_labels({"-100"})
    ({'-'}, set(), {'-100'})
    >>> _missing_labels({"-1", "0", "1", "2"}), _missing_labels({"-1", "0", "1"})
    ({'-1'}, set())
    """
    missing = labels & _IGNORED
    if all(any(map(str.isalnum, label)) for label in labels - {_NO_AGREEMENT}):
        missing |= labels & {_NO_AGREEMENT}
    rest = labels - {_HIDDEN} - missing
    if len(rest) != 2 and rest == {str(number) for number in range(len(rest))}:
        missing |= labels & {_HIDDEN}
    return missing


def _label(row: Row, name: str, missing: Collection[str]) -> str | None:
    cell = _one_of(row.cells.get(name))
    if isinstance(cell, list | dict):
        raise AlbertError(
            f"{row.place}: the label {cell!r:.60} is a list or an object; give one label a row, "
            f"or --task multilabel for any number of them{wanted('classify')}"
        )
    label = label_text(cell)
    return None if label in missing else label


def divider_of(cells: Iterable[Any]) -> str | None:
    """The one sign that divides the labels of all cells of a column; None if none shows one.

    Of those that occur it is the one that leaves the fewest different labels. A comma may be
    part of a label: it divides none if it leaves more than there are cells, unless all that have
    one are in brackets. So may the last signs, between labels that all occur alone in some cell.

    >>> divider_of(["Health & Fitness", "Hair Care;Health & Fitness"]), divider_of(["a, b", "a"])
    (';', ',')
    >>> divider_of(["<c#>", "<c++><c#>"]), divider_of(["Food, Drink", "Arts, Crafts", "Sport"])
    ('><', None)
    >>> divider_of(["[joy, anger]", "[fear, awe]"])
    ','
    """
    texts = {cell.strip() for cell in cells if isinstance(cell, str) and cell.strip()}
    left: list[tuple[int, int, str]] = []
    for order, sign in enumerate(_DIVIDERS):
        divided = [divided_labels(text, sign) for text in texts]
        labels = {label for each in divided for label in each}
        if all(len(each) < 2 for each in divided):
            continue
        alone = {each[0] for each in divided if len(each) == 1}
        is_rare = order >= _DIVIDERS.index("\n") and not labels <= alone
        is_list = all(_AROUND.fullmatch(text) for text in texts if sign in text)
        if is_rare or (sign == "," and len(labels) > len(texts) > 1 and not is_list):
            continue
        left.append((len(labels), order, sign))
    return min(left)[2] if left else None


def divided_labels(text: str, sign: str) -> list[str]:
    """The labels of a text with a sign between them; one if there is no sign.

    >>> divided_labels("[a, 'b']", ","), divided_labels("<c#><c++>", "><")
    (['a', 'b'], ['c#', 'c++'])
    """
    around = _AROUND.fullmatch(text)
    inner = next(filter(None, around.groups()), "") if around else text
    parts = [part.strip() for part in (inner.split(sign) if sign else [inner])]
    return [part.strip("'\"") if around else part for part in parts if part]


def _labels(row: Row, name: str, divider: str) -> tuple[str, ...]:
    """The labels of a row: a list, a text with signs between them, or 0 and 1 for each."""
    cell = row.cells.get(name)
    value = parsed(cell)
    if isinstance(value, dict) and [*value] == ["choices"]:
        # As Label Studio has several.
        value = value["choices"]
    if isinstance(value, dict) and {*map(label_text, value.values())} <= _MARKS:
        value = [each for each, mark in value.items() if label_text(mark) in _GIVEN]
    if isinstance(value, str):
        value = divided_labels(value, divider)
    found = value if isinstance(value, list) else [] if value is None else [value]
    if any(
        isinstance(each, list | dict) or (str(each)[:1] == "{" and str(each)[-1:] != "}")
        for each in found
    ):
        raise AlbertError(
            f"{row.place}: the labels {cell!r:.60} are neither a list of texts nor divided by "
            f"signs{wanted('multilabel')}"
        )
    return tuple(dict.fromkeys(text for each in found if (text := label_text(each))))


def _is_marked(row: Row, name: str) -> bool:
    value = label_text(row.cells.get(name)) or "0"
    if value not in _MARKS:
        raise AlbertError(
            f"{row.place}: {name!r} is {value!r:.60}, where 0 or 1 says whether the "
            "row has this label; correct the row."
        )
    return value in _GIVEN


def _score(row: Row, name: str, kind: Kind) -> float | None:
    value = row.cells.get(name)
    if _NO_SCORES.fullmatch(str("" if value is None else value).strip()):
        return None
    try:
        score = float(str(value))
    except ValueError:
        score = math.inf
    if not math.isfinite(score):
        raise AlbertError(
            f"{row.place}: the score {value!r:.60} is not a number; write numbers as 1234.5, "
            f"without signs and commas{wanted(kind)}"
        )
    return score


def _answers(row: Row, name: str) -> Any:
    try:
        return answers_in(row.cells, name)
    except (KeyError, TypeError, ValueError):
        raise AlbertError(
            f"{row.place}: the answers are not in the form of SQuAD (text and "
            f"answer_start){wanted('answer')}"
        ) from None
