"""The files of a task, by their names in a folder, and the examples of each."""

import csv
import dataclasses
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.core.documents import list_reasons
from pipeline.reading.formats import begins_as
from pipeline.reading.tables import divide_lines, names_of
from pipeline.storage.files import is_folder
from pipeline.tasks.columns import (
    NAMES,
    find_columns,
    label_names,
    parsed,
    remarks_on_columns,
    unread_columns,
)
from pipeline.tasks.conll import names_words, read_conll
from pipeline.tasks.named_tasks import NAMED_TASKS, header_of, wanted
from pipeline.tasks.options import first_option_of, with_options
from pipeline.tasks.published import COLUMNS, published_rows, rows_of_folder
from pipeline.tasks.table_examples import divider_of, examples_of_table, label_text, settled
from pipeline.tasks.table_files import (
    Row,
    TaskTable,
    decode_text,
    json_records,
    parse_parquet,
    parse_table,
    read_data,
    table_of_records,
)
from pipeline.tasks.tags import in_one_scheme
from schemas.errors import AlbertError, SettingError
from schemas.task import TARGETS, Columns, TaskExample, TaskSpec

# Rows by which a table is known.
_SAMPLE_ROWS = 200

# Words that no sentence has, and that no name of a column has.
_MOST_WORDS, _MANY_WORDS = 1000, 5

# What is counted of rows that end before a cell that is read.
_FEWER_CELLS = "row with fewer cells than the header, left out"

# What is said of a file to predict without a line of names.
PLAIN = "no table, so each line is a text"

# How a text of JSON begins; one that begins with a bracket may be words.
_JSON = re.compile(r"\s*(?:\{\s*[\"'}]|\[\s*[\[{\"'\]])")


class TaskFile(NamedTuple):
    """What a file holds.

    Attributes:
        columns: Where they were found, in a table, and how it counts options.
    """

    examples: list[TaskExample]
    columns: Columns
    counts: Counter[str]
    remarks: tuple[str, ...] = ()


def read_task_file(
    path: str, task: TaskSpec, *, is_labelled: bool = True, is_table: bool = False
) -> TaskFile:
    """The examples of a file, or of a folder such as RACE's.

    Args:
        task: Its columns are those that a person named or that another file of the task
            has; all others are found by their names.
        is_labelled: Whether what is to be predicted has to be there; else it is not
            read, whatever is there.
        is_table: Whether it surely has columns, as where a person named one; else a file to
            predict may be lines of text.
    """
    file = _read(path, task, is_labelled=is_labelled, is_table=is_table)
    if not file.examples:
        why = f" ({list_reasons(file.counts)})" if +file.counts else ""
        raise AlbertError(f"{path} holds no examples{why}.")
    if task.kind == "tag":
        examples, remarks = in_one_scheme(file.examples, task.labels, counts=file.counts)
        longest = max(examples, key=lambda example: len(example.words))
        if len(longest.words) > _MOST_WORDS:
            remarks.append(
                f"the sentence of {longest.place} has {len(longest.words):,} words; put an "
                "empty line between sentences, or their number in a column sentence_id"
            )
        file = file._replace(examples=examples, remarks=(*file.remarks, *remarks))
    if not is_labelled:
        return file._replace(examples=[_unlabelled(e) for e in file.examples])
    if all(_unlabelled(example) == example for example in file.examples):
        raise AlbertError(f"{path} does not say what is to be predicted.")
    return file


def _read(path: str, task: TaskSpec, *, is_labelled: bool, is_table: bool) -> TaskFile:
    counts: Counter[str] = Counter()
    if is_folder(path):
        if task.kind != "choose":
            raise SettingError(f"{path} is a folder; name a file.")
        return _of_published(rows_of_folder(path, counts=counts), task, path, counts)
    data = read_data(path)
    if begins_as("parquet", data):
        # Labels that are known as numbers, as those of most named tasks, stay so.
        are_named = not task.labels or not all(map(str.isdecimal, task.labels))
        table = parse_parquet(data, path, are_named=are_named)
        return _of_table(table, task, is_labelled=is_labelled)
    text = decode_text(data, path, counts=counts)
    if _JSON.match(text):
        value = json_records(text, path)
        if (own := published_rows(value, task.kind, path=path)) is not None:
            return _of_published(own, task, path, counts)
        table = table_of_records(value, path=path, kind=task.kind)
    elif task.kind == "tag":
        return _of_words(text, task, path=path, is_labelled=is_labelled, counts=counts)
    else:
        if not is_labelled and not is_table and _is_plain(text, task, path=path):
            return TaskFile(_plain_texts(text, path), task.columns, counts, (PLAIN,))
        if text.lstrip()[:5] == "<?xml":
            raise AlbertError(f"{path} is XML, which is not read{wanted(task.kind)}")
        header = () if _has_names(text, task) else header_of(task)
        may_be_quoted = task.name not in NAMED_TASKS
        table = parse_table(text, path=path, header=header, may_be_quoted=may_be_quoted)
    table.counts.update(counts)
    return _of_table(table, task, is_labelled=is_labelled)


def _of_words(
    text: str, task: TaskSpec, *, path: str, is_labelled: bool, counts: Counter[str]
) -> TaskFile:
    """Words with their tags: a table with a sentence a row, or a word a line."""
    first = _first_names(text)
    # Words to be tagged may stand alone, in the lists or texts of one column; its name
    # does not begin a sentence.
    if (len(first) > 1 or (not is_labelled and "".join(first).islower())) and names_words(
        first, task.columns, has_tags=is_labelled
    ):
        table = parse_table(text, path=path)
        columns = find_columns(table, "tag", given=task.columns, is_labelled=is_labelled)
        # A row has all words of a sentence; a word alone may look like a list.
        read = (columns.text or "", columns.label or "")[: 1 + is_labelled]
        of_words = [
            all(
                isinstance(parsed(c), list) or " " in str(c).strip()
                for c in map(row.cells.get, read)
            )
            for row in table.rows[:_SAMPLE_ROWS]
            if any(map(row.cells.get, read))
        ]
        if sum(of_words) * 2 >= len(of_words) > 0 or (is_labelled and any(of_words)):
            return _of_table(table, task, is_labelled=is_labelled)
    columns = task.columns
    if not is_labelled:
        # Tags that are not read may be in any column, or in none.
        columns = dataclasses.replace(columns, label=None)
    examples, remarks = read_conll(
        text, path=path, columns=columns, has_tags=is_labelled, counts=counts
    )
    return TaskFile(examples, task.columns, counts, remarks)


def _first_names(text: str) -> tuple[str, ...]:
    """The cells of the first line; none if its quotation marks do not fit together."""
    return names_of(next(divide_lines([text.partition("\n")[0]]), (1, []))[1])


def _is_plain(text: str, task: TaskSpec, *, path: str) -> bool:
    """Whether a file to predict is no table: its first line names no column."""
    if task.kind not in ("classify", "multilabel", "regress", "embed") or task.columns.pair:
        return False
    first, _, others = text.strip().partition("\n")
    if _has_names(text, task) or ("\t" in first and (others or task.name in NAMED_TASKS)):
        return False
    if header_of(task) and first.partition(" ")[0] in task.labels:
        # As in TREC.
        return False
    # In a table all lines have as many cells as the first, which has several.
    rows = itertools.islice(divide_lines(io.StringIO(text, newline="")), _SAMPLE_ROWS)
    widths = {len(cells) for _, cells in rows if not isinstance(cells, csv.Error)}
    return path.endswith(".txt") or len(widths) != 1 or widths == {1} or not others


def _has_names(text: str, task: TaskSpec) -> bool:
    """Whether the first line of a table has the name of a column that is read."""
    known = {*NAMES["text"], *header_of(task), (task.columns.text or "text").lower()}
    names = _first_names(text)
    # A name that is not known has no more than a few words.
    others = (name for name in names if name != task.columns.text)
    are_names = all(len(name.split()) < _MANY_WORDS for name in others)
    return are_names and any(name.strip('"').lower() in known for name in names)


def _plain_texts(text: str, path: str) -> list[TaskExample]:
    r"""An example for each line, also for an empty one: it is known by its number.

    >>> [(each.id, each.text) for each in _plain_texts("One.\n\nTwo.\n", "a.txt")]
    [('0', 'One.'), ('1', ''), ('2', 'Two.')]
    """
    lines = text.removesuffix("\n").split("\n") if text.strip() else []
    return [
        TaskExample(id=str(number), place=f"{path}, line {number + 1}", text=line.strip())
        for number, line in enumerate(lines)
    ]


def _of_published(rows: Iterable[Row], task: TaskSpec, path: str, counts: Counter[str]) -> TaskFile:
    """The examples of the rows of a published form."""
    numbered = [row._replace(number=number) for number, row in enumerate(rows)]
    table = TaskTable(path, (), numbered, counts)
    if task.kind == "choose":
        table = with_options(table, COLUMNS, are_all=True)
    examples = examples_of_table(table, task.kind, columns=COLUMNS)
    return TaskFile(examples, task.columns, counts)


def _of_table(table: TaskTable, task: TaskSpec, *, is_labelled: bool) -> TaskFile:
    if not table.rows:
        return TaskFile([], task.columns, table.counts)
    columns = find_columns(table, task.kind, given=task.columns, is_labelled=is_labelled)
    remarks: list[str] = []
    label = columns.label or ""
    if is_labelled:
        table = settled(table, label=label)
        needed = {*table.columns} - {columns.id, *unread_columns(table, task.kind, found=columns)}
        whole = [row for row in table.rows if not table.is_ragged or needed <= row.cells.keys()]
        if len(whole) < len(table.rows):
            table.counts[_FEWER_CELLS] += len(table.rows) - len(whole)
        table = table._replace(rows=whole)
    if task.kind == "choose":
        table = with_options(table, columns)
        if is_labelled and columns.first_option is None:
            first = first_option_of(table, columns)
            columns = dataclasses.replace(columns, first_option=first)
    elif task.kind == "multilabel" and is_labelled and label_names(table.columns, label) == [label]:
        if columns.divider is None:
            # What a label has in it divides none.
            cells = (row.cells.get(label) for row in table.rows)
            others = (cell for cell in cells if label_text(cell) not in task.labels)
            columns = dataclasses.replace(columns, divider=divider_of(others))
        if columns.divider:
            remarks.append(f"labels are divided at {columns.divider!r} alone")
    read = columns if is_labelled else dataclasses.replace(columns, label=None)
    examples = examples_of_table(table, task.kind, columns=read, labels=task.labels)
    if is_labelled:
        remarks += remarks_on_columns(table, task.kind, found=columns)
    return TaskFile(examples, columns, table.counts, tuple(remarks))


def _unlabelled(example: TaskExample) -> TaskExample:
    """The same example without what is to be predicted."""
    unknown: dict[str, Any] = dict.fromkeys(TARGETS)
    return dataclasses.replace(example, **unknown)


# What names the part of a task that a file is of: a word of its own, or one with what it is a
# part of. Neither medieval nor values names evaluation, trainer_state no training. CoNLL-2003
# chooses by eng.testa.
_PARTS = {
    part: re.compile(f"(?i)(?<![a-z])(?:{words})(?:set|data|file|part|split)?s?(?![a-z])")
    for part, words in (
        ("train", "train(?:ing)?"),
        ("evaluation", "dev(?:el(?:opment)?)?|val(?:id(?:ation)?)?|eval(?:uation)?|testa"),
        ("test", "test(?:ing|b)?"),
    )
}
_RACE_FOLDERS = ("train", "dev", "test")
# Not what the library `datasets` writes beside its data.
_DATA_NAME = re.compile(
    r"(?i)(?!cache-|dataset_(dict|infos?)\.json|state\.json).*\."
    r"(tsv|csv|jsonl?|ndjson|parquet|arrow|feather|txt|conllu?p?|bio|iob2?|"
    r"bmes|bioes|iobes|ner|annotated|all|train|dev|test[ab]?)"
    r"(\.(gz|bz2|xz|zst))?$"
)


class TaskPaths(NamedTuple):
    """The files of a task: paths of files, or of folders such as RACE's.

    Attributes:
        evaluation: To choose by; MNLI has two.
        test: In the order of the task's submissions.
        others: Files of data whose names do not say one part.
    """

    train: Sequence[str] = ()
    evaluation: Sequence[str] = ()
    test: Sequence[str] = ()
    others: Sequence[str] = ()


def by_parts(paths: Iterable[Path], *, folder: Path | None = None) -> TaskPaths:
    """Files by the part that their names say, or else the folders in which they are.

    A name of two parts, as of training examples with those of evaluation, says none.

    >>> names = ("d/train.tsv", "d/val.tsv", "d/train_dev.tsv", "d/test/a.tsv", "d/notes.txt")
    >>> by_parts(map(Path, names), folder=Path("d"))  # doctest: +NORMALIZE_WHITESPACE
    TaskPaths(train=['d/train.tsv'], evaluation=['d/val.tsv'], test=['d/test/a.tsv'],
              others=['d/train_dev.tsv', 'd/notes.txt'])
    """
    found: dict[str, list[str]] = {part: [] for part in (*_PARTS, "others")}
    for path in paths:
        parts: list[str] = []
        for name in reversed(path.relative_to(folder or path.parent).parts):
            parts = parts or [part for part, word in _PARTS.items() if word.search(name)]
        found[parts[0] if len(parts) == 1 else "others"].append(str(path))
    return TaskPaths(**found)


def find_task_files(folder: str, task: TaskSpec) -> TaskPaths:
    """The files in a folder, by the parts that their names say."""
    if not Path(folder).is_dir():
        raise SettingError(f"{folder} is not a folder.")
    named = NAMED_TASKS.get(task.name)
    pattern = re.compile((named and named.files) or ".*")
    # Not the copies and other hidden files of Jupyter, macOS and version control.
    paths = sorted([*Path(folder).glob("[!.]*"), *Path(folder).glob("[!._]*/[!.]*")])
    chosen = [path for path in paths if path.is_dir() and path.name in _RACE_FOLDERS]
    if task.kind != "choose" or not chosen:
        data = [path for path in paths if _DATA_NAME.match(path.name) and path.is_file()]
        chosen = [path for path in data if pattern.fullmatch(path.name)]
    found = by_parts(chosen, folder=Path(folder))
    if not any(found[:3]):
        others = f"; it has {', '.join(path.name for path in paths)[:200]}" if paths else ""
        raise SettingError(
            f"{folder} has no files of {task.name} whose names, or folders, say train, dev or "
            f"test{others}; name the files with --train, --eval and --test."
        )
    passed = sorted({path for path in paths if path.is_file()} - {*chosen})
    rest = by_parts(passed, folder=Path(folder))[:3]
    return found._replace(others=[*found.others, *itertools.chain(*rest)])
