"""The files of a task, by their names in a folder, and the examples of each."""

import csv
import dataclasses
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.documents import list_reasons
from pipeline.reading.head import is_columnar
from pipeline.reading.tables import column_names, divide_lines
from pipeline.storage.files import is_folder
from pipeline.tasks.columns import (
    DOCUMENTS,
    SENTENCES,
    TEXT_COLUMNS,
    WORDS,
    find_columns,
    listed_value,
    remarks_on_columns,
)
from pipeline.tasks.conll import names_words, read_conll
from pipeline.tasks.named_tasks import NAMED_TASKS
from pipeline.tasks.options import first_option_of, with_options
from pipeline.tasks.published import (
    in_hub_form,
    is_c3,
    is_squad,
    race_questions,
    read_c3,
    read_race,
    read_squad,
)
from pipeline.tasks.table_examples import examples_of_table
from pipeline.tasks.table_files import (
    Row,
    Table,
    by_rows,
    decode_text,
    json_records,
    parse_parquet,
    parse_table,
    read_data,
    table_of_records,
)
from pipeline.tasks.tags import in_iob2, in_scheme_of
from schemas.errors import AlbertError, SettingError
from schemas.task import TARGETS, Columns, TaskExample, TaskSpec

# The column in which Prodigy has what annotators thought of a row, and what is counted
# of rows that they did not accept.
_ANSWER, _ANSWERS = "answer", {"accept", "reject", "ignore", ""}
NOT_ACCEPTED = "row that was rejected or ignored, left out"

# Rows by which a table is known.
_SAMPLE_ROWS = 200

# Words that no sentence has.
_MOST_WORDS = 1000

# What is said of a file to predict without a line of names.
PLAIN = "no table, so each line is a text"

# How a text of JSON begins; one that begins with a bracket may be words.
_JSON = re.compile(r"\{\s*[\"'}]|\[\s*[\[{\"'\]]")

# The first line of a file of columns whose first word is a bracket.
_COLUMNS = re.compile(r"[\[{](?:[ \t]+[^\s\[\]{}\"]+)+\s*")


class TaskFile(NamedTuple):
    """What a file holds.

    Attributes:
        columns: Where they were found, in a table, and how it counts options.
    """

    examples: list[TaskExample]
    columns: Columns
    counts: Counter[str]
    remarks: tuple[str, ...] = ()


def read_task_file(path: str, task: TaskSpec, *, is_labelled: bool = True) -> TaskFile:
    """The examples of a file, or of a folder such as RACE's.

    Args:
        task: Its columns are those that a person named or that another file of the task
            has; all others are found by their names.
        is_labelled: Whether what is to be predicted has to be there; else it is not
            read, whatever is there.
    """
    file = _read(path, task, is_labelled=is_labelled)
    if not file.examples:
        why = f" ({list_reasons(file.counts)})" if +file.counts else ""
        raise AlbertError(f"{path} holds no examples{why}.")
    if task.kind == "tag":
        examples = in_iob2(file.examples, counts=file.counts)
        remarks = (*file.remarks, *_remarks_on_lengths(examples))
        examples = in_scheme_of(examples, task.labels)
        file = file._replace(examples=examples, remarks=remarks)
    if not is_labelled:
        return file._replace(examples=[_unlabelled(e) for e in file.examples])
    if all(_unlabelled(example) == example for example in file.examples):
        raise AlbertError(f"{path} does not say what is to be predicted.")
    return file


def _remarks_on_lengths(examples: Sequence[TaskExample]) -> Iterator[str]:
    """What is said of a sentence that is so long that it is several."""
    longest = max(examples, key=lambda example: len(example.words))
    if len(longest.words) > _MOST_WORDS:
        yield (
            f"the sentence of {longest.place} has {len(longest.words):,} words; put an "
            "empty line between sentences, or their number in a column sentence_id"
        )


def with_first_option(task: TaskSpec, paths: Sequence[str]) -> TaskSpec:
    """The task with the number of its first option, which any of its files may tell."""
    read, numbers = task, list[int | None]()
    for path in paths:
        columns = read_task_file(path, read).columns
        numbers.append(columns.first_option)
        columns = dataclasses.replace(columns, first_option=None)
        read = dataclasses.replace(read, columns=columns)
    first = max((number for number in numbers if number is not None), default=None)
    columns = dataclasses.replace(task.columns, first_option=first)
    return dataclasses.replace(task, columns=columns)


def _read(path: str, task: TaskSpec, *, is_labelled: bool) -> TaskFile:
    counts: Counter[str] = Counter()
    if is_folder(path):
        if task.kind != "choose":
            raise SettingError(f"{path} is a folder; name a file.")
        return TaskFile(read_race(path, counts=counts), task.columns, counts)
    data = read_data(path)
    if is_columnar(data):
        # Labels that are known as numbers, as those of most named tasks, stay so.
        are_named = not task.labels or not all(map(str.isdecimal, task.labels))
        table = parse_parquet(data, path, are_named=are_named)
        return _of_table(table, task, is_labelled=is_labelled)
    text = decode_text(data, path, counts=counts)
    if _is_json(text, task):
        value = json_records(text, path)
        own = _of_own_form(value, task, path=path, counts=counts)
        if own is not None:
            return TaskFile(own, task.columns, counts)
        # The words and the tags of one sentence are lists as well.
        value = by_rows(value, words=WORDS if task.kind == "tag" else None)
        table = table_of_records(value, path=path)
    elif task.kind == "tag":
        return _of_words(text, task, path=path, is_labelled=is_labelled, counts=counts)
    else:
        if not is_labelled and _is_plain(text, task):
            return TaskFile(_plain_texts(text, path), task.columns, counts, (PLAIN,))
        named = NAMED_TASKS.get(task.name)
        header = named.header if named and not _has_names(text, task) else ()
        table = parse_table(text, path=path, header=header, may_be_quoted=named is None)
    table.counts.update(counts)
    return _of_table(table, task, is_labelled=is_labelled)


def _of_words(
    text: str, task: TaskSpec, *, path: str, is_labelled: bool, counts: Counter[str]
) -> TaskFile:
    """Words with their tags: a table, with a sentence or a word a row, or columns."""
    _, first = next(divide_lines([text.partition("\n")[0]]), (1, []))
    # Words to be tagged may stand alone, in the lists or texts of one column; its name
    # does not begin a sentence.
    if (
        not isinstance(first, csv.Error)
        and (len(first) > 1 or (not is_labelled and "".join(first).islower()))
        and names_words(first, has_tags=is_labelled)
    ):
        table = parse_table(text, path=path)
        columns = find_columns(table, "tag", given=task.columns, is_labelled=is_labelled)
        if _has_sentences(table, columns):
            return _of_table(table, task, is_labelled=is_labelled)
        # Without a column that tells sentences apart, empty lines may do so.
        places = _sentence_columns(table, columns, has_blocks="\n\n" in text.strip())
        if places:
            return _of_words_in_rows(table, columns, places=places, is_labelled=is_labelled)
    columns = task.columns
    if not is_labelled:
        # Tags that are not read may be in any column, or in none.
        columns = dataclasses.replace(columns, label=None)
    examples, remarks = read_conll(
        text, path=path, columns=columns, has_tags=is_labelled, counts=counts
    )
    return TaskFile(examples, task.columns, counts, remarks)


def _sentence_columns(table: Table, columns: Columns, *, has_blocks: bool) -> list[str]:
    """The columns that number the sentences and the documents, if there are any.

    Args:
        has_blocks: Whether empty lines tell sentences apart where no column does.
    """
    others = [n for n in table.columns if n not in (columns.text, columns.label)]
    sentence, document = (
        next((name for name in others if name.lower() in names), None)
        for names in (SENTENCES, DOCUMENTS)
    )
    if sentence is None and has_blocks:
        return []
    return [name for name in (sentence, document) if name]


def _of_words_in_rows(
    table: Table, columns: Columns, *, places: Sequence[str], is_labelled: bool
) -> TaskFile:
    read = columns if is_labelled else dataclasses.replace(columns, label=None)
    examples = [*_sentences_of_rows(table.rows, read, places=places)]
    remarks = remarks_on_columns(table, "tag", found=columns, others=places)
    remarks = remarks if is_labelled else ()
    return TaskFile(examples, columns, table.counts, remarks)


def _sentences_of_rows(
    rows: Iterable[Row], columns: Columns, *, places: Sequence[str]
) -> Iterator[TaskExample]:
    """The sentences of a table with one word a row and a column that numbers them.

    Args:
        places: The columns that say, at least in the first row of a sentence or a
            document, which one a word belongs to.
    """
    groups: list[list[Row]] = []
    before: dict[str, str] = {}
    for row in rows:
        called = {n: now for n in places if (now := row.cells[n].strip())}
        if not groups or not called.items() <= before.items():
            groups.append([])
            before |= called
        groups[-1].append(row)
    label = columns.label
    for number, group in enumerate(groups):
        words = tuple(row.cells[columns.text or ""] for row in group)
        yield TaskExample(
            id=str(number),
            place=group[0].place,
            text=" ".join(words),
            words=words,
            tags=None if label is None else tuple(row.cells[label] for row in group),
        )


def _has_sentences(table: Table, columns: Columns) -> bool:
    """Whether a row has all words of a sentence; a word alone may look like a list."""
    rows = [
        [
            isinstance(listed_value(cell), list) or " " in str(cell).strip()
            for cell in map(row.cells.get, (columns.text or "", columns.label or ""))
        ]
        for row in table.rows[:_SAMPLE_ROWS]
    ]
    return any(map(all, rows)) or 0 < len(rows) <= sum(map(any, rows)) * 2


def _is_plain(text: str, task: TaskSpec) -> bool:
    """Whether a file to predict is no table: its first line names no column."""
    if task.kind not in ("classify", "multilabel", "regress") or task.columns.pair:
        return False
    first, _, others = text.strip().partition("\n")
    named = NAMED_TASKS.get(task.name)
    if _has_names(text, task) or ("\t" in first and (others or named)):
        return False
    if named and named.header and first.partition(" ")[0] in task.labels:
        # As in TREC.
        return False
    # In a table all lines have as many cells as the first, which has several.
    rows = itertools.islice(divide_lines(io.StringIO(text, newline="")), _SAMPLE_ROWS)
    widths = {len(cells) for _, cells in rows if not isinstance(cells, csv.Error)}
    return len(widths) != 1 or widths == {1} or not others


def _has_names(text: str, task: TaskSpec) -> bool:
    """Whether the first line of a table has the name of a column that is read."""
    named = NAMED_TASKS.get(task.name)
    header = named.header if named else ()
    known = {*TEXT_COLUMNS, *header, (task.columns.text or "text").lower()}
    _, first = next(divide_lines(io.StringIO(text)), (1, []))
    return any(name.strip('"').lower() in known for name in column_names(first))


def _plain_texts(text: str, path: str) -> list[TaskExample]:
    """An example for each line that is not empty."""
    lines = ((n, line.strip()) for n, line in enumerate(text.split("\n"), 1))
    return [
        TaskExample(id=str(number), place=f"{path}, line {n}", text=line)
        for number, (n, line) in enumerate((n, line) for n, line in lines if line)
    ]


def _is_json(text: str, task: TaskSpec) -> bool:
    """Whether a text is JSON; in a file of columns [ and { are words too."""
    start = text.lstrip()
    is_column = task.kind == "tag" and start[1:2] in (" ", "\t")
    if is_column and _COLUMNS.fullmatch(start.partition("\n")[0]):
        return False
    return _JSON.match(start) is not None


def _of_own_form(
    value: Any, task: TaskSpec, *, path: str, counts: Counter[str]
) -> list[TaskExample] | None:
    """The examples of a file of JSON in the form of SQuAD, C3 or RACE, else None."""
    if task.kind == "answer" and is_squad(value):
        return read_squad(value, path=path, counts=counts)
    if task.kind == "choose" and is_c3(value):
        return read_c3(value, path=path)
    if task.kind == "choose":
        table = table_of_records(value, path=path)
        if "questions" in table.columns:
            return [e for row in table.rows for e in race_questions(row, row.place)]
    return None


def _of_table(table: Table, task: TaskSpec, *, is_labelled: bool) -> TaskFile:
    if not table.rows:
        return TaskFile([], task.columns, table.counts)
    table = in_hub_form(table) if task.kind == "choose" else table
    columns = find_columns(table, task.kind, given=task.columns, is_labelled=is_labelled)
    if is_labelled and columns.label != _ANSWER:
        table = _accepted(table)
    if task.kind == "choose":
        table = with_options(table, columns)
    if task.kind == "choose" and is_labelled and columns.first_option is None:
        first = first_option_of(table, columns)
        columns = dataclasses.replace(columns, first_option=first)
    read = columns if is_labelled else dataclasses.replace(columns, label=None)
    examples = examples_of_table(table, task.kind, columns=read, num_labels=len(task.labels))
    remarks = remarks_on_columns(table, task.kind, found=columns) if is_labelled else ()
    return TaskFile(examples, columns, table.counts, remarks)


def _accepted(table: Table) -> Table:
    """The table without the rows that annotators did not accept, if it says so."""
    answers = [str(row.cells.get(_ANSWER) or "").strip() for row in table.rows]
    if _ANSWER not in table.columns or not _ANSWERS.issuperset(answers):
        return table
    pairs = zip(table.rows, answers, strict=True)
    rows = [row for row, answer in pairs if answer in ("accept", "")]
    if left_out := len(table.rows) - len(rows):
        table.counts[NOT_ACCEPTED] += left_out
    columns = tuple(name for name in table.columns if name != _ANSWER)
    return table._replace(columns=columns, rows=rows)


def _unlabelled(example: TaskExample) -> TaskExample:
    """The same example without what is to be predicted."""
    unknown: dict[str, Any] = dict.fromkeys(TARGETS)
    return dataclasses.replace(example, **unknown)


# Words in names of files begin there: medieval names no evaluation.
_PARTS = {
    "train": re.compile(r"(?<![a-z])train", re.IGNORECASE),
    "evaluation": re.compile(r"(?<![a-z])(?:dev|valid|eval)", re.IGNORECASE),
    "test": re.compile(r"(?<![a-z])test", re.IGNORECASE),
}
_RACE_FOLDERS = ("train", "dev", "test")
_DATA_NAME = re.compile(
    r"\.(tsv|csv|jsonl?|parquet|txt|conllu?|annotated|all)(\.(gz|bz2|xz|zst))?$"
)


class TaskPaths(NamedTuple):
    """The files of a task: paths of files, or of folders such as RACE's.

    Attributes:
        evaluation: To choose by; MNLI has two.
        test: In the order of the task's submissions.
    """

    train: Sequence[str] = ()
    evaluation: Sequence[str] = ()
    test: Sequence[str] = ()


def find_task_files(folder: str, task: TaskSpec) -> TaskPaths:
    """The files in a folder, by their names: those with train, dev and test in them.

    Such a word may go on, as in training, but not begin inside another, as in latest.
    """
    if not Path(folder).is_dir():
        raise SettingError(f"{folder} is not a folder.")
    named = NAMED_TASKS.get(task.name)
    pattern = re.compile((named and named.files) or ".*")
    paths = sorted([*Path(folder).glob("*"), *Path(folder).glob("*/*")])
    chosen = [path for path in paths if path.is_dir() and path.name in _RACE_FOLDERS]
    if task.kind != "choose" or not chosen:
        data = [path for path in paths if _DATA_NAME.search(path.name)]
        chosen = [p for p in data if pattern.fullmatch(p.name) and p.is_file()]
    found: dict[str, list[str]] = {part: [] for part in _PARTS}
    for path in chosen:
        part = next((p for p, word in _PARTS.items() if word.search(path.name)), None)
        if part is not None:
            found[part].append(str(path))
    if not any(found.values()):
        raise SettingError(
            f"{folder} has no files of {task.name}: their names have train, dev or test in them."
        )
    return TaskPaths(**found)
