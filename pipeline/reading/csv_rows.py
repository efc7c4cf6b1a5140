"""CSV and TSV: one document a row, under a header that names the columns.

Cells between tabs may be quoted like others, as documents with line ends have to be, or
not, as those of a task: then a quotation mark is text. The first rows of a file decide
for all of it.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator

from pipeline.core.documents import Dropped
from pipeline.reading.rows import Row, row_of
from pipeline.storage.lines import MAX_RECORD_BYTES, TOO_LONG, decode, line_blocks

# What may separate two cells: the one that the header has most of or, if the header is
# a single name, the first, which is rarest in texts.
_DELIMITERS = ("\t", ",", ";")

TOO_MANY_CELLS = Dropped("row with more cells than the header")


def read_records(
    blocks: Iterable[bytes], *, key: str, counts: Counter[str], is_quoted: bool = True
) -> Iterator[Row | Dropped]:
    r"""The rows of a file.

    Args:
        blocks: The file.
        key: The column of the text.
        counts: See `pipeline.storage.lines.decode`.
        is_quoted: See `is_quoted`.

    >>> table = b'id\ttext\n1\t"Ada\nwrote."\n2\n'
    >>> for row in read_records([table], key="text", counts=Counter()): print(row)
    Row(text='Ada\nwrote.', title='', language='')
    Dropped(reason='no text')
    """
    for record in read_table(blocks, counts=counts, is_quoted=is_quoted):
        yield record if isinstance(record, Dropped) else row_of(record, key)


def read_table(
    blocks: Iterable[bytes], *, counts: Counter[str], is_quoted: bool = True
) -> Iterator[dict[str, str] | Dropped]:
    """The cells of each row by the names of their columns."""
    lines = _lines(blocks, counts=counts)
    names, delimiter = _parse_header(next(lines, ""))
    rows = csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
    )
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error:
            # A quotation mark that nothing closes; the next line begins a row.
            yield TOO_LONG
            continue
        if any(cells[len(names) :]):
            # Which of them are one text with a delimiter in it cannot be told.
            yield TOO_MANY_CELLS
        elif cells:
            yield dict(zip(names, cells, strict=False))


def read_columns(head: bytes) -> list[str]:
    r"""The names of the columns of a file that begins with these bytes.

    >>> read_columns(b"id;text\n1;Ada\n")
    ['id', 'text']
    """
    return _parse_header(next(_lines([head], counts=Counter()), ""))[0]


def is_quoted(head: bytes, *, is_whole: bool) -> bool:
    r"""Whether a cell that begins with a quotation mark ends with the next one.

    The mark is text where a table of tabs has a row in each line, and the marks of some
    line do not fit together.

    Args:
        head: The first bytes of the file.
        is_whole: Whether there are no others.

    >>> is_quoted(b'id\ttext\n1\t"Ada\nwrote."\n', is_whole=True)
    True
    >>> is_quoted(b'id\ttext\n1\t"Yes," she wrote.\n', is_whole=True)
    False
    """
    whole = head if is_whole else head[: head.rfind(b"\n") + 1]
    rows = [line for line in _lines([whole], counts=Counter()) if line != "\n"]
    names, delimiter = _parse_header(rows[0] if rows else "")
    if delimiter != "\t" or len(names) < 2:
        return True
    if any(row.count("\t") != len(names) - 1 for row in rows):
        return True
    # A cell that begins in the last of these lines may go on after them.
    known = rows if is_whole else rows[:-1]
    return all(_has_cells(row, len(names)) for row in known)


def _has_cells(line: str, number: int) -> bool:
    """Whether a line is this many cells between tabs, each quoted whole or not."""
    try:
        return all(
            len(cells) == number
            for cells in csv.reader([line], delimiter="\t", strict=True)
        )
    except csv.Error:
        return False


def _parse_header(header: str) -> tuple[list[str], str]:
    """The names of the columns, and what parts the cells."""
    delimiter = max(_DELIMITERS, key=header.count)
    csv.field_size_limit(MAX_RECORD_BYTES)
    return next(csv.reader([header], delimiter=delimiter), []), delimiter


def _lines(blocks: Iterable[bytes], *, counts: Counter[str]) -> Iterator[str]:
    """Lines with their line feeds, which may stand inside cells."""
    for block in line_blocks(blocks, limit=MAX_RECORD_BYTES):
        yield from io.StringIO(decode(block, counts=counts), newline="\n")
