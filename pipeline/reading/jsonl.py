"""JSON lines: one record a line, one of whose keys holds the text."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pipeline.core.documents import Dropped
from pipeline.reading.bookcorpus import starts_document
from pipeline.reading.rows import Row, clean_text, row_of
from pipeline.storage.lines import decode, whole_lines

NOT_JSON = Dropped("line is not a JSON record")


def read_records(
    blocks: Iterable[bytes], *, key: str, counts: Counter[str]
) -> Iterator[Row | Dropped]:
    r"""The rows of a file.

    Args:
        blocks: The file, or whole lines of it.
        key: Of the text.
        counts: See `pipeline.storage.lines.decode`.

    >>> lines = [b'{"text": "One."}\n{"text": \n', b'{"title": "T", "text": "Two."}']
    >>> for row in read_records(lines, key="text", counts=Counter()): print(row)
    Row(text='One.', title='', language='')
    Dropped(reason='line is not a JSON record')
    Row(text='Two.', title='T', language='')
    """
    for lines in whole_lines(blocks):
        if isinstance(lines, Dropped):
            yield lines
            continue
        for line in decode(lines, counts=counts).split("\n"):
            if line and not line.isspace():
                yield read_record(line, key=key)


def read_record(line: str, *, key: str) -> Row | Dropped:
    """The row in one line."""
    record = parse(line)
    if record is None:
        return NOT_JSON
    row = row_of(record, key)
    if isinstance(row, Row) and "\\u" in line:
        return row._replace(text=clean_text(row.text))
    return row


def parse(line: str) -> dict[str, Any] | None:
    """The record in a line; None if it is not a record.

    >>> parse('{"a": 1}'), parse("[1]"), parse("[" * 100_000)
    ({'a': 1}, None, None)
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def starts_any(line: bytes) -> bool:
    """Every line is a document."""
    return True


def sentence_starts(key: str) -> Callable[[bytes], bool]:
    """Whether a document begins with a line that holds a sentence."""

    def starts(line: bytes) -> bool:
        row = read_record(decode(line, counts=Counter()), key=key)
        return isinstance(row, Row) and starts_document(" ".join(row.text.split()))

    return starts
