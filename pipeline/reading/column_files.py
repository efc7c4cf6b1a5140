"""Files of columns: parquet and Arrow, of which a few rows are in memory at a time."""

import itertools
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from pipeline.core.protobuf import read_varint
from pipeline.reading.tables import cleaned
from pipeline.storage.lines import decode
from schemas.errors import AlbertError

# Rows of parquet read at a time: few, since a small file can hold many huge texts that
# are alike.
_BATCH_ROWS = 8

# Columns of a group that hold more and are packed more tightly than any text are read a
# row at a time.
_LARGE_COLUMN_BYTES, _HIGHEST_RATIO = 16 << 20, 50
# A batch of Arrow that holds more and is packed more tightly is refused, and so are a few rows
# of columns inside of others that would take more.
_LARGE_BATCH_BYTES = 256 << 20
# A file of more values than this, and than its bytes times the ratio above, is refused.
_MANY_VALUES = 1 << 20
# A value in Python's memory, about.
_VALUE_BYTES = 32

# Columns whose bytes are text.
_TEXT_NAMES = ("text", "content", "body", "title", "sentence", "document")

# Of parquet's metadata (parquet.thrift): FileMetaData, RowGroup, ColumnChunk, ColumnMetaData.
_ROW_GROUPS = 4
_COLUMNS, _GROUP_BYTES = 1, 2
_COLUMN_METADATA = 3
_VALUES, _UNPACKED_BYTES, _PACKED_BYTES = 5, 6, 7
# Kinds of values of Thrift's compact protocol.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BYTES, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12

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
        schema: Its columns as PyArrow has them, and what their writer says of them.
        text_columns: Of those with text, ``a.b`` for b in a.
        group_bytes: The size of each group of rows, uncompressed. Arrow is one group.
    """

    def __init__(self, file: BinaryIO, *, path: str) -> None:
        # PyArrow takes a moment to import and is needed for nothing else.
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
        # The latter of what no value of Python can be, such as a day in the year 0.
        of_python = (TypeError, LookupError, ValueError, ArithmeticError)
        self._damage = (OSError, pa.ArrowException, *of_python)
        magic = file.read(8)
        size = self._size = file.seek(0, os.SEEK_END)
        file.seek(0)
        self._parquet = None
        self.group_bytes, values = [size], 0
        try:
            if magic.startswith(b"PAR1"):
                self._parquet = pq.ParquetFile(file)
                self.schema = self._parquet.schema_arrow
                groups = _groups_of_parquet(file, size)
                self.group_bytes = [group[_GROUP_BYTES] for group in groups]
                # Of each group what is told of its columns.
                self._parts = [[part[_COLUMN_METADATA] for part in g[_COLUMNS]] for g in groups]
                values = sum(max(part[_VALUES] for part in parts) for parts in self._parts)
            else:
                if magic.startswith(b"ARROW1"):
                    # Its end is there; between eight bytes and the end it is a stream.
                    pa.ipc.open_file(file)
                    file.seek(8)
                self._stream, self._file = pa.ipc.open_stream(file), file
                self.schema = self._stream.schema
            self.columns = tuple(self.schema.names)
            self.text_columns = list(_text_columns(self.schema))
        except self._damage as error:
            file.seek(max(0, size - 6))
            has_end = file.read().endswith((b"PAR1", b"ARROW1"))
            is_cut = magic.startswith((b"PAR1", b"ARROW1")) and not has_end
            what = ": the end of the file is missing" * is_cut
            raise DamagedTable(f"{path} is damaged{what}; copy it again.") from error
        self._check_count(values)

    def type_of(self, column: str) -> str:
        """What a column holds, in PyArrow's words; empty without such a column."""
        return str(self.schema.field(column).type) if column in self.columns else ""

    def records(
        self, group: int, *, columns: Sequence[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """The rows of a group.

        Raises:
            DamagedTable: The rest of the group cannot be read.
        """
        from pyarrow.types import is_nested

        try:
            for batch in self._group(group, columns):
                self._left = _LARGE_BATCH_BYTES
                columns_of_python = [
                    map(self._python, column) if is_nested(column.type) else column.to_pylist()
                    for column in batch.columns
                ]
                for row in zip(*columns_of_python, strict=True):
                    cells = zip(batch.schema.names, row, strict=True)
                    yield {name: self._value(name, cell) for name, cell in cells}
        except self._damage as error:
            raise DamagedTable(f"{self._path} is damaged; copy it again.") from error

    def _group(self, group: int, columns: Sequence[str] | None) -> Iterator[Any]:
        """The rows of a group, a few at a time, found valid: of others PyArrow reads any memory."""
        if self._parquet is not None:
            # A few bytes may hold texts that are huge and all alike.
            is_tight = any(
                part[_UNPACKED_BYTES]
                > max(_LARGE_COLUMN_BYTES, _HIGHEST_RATIO * part[_PACKED_BYTES])
                for part in self._parts[group]
            )
            for batch in self._parquet.iter_batches(
                batch_size=1 if is_tight else _BATCH_ROWS, row_groups=[group], columns=columns
            ):
                batch.validate(full=True)
                yield batch
            return
        # Of a column inside of another the outer one is read.
        names = columns and list(dict.fromkeys(name.split(".")[0] for name in columns))
        rows = 0
        for number in itertools.count(1):
            self._check_unpacked(number)
            try:
                batch = self._stream.read_next_batch()
            except StopIteration:
                return
            some = batch.select(names) if names else batch
            rows += some.num_rows
            self._check_count(rows)
            some.validate(full=True)
            for start in range(0, some.num_rows, _BATCH_ROWS):
                yield some.slice(start, _BATCH_ROWS)

    def _check_count(self, values: int) -> None:
        """Refuse a file whose values take next to no bytes, since all are alike or nothing."""
        if values > max(_MANY_VALUES, _HIGHEST_RATIO * self._size):
            raise AlbertError(
                f"{self._path}: {self._size} bytes unpack to {values:,} values, more than any text "
                "would; write the file anew."
            )

    def _check_unpacked(self, number: int) -> None:
        """Refuse the next batch of Arrow, which is unpacked whole, if it is huge."""
        place = self._file.tell()
        try:
            packed, unpacked = _next_batch_bytes(self._file, size=self._size)
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

    def _python(self, cell: Any, *, is_inside: bool = False) -> Any:
        """A value of Arrow as one of Python; what lists hold is counted before it is there.

        Args:
            is_inside: Whether the value is one of a list; texts that are not are bounded elsewhere.
        """
        import pyarrow as pa

        if isinstance(cell, pa.DictionaryScalar):
            cell = cell.value
        is_list = isinstance(cell, pa.ListScalar)
        if not cell.is_valid or not (is_list or isinstance(cell, pa.StructScalar)):
            value = cell.as_py()
            self._take(len(value) if is_inside and isinstance(value, str | bytes) else 0)
            return value
        self._take(_VALUE_BYTES * len(cell))
        if not is_list:
            return {name: self._python(each, is_inside=is_inside) for name, each in cell.items()}
        is_map = isinstance(cell, pa.MapScalar)
        if not is_map and (
            pa.types.is_string(cell.type.value_type) or pa.types.is_primitive(cell.type.value_type)
        ):
            # One by one these would take much longer.
            self._take(cell.values.nbytes)
            return cell.values.to_pylist()
        values = [self._python(each, is_inside=True) for each in cell.values]
        return [(*pair.values(),) for pair in values] if is_map else values

    def _take(self, count: int) -> None:
        """Refuse a few rows whose lists take more bytes than are left."""
        self._left -= count
        if self._left < 0:
            raise AlbertError(
                f"{self._path}: a few rows hold more than {_LARGE_BATCH_BYTES >> 20} MB in "
                "lists, more than any text would; write a document in each row."
            )

    def _value(self, column: str, value: Any) -> Any:
        """A value as one of JSON would be; bytes are text."""
        if not isinstance(value, bytes):
            return cleaned(value)
        if b"\0" in value and column in self.text_columns:
            raise AlbertError(
                f'{self._path}: column "{column}" has bytes that are not UTF-8, '
                "perhaps UTF-16; write it as strings."
            )
        return decode(value)


def _text_columns(fields: Any, prefix: str = "") -> Iterator[str]:
    import pyarrow as pa

    for field in fields:
        is_bytes = str(field.type) in ("binary", "large_binary")
        if pa.types.is_struct(field.type):
            yield from _text_columns(field.type, f"{prefix}{field.name}.")
        # Where bytes are said to be text they are.
        elif _is_text(field.type) or (is_bytes and field.name in _TEXT_NAMES):
            yield prefix + field.name


def _is_text(kind: Any) -> bool:
    # Of a list, or of a dictionary.
    if (inner := getattr(kind, "value_type", None)) is not None:
        return _is_text(inner)
    return str(kind) in ("string", "large_string", "string_view")


def _groups_of_parquet(file: BinaryIO, size: int) -> list[dict[int, Any]]:
    """The groups of rows that the end of a parquet file tells of.

    PyArrow aborts the process where it is asked for columns whose statistics are damaged.
    """
    file.seek(size - 8)
    (length,) = struct.unpack("<I", file.read(4))
    file.seek(size - 8 - length)
    metadata, _ = _thrift_value(file.read(length), 0, _STRUCT)
    file.seek(0)
    groups: list[dict[int, Any]] = metadata[_ROW_GROUPS]
    return groups


def _thrift_value(data: bytes, place: int, kind: int) -> tuple[Any, int]:
    """A value of Thrift's compact protocol, a struct by its numbers, and the place after it.

    >>> _thrift_value(bytes([0x15, 6, 0x19, 0x25, 2, 4, 0]), 0, _STRUCT)
    ({1: 3, 2: [1, 2]}, 7)
    """
    if kind == _STRUCT:
        fields: dict[int, Any] = {}
        number = 0
        while header := data[place]:
            place, kind = place + 1, header & 15
            number += header >> 4
            if not header >> 4:
                number, place = _thrift_value(data, place, 4)
            # What is true or false is a kind of its own.
            fields[number] = kind == _TRUE
            if kind not in (_TRUE, _FALSE):
                fields[number], place = _thrift_value(data, place, kind)
        return fields, place + 1
    if kind in (_LIST, _SET):
        count, kind = data[place] >> 4, data[place] & 15
        place += 1
        if count == 15:
            count, place = read_varint(data, place)
        values = []
        for _ in range(count):
            value, place = _thrift_value(data, place, kind)
            values.append(value)
        return values, place
    if kind in (_TRUE, _FALSE, _BYTE):
        return data[place], place + 1
    if kind == _DOUBLE:
        return data[place : place + 8], place + 8
    number, place = read_varint(data, place)
    if kind == _BYTES:
        return data[place : place + number], place + number
    return number >> 1 ^ -(number & 1), place


def _next_batch_bytes(file: BinaryIO, *, size: int) -> tuple[int, int]:
    """The bytes of the next batch of an Arrow stream, and those they are unpacked to.

    A compressed buffer begins with its uncompressed length, which PyArrow does not tell
    ("Arrow Columnar Format", "Encapsulated message format" and "Compression").

    Args:
        size: Of the file.

    Raises:
        OSError: The batch would end after the file.
    """
    packed = unpacked = 0
    kind = _DICTIONARY
    while kind == _DICTIONARY:
        (length,) = struct.unpack("<I", file.read(4))
        if length == _CONTINUED:
            # Versions before 0.15 write no such mark.
            (length,) = struct.unpack("<I", file.read(4))
        if length == 0:
            break
        if length > size:
            # PyArrow would ask for the memory first.
            raise OSError("the batch ends after the file")
        message = file.read(length)
        body = file.tell()
        table = _pointed(message, 0)
        kind = message[_field(message, table, _KIND)]
        batch = _pointed(message, _field(message, table, _HEADER))
        if kind == _DICTIONARY:
            batch = _pointed(message, _field(message, batch, _DATA))
        if _field(message, batch, _COMPRESSION):
            # Places in the body, and bytes, of the buffers of a batch.
            start = _pointed(message, _field(message, batch, _BUFFERS))
            (count,) = struct.unpack_from("<I", message, start)
            pairs = message[start + 4 : start + 4 + 16 * count]
            for offset, length in struct.iter_unpack("<qq", pairs):
                if length:
                    file.seek(body + offset)
                    (whole,) = struct.unpack("<q", file.read(8))
                    packed, unpacked = packed + length, unpacked + max(whole, length)
        place = _field(message, table, _BODY_BYTES)
        end = body + (struct.unpack_from("<q", message, place)[0] if place else 0)
        if end > size:
            # PyArrow would ask for the memory first.
            raise OSError("the batch ends after the file")
        file.seek(end)
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
