"""Files of columns: parquet and Arrow, of which a few rows are in memory at a time."""

import itertools
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from pipeline.storage.lines import decode
from schemas.errors import AlbertError

# Rows of parquet read at a time: few, since a small file can hold many huge texts that
# are alike.
_BATCH_ROWS = 8

# Columns of a group that hold more and are packed more tightly than any text are read a
# row at a time.
_LARGE_COLUMN_BYTES, _HIGHEST_RATIO = 16 << 20, 50
# A batch of Arrow that holds more and is packed more tightly is refused.
_LARGE_BATCH_BYTES = 256 << 20

# Columns whose bytes are text.
_TEXT_NAMES = ("text", "content", "body", "title", "sentence", "document")

# Of an Arrow message (format/Message.fbs): what begins it, its fields, the kind that is
# a dictionary, and the fields of a batch.
_CONTINUED = 0xFFFFFFFF
_KIND, _HEADER, _BODY_BYTES = 1, 2, 3
_DICTIONARY = 2
_DATA = 1
_BUFFERS, _COMPRESSION = 2, 3


class DamagedTable(AlbertError):
    """A parquet file, or a group of its rows, that cannot be read."""


class ColumnTable:
    """A file of parquet or Arrow that is open.

    Attributes:
        text_columns: Of those with text, ``a.b`` for b in a.
        group_bytes: The size of each group of rows, uncompressed. Arrow is one group.
    """

    def __init__(self, file: BinaryIO, *, path: str) -> None:
        # PyArrow takes a moment to import and is needed for nothing else.
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
        self._damage = (OSError, pa.ArrowException, UnicodeDecodeError)
        magic = file.read(8)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        self._parquet = None
        try:
            if magic.startswith(b"PAR1"):
                self._parquet = pq.ParquetFile(file)
                self._schema = self._parquet.schema_arrow
            else:
                if magic.startswith(b"ARROW1"):
                    # Its end is there; between eight bytes and the end it is a stream.
                    pa.ipc.open_file(file)
                    file.seek(8)
                self._stream, self._file = pa.ipc.open_stream(file), file
                self._schema = self._stream.schema
        except self._damage as error:
            raise DamagedTable(
                f"{path} is damaged: the end of the file is missing; copy it again."
            ) from error
        self.columns = tuple(self._schema.names)
        self.text_columns = list(_text_columns(self._schema))
        self.group_bytes = [size]
        if self._parquet is not None:
            metadata = self._parquet.metadata
            groups = range(self._parquet.num_row_groups)
            self.group_bytes = [metadata.row_group(n).total_byte_size for n in groups]

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What its writer says of its columns, by the name of the writer."""
        return self._schema.metadata or {}

    def type_of(self, column: str) -> str:
        """What a column holds, in PyArrow's words; empty without such a column."""
        return str(self._schema.field(column).type) if column in self.columns else ""

    def records(
        self, group: int, *, columns: Sequence[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """The rows of a group.

        Raises:
            DamagedTable: The rest of the group cannot be read.
        """
        try:
            for batch in self._group(group, columns):
                for record in batch.to_pylist():
                    yield {name: self._text(name, v) for name, v in record.items()}
        except self._damage as error:
            raise DamagedTable(f"{self._path} is damaged; copy it again.") from error

    def _group(self, group: int, columns: Sequence[str] | None) -> Iterator[Any]:
        """The rows of a group, a few at a time."""
        if self._parquet is not None:
            about = self._parquet.metadata.row_group(group)
            # A few bytes may hold texts that are huge and all alike.
            is_tight = any(
                c.total_uncompressed_size
                > max(_LARGE_COLUMN_BYTES, _HIGHEST_RATIO * c.total_compressed_size)
                for c in map(about.column, range(about.num_columns))
            )
            rows = 1 if is_tight else _BATCH_ROWS
            yield from self._parquet.iter_batches(
                batch_size=rows, row_groups=[group], columns=columns
            )
            return
        # Of a column inside of another the outer one is read.
        names = columns and list(dict.fromkeys(name.split(".")[0] for name in columns))
        for number in itertools.count(1):
            self._check_unpacked(number)
            try:
                batch = self._stream.read_next_batch()
            except StopIteration:
                return
            some = batch.select(names) if names else batch
            for start in range(0, some.num_rows, _BATCH_ROWS):
                yield some.slice(start, _BATCH_ROWS)

    def _check_unpacked(self, number: int) -> None:
        """Refuse the next batch of Arrow, which is unpacked whole, if it is huge."""
        place = self._file.tell()
        try:
            packed, unpacked = _next_batch_bytes(self._file)
        except (struct.error, IndexError, ValueError):
            # PyArrow says what is damaged.
            packed = unpacked = 0
        self._file.seek(place)
        if unpacked > max(_LARGE_BATCH_BYTES, _HIGHEST_RATIO * packed):
            raise AlbertError(
                f"{self._path}: batch {number} of {packed} bytes unpacks to "
                f"{unpacked}, more than any text would; write smaller batches, or "
                "parquet."
            )

    def _text(self, column: str, value: Any) -> Any:
        """A value; bytes are text."""
        if not isinstance(value, bytes):
            return value
        if b"\0" in value and column in self.text_columns:
            raise AlbertError(
                f'{self._path}: column "{column}" has bytes that are not UTF-8, '
                "perhaps UTF-16; write it as strings."
            )
        return decode(value)


def _text_columns(fields: Any, prefix: str = "") -> Iterator[str]:
    import pyarrow as pa

    for field in fields:
        is_bytes = field.type in (pa.binary(), pa.large_binary())
        if pa.types.is_struct(field.type):
            yield from _text_columns(field.type, f"{prefix}{field.name}.")
        # Where bytes are said to be text they are.
        elif _is_text(field.type) or (is_bytes and field.name in _TEXT_NAMES):
            yield prefix + field.name


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_dictionary(kind):
        return _is_text(kind.value_type)
    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in tests)


def _next_batch_bytes(file: BinaryIO) -> tuple[int, int]:
    """The bytes of the next batch of an Arrow stream, and those they are unpacked to.

    A compressed buffer begins with its uncompressed length, which PyArrow does not tell
    ("Arrow Columnar Format", "Encapsulated message format" and "Compression").
    """
    packed = unpacked = 0
    kind = _DICTIONARY
    while kind == _DICTIONARY:
        mark, size = struct.unpack("<Ii", file.read(8))
        if mark != _CONTINUED or size <= 0:
            break
        message = file.read(size)
        body = file.tell()
        table = _pointed(message, 0)
        kind = message[_field(message, table, _KIND)]
        batch = _pointed(message, _field(message, table, _HEADER))
        if kind == _DICTIONARY:
            batch = _pointed(message, _field(message, batch, _DATA))
        if _field(message, batch, _COMPRESSION):
            for offset, length in _buffers(message, batch):
                file.seek(body + offset)
                (whole,) = struct.unpack("<q", file.read(8))
                packed, unpacked = packed + length, unpacked + max(whole, length)
        place = _field(message, table, _BODY_BYTES)
        file.seek(body + (struct.unpack_from("<q", message, place)[0] if place else 0))
    return packed, unpacked


def _pointed(message: bytes, place: int) -> int:
    """Where what stands elsewhere in a flatbuffer begins."""
    return int(place + struct.unpack_from("<I", message, place)[0])


def _field(message: bytes, table: int, number: int) -> int:
    """Where a field of a table of a flatbuffer is; 0 where it is left out."""
    fields = table - struct.unpack_from("<i", message, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", message, fields)[0]:
        return 0
    (offset,) = struct.unpack_from("<H", message, fields + 4 + 2 * number)
    return int(offset and table + offset)


def _buffers(message: bytes, batch: int) -> Iterator[tuple[int, int]]:
    """Places in the body, and bytes, of the buffers of a batch that hold anything."""
    start = _pointed(message, _field(message, batch, _BUFFERS))
    (count,) = struct.unpack_from("<I", message, start)
    pairs = message[start + 4 : start + 4 + 16 * count]
    return ((o, length) for o, length in struct.iter_unpack("<qq", pairs) if length)
