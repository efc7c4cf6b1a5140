"""Parquet: one document a row, in groups of rows that can be read alone."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.documents import Dropped
from pipeline.reading.bookcorpus import starts_document
from pipeline.reading.languages import LANGUAGE_FIELDS
from pipeline.reading.rows import Row, clean_text, row_of
from pipeline.storage.files import open_binary
from pipeline.storage.lines import MAX_RECORD_BYTES, TOO_LONG
from schemas.errors import AlbertError

DAMAGED = Dropped("damaged row group")

# Read at a time: few, since a small file can hold many huge texts that are alike.
_BATCH_ROWS = 8
_DAMAGE = (OSError, pa.ArrowException, UnicodeDecodeError)


class Table:
    """A parquet file that is open.

    Attributes:
        columns: The names of its columns of text, ``a.b`` for b in a.
        group_bytes: The size of each row group, uncompressed.
    """

    def __init__(self, path: str) -> None:
        self._source = open_binary(path)
        try:
            self._file = pq.ParquetFile(self._source)
        except _DAMAGE as error:
            self.close()
            raise AlbertError(
                f"{path} is damaged: the end of the file is missing; copy it again."
            ) from error
        self.columns = list(_text_columns(self._file.schema_arrow))
        groups = range(self._file.num_row_groups)
        metadata = self._file.metadata
        self.group_bytes = [metadata.row_group(n).total_byte_size for n in groups]

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def rows(self, group: int, *, key: str) -> Iterator[Row | Dropped]:
        """The rows of a group; after damage, `DAMAGED` in place of all the rest."""
        beside = [name for name in ("title", *LANGUAGE_FIELDS) if name in self.columns]
        batches = self._file.iter_batches(
            batch_size=_BATCH_ROWS, row_groups=[group], columns=[key, *beside]
        )
        try:
            for batch in batches:
                for record in batch.to_pylist():
                    row = row_of(record, key)
                    yield _cleaned(row) if isinstance(row, Row) else row
        except _DAMAGE:
            yield DAMAGED


def _cleaned(row: Row) -> Row | Dropped:
    """A row as one of JSON lines would be; dropped if it would be too long."""
    text = clean_text(row.text)
    if len(text.encode()) > MAX_RECORD_BYTES:
        return TOO_LONG
    return row._replace(text=text)


def read_groups(
    path: str, *, key: str, start: int = 0, end: int | None = None
) -> Iterator[Row | Dropped]:
    """The rows of some groups of a file.

    Args:
        path: Of the file.
        key: The column of the text.
        start: The first group.
        end: The first group after them, None for the end of the file.
    """
    with closing(Table(path)) as table:
        for group in range(len(table.group_bytes))[start:end]:
            yield from table.rows(group, key=key)


def read_sentence_groups(
    path: str, *, key: str, start: int = 0, end: int | None = None
) -> Iterator[Row | Dropped]:
    """The rows of the documents that begin in some groups, one sentence a row.

    The first document goes on from the groups before, and is theirs; the last one goes
    on into those after.
    """
    is_owned = start == 0
    for row in read_groups(path, key=key, start=start, end=end):
        is_owned = is_owned or _starts(row)
        if is_owned or isinstance(row, Dropped):
            yield row
    if not is_owned or end is None:
        return
    for row in read_groups(path, key=key, start=end):
        if _starts(row):
            return
        if isinstance(row, Row):
            yield row


def _starts(row: Row | Dropped) -> bool:
    return isinstance(row, Row) and starts_document(" ".join(row.text.split()))


def _text_columns(fields: Any, prefix: str = "") -> Iterator[str]:
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _text_columns(field.type, f"{prefix}{field.name}.")
        elif _is_text(field.type):
            yield prefix + field.name


def _is_text(kind: Any) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_text(kind.value_type)
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
