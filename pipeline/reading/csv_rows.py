"""CSV and TSV: one document a row, under a header that names the columns.

Cells between tabs may be quoted like others, unlike those of a task: documents have
line ends, which nothing else tells from the ends of rows.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator

from pipeline.core.documents import Dropped
from pipeline.reading.rows import Row, row_of
from pipeline.storage.lines import MAX_RECORD_BYTES, TOO_LONG, decode, line_blocks

# Of the characters that may part two cells, the one that the header has most of; of one
# name alone the first, which texts have least.
_DELIMITERS = ("\t", ",", ";")

TOO_MANY_CELLS = Dropped("row with more cells than the header")


def read_records(
    blocks: Iterable[bytes], *, key: str, counts: Counter[str]
) -> Iterator[Row | Dropped]:
    r"""The rows of a file.

    Args:
        blocks: The file.
        key: The column of the text.
        counts: See `pipeline.storage.lines.decode`.

    >>> table = b'id\ttext\n1\t"Ada\nwrote."\n2\n'
    >>> for row in read_records([table], key="text", counts=Counter()): print(row)
    Row(text='Ada\nwrote.', title='', language='')
    Dropped(reason='no text')
    """
    for record in read_table(blocks, counts=counts):
        yield record if isinstance(record, Dropped) else row_of(record, key)


def read_table(
    blocks: Iterable[bytes], *, counts: Counter[str]
) -> Iterator[dict[str, str] | Dropped]:
    """The cells of each row by the names of their columns."""
    lines = _lines(blocks, counts=counts)
    names, delimiter = _parse_header(next(lines, ""))
    rows = csv.reader(lines, delimiter=delimiter)
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


def _parse_header(header: str) -> tuple[list[str], str]:
    """The names of the columns, and what parts the cells."""
    delimiter = max(_DELIMITERS, key=header.count)
    csv.field_size_limit(MAX_RECORD_BYTES)
    return next(csv.reader([header], delimiter=delimiter), []), delimiter


def _lines(blocks: Iterable[bytes], *, counts: Counter[str]) -> Iterator[str]:
    """Lines with their line feeds, which may stand inside cells."""
    for block in line_blocks(blocks, limit=MAX_RECORD_BYTES):
        yield from io.StringIO(decode(block, counts=counts), newline="\n")
