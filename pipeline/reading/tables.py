"""Tables, of texts and of tasks alike: the rows of CSV, JSON lines and parquet."""

import csv
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from pipeline.core.documents import Dropped, ReadingCounts
from pipeline.storage.lines import MAX_RECORD_BYTES, TOO_LONG, decode, line_blocks
from schemas.errors import AlbertError

MORE_CELLS = Dropped("row with more cells than the header")

# Rows of parquet read at a time: few, since a small file can hold many huge texts that
# are alike.
_BATCH_ROWS = 8

Cells = list[str]


class DamagedTable(AlbertError):
    """A parquet file, or a group of its rows, that cannot be read."""


def divide_lines(
    lines: Iterable[str], *, is_quoted: bool | None = None, is_strict: bool = False
) -> Iterator[tuple[int, Cells | csv.Error]]:
    r"""The header of a table of lines, and each of its rows that is not blank.

    Tabs divide the cells if the header has one, else the more frequent of comma and
    semicolon.

    Args:
        lines: With their line feeds, which may stand inside quoted cells.
        is_quoted: Whether cells may be quoted; by default, unless tabs divide them.
        is_strict: Whether a quoted cell ends where its quotation mark does.

    Yields:
        The number of a row's first line, from 1, and its cells; an error in their place
        where quotation marks do not fit together.

    >>> list(divide_lines(["id;text\n", '1;"Ada\n', 'wrote."\n', "\n", "2;Why?\n"]))
    [(1, ['id', 'text']), (2, ['1', 'Ada\nwrote.']), (5, ['2', 'Why?'])]
    """
    lines = iter(lines)
    numbered = ((n, line) for n, line in enumerate(lines, 1) if line != "\n")
    start, header = next(numbered, (1, ""))
    # The name of a single column is divided by nothing; tabs are rarest in its texts.
    has_tabs = "\t" in header
    delimiter = "\t" if has_tabs else max("\t,;", key=header.count)
    if is_quoted is None:
        is_quoted = not has_tabs
    if not is_quoted:
        for number, line in itertools.chain([(start, header)], numbered):
            yield number, line.removesuffix("\n").split(delimiter)
        return
    csv.field_size_limit(MAX_RECORD_BYTES)
    reader = csv.reader(
        itertools.chain([header], lines), delimiter=delimiter, strict=is_strict
    )
    yield from _quoted_rows(reader, start)


def _quoted_rows(reader: Any, start: int) -> Iterator[tuple[int, Cells | csv.Error]]:
    number = start
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            # A mark that nothing closes took lines along; the next one begins a row.
            yield number, error
        else:
            if cells is None:
                return
            if cells:
                yield number, cells
        number = start + reader.line_num


def column_names(header: Cells | csv.Error, *, path: str = "") -> tuple[str, ...]:
    """The names of columns, without white space around them.

    Args:
        path: Of the file, to refuse one that has a name twice.

    >>> column_names(["id", " text"])
    ('id', 'text')
    """
    names = () if isinstance(header, csv.Error) else tuple(map(str.strip, header))
    for name, count in Counter(names if path else ()).items():
        if count > 1 and name:
            raise AlbertError(
                f"{path} has {count} columns {name!r:.60}; rename all but one."
            )
    return names


def read_csv(
    blocks: Iterable[bytes],
    *,
    counts: ReadingCounts | None = None,
    is_quoted: bool = True,
) -> Iterator[dict[str, str] | Dropped]:
    r"""The cells of each row of CSV or TSV by the names of their columns.

    >>> table = b'id, text\n1,"Ada\nwrote."\n2\n3,He came, late.\n'
    >>> for row in read_csv([table]): print(row)
    {'id': '1', 'text': 'Ada\nwrote.'}
    {'id': '2'}
    Dropped(reason='row with more cells than the header')
    """
    rows = divide_lines(_csv_lines(blocks, counts=counts), is_quoted=is_quoted)
    names = column_names(next(rows, (0, []))[1])
    for _, cells in rows:
        if isinstance(cells, csv.Error):
            yield TOO_LONG
        elif any(cells[len(names) :]):
            # Which of them are one text with a delimiter in it cannot be told.
            yield MORE_CELLS
        else:
            yield dict(zip(names, cells, strict=False))


def _csv_lines(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None
) -> Iterator[str]:
    for block in line_blocks(blocks, limit=MAX_RECORD_BYTES):
        yield from io.StringIO(decode(block, counts=counts), newline="\n")


def read_header(head: bytes, *, path: str) -> tuple[str, ...]:
    r"""The names of the columns of a file that begins with these bytes.

    >>> read_header(b"id;text\n1;Ada\n", path="a.csv")
    ('id', 'text')
    """
    rows = divide_lines(_csv_lines([head]), is_quoted=True)
    return column_names(next(rows, (1, []))[1], path=path)


def has_quoted_cells(head: bytes, *, is_whole: bool) -> bool:
    r"""Whether a cell that begins with a quotation mark ends with the next one.

    Cells between tabs may be quoted like others, as texts with line ends have to be, or
    not, as those of a task. The mark is text where a table of tabs has a row in each
    line, and the marks of some line do not fit together.

    Args:
        head: The first bytes of the file, which decide for all of it.
        is_whole: Whether there are no others.

    >>> has_quoted_cells(b'id\ttext\n1\t"Ada\nwrote."\n', is_whole=True)
    True
    >>> has_quoted_cells(b'id\ttext\n1\t"Yes," she wrote.\n', is_whole=True)
    False
    """
    whole = head if is_whole else head[: head.rfind(b"\n") + 1]
    rows = [line for line in _csv_lines([whole]) if line != "\n"]
    tabs = rows[0].count("\t") if rows else 0
    if not tabs or any(row.count("\t") != tabs for row in rows):
        return True
    # A cell that begins in the last of these lines may go on after them.
    known = rows if is_whole else rows[:-1]
    return all(_has_cells(row, tabs + 1) for row in known)


def _has_cells(line: str, number: int) -> bool:
    """Whether a line is this many cells between tabs, each quoted whole or not."""
    try:
        return all(
            len(cells) == number
            for cells in csv.reader([line], delimiter="\t", strict=True)
        )
    except csv.Error:
        return False


def parse_record(line: str) -> dict[str, Any] | None:
    """The record in a line of JSON; None if it is not a record.

    >>> parse_record('{"a": 1}'), parse_record("[1]"), parse_record("[" * 100_000)
    ({'a': 1}, None, None)
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


class ParquetTable:
    """A parquet file that is open.

    Attributes:
        text_columns: Of those with text, ``a.b`` for b in a.
        group_bytes: The size of each group of rows, uncompressed.
    """

    def __init__(self, file: BinaryIO, *, path: str) -> None:
        # PyArrow takes a moment to import and is needed for nothing else.
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
        self._damage = (OSError, pa.ArrowException, UnicodeDecodeError)
        try:
            self._file = pq.ParquetFile(file)
        except self._damage as error:
            raise DamagedTable(
                f"{path} is damaged: the end of the file is missing; copy it again."
            ) from error
        self.columns = tuple(self._file.schema_arrow.names)
        self.text_columns = list(_text_columns(self._file.schema_arrow))
        groups = range(self._file.num_row_groups)
        metadata = self._file.metadata
        self.group_bytes = [metadata.row_group(n).total_byte_size for n in groups]

    def records(
        self, group: int, *, columns: Sequence[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """The rows of a group.

        Raises:
            DamagedTable: The rest of the group cannot be read.
        """
        batches = self._file.iter_batches(
            batch_size=_BATCH_ROWS, row_groups=[group], columns=columns
        )
        try:
            for batch in batches:
                yield from batch.to_pylist()
        except self._damage as error:
            raise DamagedTable(f"{self._path} is damaged; copy it again.") from error


def _text_columns(fields: Any, prefix: str = "") -> Iterator[str]:
    import pyarrow as pa

    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _text_columns(field.type, f"{prefix}{field.name}.")
        elif _is_text(field.type):
            yield prefix + field.name


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def clean_text(text: str) -> str:
    r"""A text without zero characters and half surrogates.

    >>> clean_text("a\0b\ud800")
    'ab?'
    """
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", errors="replace").decode()
    return text
