"""JSON lines: one record a line, one of whose keys holds the text."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pipeline.bookcorpus import starts_document
from pipeline.documents import Dropped
from pipeline.lines import decode, line_blocks
from pipeline.rows import Row, clean_text, find_text, row_of

NOT_JSON = Dropped("line is not a JSON record")
TOO_LONG = Dropped("line too long")

# A longer line is no document; the longest novels have 6 MB.
MOST_RECORD_BYTES = 32 << 20


def read_records(
    blocks: Iterable[bytes], *, key: str, counts: Counter[str]
) -> Iterator[Row | Dropped]:
    r"""The rows of a file.

    Args:
        blocks: The file, or whole lines of it.
        key: Of the text.
        counts: See `pipeline.lines.decode`.

    >>> lines = [b'{"text": "One."}\n{"text": \n', b'{"title": "T", "text": "Two."}']
    >>> for row in read_records(lines, key="text", counts=Counter()): print(row)
    Row(text='One.', title='')
    Dropped(reason='line is not a JSON record')
    Row(text='Two.', title='T')
    """
    for lines in _whole_lines(blocks):
        if isinstance(lines, Dropped):
            yield lines
            continue
        for line in decode(lines, counts=counts).split("\n"):
            if line and not line.isspace():
                yield read_record(line, key=key)


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes | Dropped]:
    """Lines that are whole, many at a time; one that is too long is dropped."""
    fragment = b""
    is_skipping = False
    for block in line_blocks(blocks, most=MOST_RECORD_BYTES):
        if fragment and not is_skipping:
            # More came behind a line without an end: it had been cut.
            yield TOO_LONG
            is_skipping = True
        if is_skipping:
            _, line_feed, block = block.partition(b"\n")
            if not line_feed:
                continue
            is_skipping = False
        lines, _, fragment = block.rpartition(b"\n")
        yield lines
    if fragment and not is_skipping:
        yield fragment


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
    """The record in a line, None if there is none.

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
        record = parse(decode(line, counts=Counter()))
        text = find_text(record, key)
        return text is not None and starts_document(" ".join(text.split()))

    return starts
