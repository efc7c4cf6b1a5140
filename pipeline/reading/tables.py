"""Rows of tables, of texts and of tasks alike: their cells by the names of their columns.

Each row of CSV, TSV and JSON lines comes with the number of its line; those of parquet and
Arrow are read in `column_files`.
"""

import csv
import io
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from pipeline.core.documents import Dropped, ReadingCounts
from pipeline.reading.quoted_rows import (
    MaybeCells,
    RowLines,
    hold_together,
    quoted_rows,
    unquoted_cells,
)
from pipeline.storage.lines import MAX_RECORD_BYTES, TOO_LONG, decode, line_blocks
from schemas.errors import AlbertError

# A row by the number of its first line, from 1: its cells, or why it is left out.
NumberedRow = tuple[int, dict[str, Any] | Dropped]

MORE_CELLS = Dropped("row with more cells than the header")
NAMES_AGAIN = Dropped("line of names below the first")
NOT_JSON = Dropped("line is not a JSON record")

# The first line by which Excel is told what divides the cells.
_SEPARATOR_LINE = re.compile(r"(?i)sep=([\t,;|])\n?")

_QUOTED_NAME = re.compile(r'"[^"\n]*"')
# A quotation mark with no backslash before it, or with an even number of them.
_UNESCAPED = re.compile(r'(?<!\\)(?:\\\\)*"')
# A backslash that is text, and pairs before it.
_BACKSLASH = re.compile(r'(?<!\\)((?:\\\\)*)\\(?!["\\])')

# What stands for a quotation mark inside a quoted cell: two of them, or one after a
# backslash, as Spark and MySQL write it. With "none" the mark is text.
Quoting = Literal["doubled", "escaped", "none"]


def divide_lines(
    lines: Iterable[str], *, quoting: Quoting | None = None, is_strict: bool = False
) -> Iterator[tuple[int, MaybeCells]]:
    r"""The header of a table of lines, and each of its rows that is not blank.

    Tabs divide the cells if the header has one, else the most frequent of comma,
    semicolon and bar, or what a line ``sep=;`` before it names.

    Each comes with the number of its first line, from 1; an error stands in the place
    of its cells where quotation marks do not fit together.

    Args:
        lines: With their line feeds, which may stand inside quoted cells.
        quoting: How cells are quoted; by default not at all where tabs divide them.
        is_strict: Whether a quoted cell ends where its quotation mark does.

    >>> list(divide_lines(["id;text\n", '1;"Ada\n', 'wrote."\n', "\n", "2;Why?\n"]))
    [(1, ['id', 'text']), (2, ['1', 'Ada\nwrote.']), (5, ['2', 'Why?'])]
    """
    lines = iter(lines)
    numbered = ((n, line) for n, line in enumerate(lines, 1) if line != "\n")
    start, header = next(numbered, (1, ""))
    if named := _SEPARATOR_LINE.fullmatch(header):
        start, header = next(numbered, (1, ""))
    has_tabs = "\t" in header
    delimiter = named[1] if named else _delimiter_of(header)
    if quoting == "none" or (has_tabs and quoting is None):
        # Also where texts are not, names may be quoted.
        yield start, unquoted_cells(header, delimiter, escape=None)
        for number, line in numbered:
            yield number, line.removesuffix("\n").split(delimiter)
        return
    csv.field_size_limit(MAX_RECORD_BYTES)
    if quoting == "escaped":
        number = len(header.split(delimiter))
        lines = _with_closed_cells(lines, number, delimiter=delimiter)
    bare = _QUOTED_NAME.sub("", header)
    # As people write it: a space after each comma is no part of a cell.
    is_spaced = bare.count(f"{delimiter} ") == bare.count(delimiter) > 0
    of_rows = RowLines(
        itertools.chain([header], lines),
        delimiter,
        is_spaced=is_spaced,
        escape="\\" if quoting == "escaped" else None,
    )
    yield from quoted_rows(of_rows, start, is_strict=is_strict)


def _delimiter_of(header: str) -> str:
    """What divides the cells of a table with this header."""
    if "\t" in header:
        return "\t"
    # The name of a single column is divided by nothing; tabs are rarest in its texts.
    return max("\t,;|", key=_QUOTED_NAME.sub("", header).count)


def _with_closed_cells(lines: Iterable[str], number: int, *, delimiter: str) -> Iterator[str]:
    r"""Lines whose cells end where they were meant to, marks being escaped.

    A backslash that is the last character of a text stands before the closing mark, as
    if it escaped that: the row has ended if the next line is a whole one. One that
    escapes neither a mark nor another backslash is text.

    >>> lines = ['1,"A \\""\n', '2,"So \\"\n', '3,"C"\n']
    >>> for line in _with_closed_cells(lines, 2, delimiter=","): print(line, end="")
    1,"A \""
    2,"So \\"
    3,"C"
    """
    for line, following in itertools.pairwise(itertools.chain(lines, [""])):
        is_open = len(_UNESCAPED.findall(line)) % 2 and line.endswith('\\"\n')
        if is_open and (not following or _has_cells(following, number, delimiter, escape="\\")):
            line = line[:-2] + '\\"\n'
        yield _BACKSLASH.sub(r"\\\\\1", line)


def named_cells(
    rows: Iterable[tuple[int, MaybeCells]], names: Sequence[str]
) -> Iterator[NumberedRow | tuple[int, csv.Error]]:
    """The cells of rows by the names of their columns, each with the number of its line.

    >>> rows = [(2, ["1", "He came."]), (3, ["2"]), (4, ["3", "He came", " late."])]
    >>> for row in named_cells(rows, ["id", "text"]): print(row)
    (2, {'id': '1', 'text': 'He came.'})
    (3, {'id': '2'})
    (4, Dropped(reason='row with more cells than the header'))
    """
    names = tuple(names)
    for number, cells in rows:
        if isinstance(cells, csv.Error):
            yield number, cells
        elif any(map(str.strip, cells[len(names) :])):
            # Which of them are one text with a delimiter in it cannot be told.
            yield number, MORE_CELLS
        elif tuple(map(str.strip, cells[: len(names)])) == names:
            yield number, NAMES_AGAIN
        else:
            yield number, dict(zip(names, cells, strict=False))


def csv_rows(
    blocks: Iterable[bytes],
    *,
    key: str,
    counts: ReadingCounts | None = None,
    quoting: Quoting = "doubled",
) -> Iterator[NumberedRow]:
    r"""The rows of CSV or TSV.

    Args:
        key: What is looked for. If it is a number that no column has for its name, the
            table has no header, and its columns are counted from 1.

    >>> list(csv_rows([b'id, text\n1,"Ada\nwrote."\n'], key="text"))
    [(2, {'id': '1', 'text': 'Ada\nwrote.'})]
    >>> list(csv_rows([b"1\tHe came.\n"], key="2"))
    [(1, {'1': '1', '2': 'He came.'})]
    """
    rows = divide_lines(csv_lines(blocks, counts=counts), quoting=quoting)
    number, header = next(rows, (0, []))
    names = names_of(header)
    if key.isdecimal() and key not in names and isinstance(header, list):
        names = tuple(str(n) for n in range(1, len(header) + 1))
        rows = itertools.chain([(number, header)], rows)
    for number, cells in named_cells(rows, names):
        yield number, TOO_LONG if isinstance(cells, csv.Error) else cells


def csv_lines(blocks: Iterable[bytes], *, counts: ReadingCounts | None = None) -> Iterator[str]:
    """The lines of a table with their line feeds."""
    for block in line_blocks(blocks, limit=MAX_RECORD_BYTES):
        yield from io.StringIO(decode(block, counts=counts), newline="\n")


def names_of(
    header: MaybeCells, *, path: str = "", rows: Iterable[MaybeCells] = ()
) -> tuple[str, ...]:
    """The names of columns, without white space around them and without empty ones at the end.

    Args:
        path: Of the file, to refuse one that has a name twice, or whose `rows` all have one
            cell more, as R writes them: which name is whose cannot be told.

    >>> names_of(["id", " text", ""])
    ('id', 'text')
    """
    names = () if isinstance(header, csv.Error) else tuple(map(str.strip, header))
    # A spreadsheet ends its rows with columns in which there is nothing.
    names = names[: max((n for n, name in enumerate(names, 1) if name), default=None)]
    for name, count in Counter(names if path else ()).items():
        if count > 1 and name:
            raise AlbertError(f"{path} has {count} columns {name!r:.60}; rename all but one.")
    known = [cells for cells in rows if not isinstance(cells, csv.Error)]
    are_longer = all(len(cells) == len(names) + 1 for cells in known)
    if are_longer and any(cells[-1].strip() for cells in known):
        raise AlbertError(
            f"{path} has one cell more in each row than names in its header; if it has row "
            "names of R, give write.table row.names=FALSE, and if its texts have in them "
            "what divides cells, put these in quotation marks."
        )
    return names


def read_header(head: bytes, *, path: str, quoting: Quoting = "doubled") -> tuple[str, ...]:
    r"""The names of the columns of a file that begins with these bytes.

    >>> read_header(b"id;text\n1;Ada\n", path="a.csv")
    ('id', 'text')
    """
    header, *rows = [cells for _, cells in divide_lines(csv_lines([head]), quoting=quoting)] or [[]]
    # The last row may be cut.
    known = rows if head.endswith(b"\n") else rows[:-1] or rows
    return names_of(header, path=path, rows=known)


def find_quoting(head: bytes, *, is_whole: bool) -> Quoting:
    r"""How the cells of a table are quoted.

    Cells between tabs or bars may be quoted like others, as texts with line ends have
    to be, or not, as those of a task. The mark is text where such a table has a row in
    each line, and the marks of some line do not fit together. Marks are escaped where
    that alone gives each row the cells of the header. `is_whole` says whether the head
    is all of the file.

    >>> find_quoting(b'id\ttext\n1\t"Ada\nwrote."\n', is_whole=True)
    'doubled'
    >>> find_quoting(b'id\ttext\n1\t"Yes," she wrote.\n', is_whole=True)
    'none'
    >>> find_quoting(b'id,text\n1,"He wrote \\"no\\", he said."\n', is_whole=True)
    'escaped'
    """
    whole = head if is_whole else head[: head.rfind(b"\n") + 1]
    rows = [line for line in csv_lines([whole]) if line != "\n"]
    delimiter = _delimiter_of(rows[0]) if rows else ","
    number = rows[0].count(delimiter) if delimiter in "\t|" else 0
    if not number or any(row.count(delimiter) != number for row in rows):
        is_odd = b'\\"' in whole and not _fits(rows, "doubled", is_whole=is_whole)
        return "escaped" if is_odd and _fits(rows, "escaped", is_whole=is_whole) else "doubled"
    # A cell that begins in the last of these lines may go on after them.
    known = rows if is_whole else rows[:-1]
    is_quoted = all(_has_cells(row, number + 1, delimiter) for row in known)
    is_quoted = is_quoted or hold_together(rows[1:], delimiter, width=number + 1)
    if is_quoted:
        return "doubled"
    # As R writes a table: its header is quoted too.
    is_escaped = rows[0].startswith('"') and b'\\"' in whole
    return "escaped" if is_escaped and _fits(rows, "escaped", is_whole=is_whole) else "none"


def _fits(lines: list[str], quoting: Quoting, *, is_whole: bool) -> bool:
    """Whether each row has the cells of the header, if its marks are of this kind."""
    rows = [cells for _, cells in divide_lines(lines, quoting=quoting, is_strict=True)]
    # The last row may go on after these lines.
    known = rows if is_whole else rows[:-1]
    widths = {0 if isinstance(cells, csv.Error) else len(cells) for cells in known}
    return len(widths) == 1 and widths != {0}


def _has_cells(line: str, number: int, delimiter: str, *, escape: str | None = None) -> bool:
    """Whether a line is this many cells, each quoted whole or not."""
    try:
        return all(
            len(cells) == number
            for cells in csv.reader([line], delimiter=delimiter, escapechar=escape, strict=True)
        )
    except csv.Error:
        return False


def json_rows(lines: Iterable[str | Dropped]) -> Iterator[NumberedRow]:
    """The records of JSON lines that are not blank, each with the number of its line.

    >>> for row in json_rows(['{"text": "One."}', "", '{"text": ']): print(row)
    (1, {'text': 'One.'})
    (3, Dropped(reason='line is not a JSON record'))
    """
    for number, line in enumerate(lines, 1):
        if isinstance(line, Dropped):
            yield number, line
        elif line and not line.isspace():
            record = parse_record(line)
            yield number, NOT_JSON if record is None else record


def parse_record(line: str) -> dict[str, Any] | None:
    """The record in a line of JSON; None if it is not a record.

    >>> parse_record('{"a": 1}'), parse_record("[1]"), parse_record("[" * 100_000)
    ({'a': 1}, None, None)
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    return cleaned(record) if "\\u" in line or "NaN" in line else record


def cleaned(value: Any) -> Any:
    r"""A value without NaN, whose texts have no zero characters and no half surrogates.

    >>> cleaned({"a": ["b\0\ud800", 1, float("nan")]})
    {'a': ['b?', 1, None]}
    """
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", errors="replace").decode()
    if isinstance(value, dict):
        return {key: cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    # As pandas has what is missing.
    return None if isinstance(value, float) and math.isnan(value) else value
