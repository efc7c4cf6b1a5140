"""Files of rows with named columns, read whole: TSV, CSV, JSON lines, JSON, parquet."""

import codecs
import contextlib
import csv
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from pipeline.core.documents import Dropped, ReadingCounts
from pipeline.reading.column_files import ColumnTable
from pipeline.reading.formats import HEAD_BYTES
from pipeline.reading.quoted_rows import MaybeCells
from pipeline.reading.refusals import refuse_binary, refuse_foreign_bytes
from pipeline.reading.tables import (
    cleaned,
    divide_lines,
    find_quoting,
    json_rows,
    named_cells,
    names_of,
    parse_record,
)
from pipeline.storage.files import read_whole
from pipeline.storage.lines import NUL_BYTES, decode, decompressed
from pipeline.tasks.named_tasks import wanted
from schemas.errors import AlbertError
from schemas.task import Kind

# A file of rows is read whole. It may unpack to so many times its bytes, or to so many
# bytes: text packs to a quarter, and never to a fiftieth.
_HIGHEST_RATIO, _ALWAYS_READ = 50, 64 << 20


# What the list of the records of a file of JSON is called.
_RECORDS = ("data", "rows", "examples", "records")


class Options(NamedTuple):
    """The options of a row to choose from.

    Attributes:
        names: What they are called, if the row or its columns say so.
    """

    texts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Row(NamedTuple):
    """A row of a table that was read whole.

    Attributes:
        place: Its file and line, for messages.
        number: Of the row in its file, from 0, those that are left out included.
        options: Those of a table of `with_options`.
    """

    place: str
    cells: dict[str, Any]
    number: int
    options: Options = Options()


class TaskTable(NamedTuple):
    """A table that was read whole.

    Attributes:
        is_ragged: Whether a row without the last cells lacks them, as in lines; in records
            what is empty may be absent.
    """

    path: str
    columns: tuple[str, ...]
    rows: list[Row]
    counts: Counter[str]
    is_ragged: bool = False


def read_data(path: str) -> bytes:
    """All bytes of a file, decompressed."""
    counts, packed, unpacked = ReadingCounts(), read_whole(path), bytearray()
    for block in decompressed(io.BytesIO(packed), counts=counts):
        unpacked += block
        _check_unpacked(len(unpacked), packed=len(packed), path=path)
    if counts.dropped:
        raise AlbertError(f"{path} is damaged; copy it again.")
    return bytes(unpacked)


def _check_unpacked(size: int, *, packed: int, path: str) -> None:
    """Refuse what no text packs to, before it fills the memory."""
    if size > max(_ALWAYS_READ, _HIGHEST_RATIO * packed):
        raise AlbertError(
            f"{path} unpacks to more than {_HIGHEST_RATIO} times its size, as no text "
            "does; check what it is, or unpack it."
        )


def decode_text(data: bytes, path: str, *, counts: Counter[str]) -> str:
    r"""The text of a file without byte-order mark and zeros, its lines ended by LF.

    >>> decode_text(b"\xef\xbb\xbfone\r\ntwo", "a.tsv", counts=Counter())
    'one\ntwo'
    """
    is_utf32 = data.startswith(codecs.BOM_UTF32_LE)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not is_utf32:
        # As Excel writes text between tabs.
        with contextlib.suppress(UnicodeDecodeError):
            data = data.decode("utf-16").encode()
    refuse_binary(data[:HEAD_BYTES], path=path)
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if zeros := data.count(0):
        counts[NUL_BYTES] += zeros
        data = data.replace(b"\0", b"")
    try:
        # What stands inside stays, for answers are found by counting characters.
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        refuse_foreign_bytes(data[:HEAD_BYTES], language="", path=path, has_flag=False)
        read = ReadingCounts()
        text = decode(data, counts=read)
        counts.update(read.changed)
        return text


def parse_table(
    text: str, *, path: str, header: tuple[str, ...] = (), may_be_quoted: bool = True
) -> TaskTable:
    r"""The rows of a table of lines.

    Cells are quoted as `find_quoting` finds it, but for those between tabs in GLUE's files,
    which are named tasks: there a quotation mark is text.

    Args:
        header: The names of the columns if the file has none; cells are then divided by
            tabs, or by the first spaces of each line.
        may_be_quoted: False for published files, in which cells between tabs never are.

    >>> table = parse_table('id\ttext\n1\tHe said "no\n2\n3\ta\tb\n', path="a.tsv")
    >>> [row.cells for row in table.rows], dict(table.counts)
    ... # doctest: +NORMALIZE_WHITESPACE
    ([{'id': '1', 'text': 'He said "no'}, {'id': '2'}],
     {'row with more cells than the header, left out': 1})
    """
    width = len(header) if "\t" not in text.partition("\n")[0] else 0
    divided = [*divide_rows(text, width, may_be_quoted=may_be_quoted)]
    cells = [own for _, own in divided]
    names = header or names_of(cells[0] if cells else [], path=path, rows=cells[1:])
    if len(names) == 1:
        divided = [*_with_empty_cells(divided, text)]
    rows, counts = [], Counter[str]()
    # Without names the first line is told for its quotation marks.
    of_rows = named_cells(divided if header or not names else divided[1:], names)
    for number, (line, found) in enumerate(of_rows):
        place = f"{path}, line {line}"
        if isinstance(found, csv.Error):
            remedy = "correct the row"
            if len(names) == 1:
                remedy = f"if {names[0]!r:.60} is no name, take out what is above the names"
            raise AlbertError(
                f"{place}: the quotation marks do not fit together ({found}); {remedy}."
            )
        if isinstance(found, Dropped):
            counts[f"{found.reason}, left out"] += 1
        else:
            rows.append(Row(place, found, number))
    return TaskTable(path, names, rows, counts, is_ragged=True)


def _with_empty_cells(
    rows: list[tuple[int, MaybeCells]], text: str
) -> Iterator[tuple[int, MaybeCells]]:
    r"""The rows of one column, and an empty cell for each blank line between two of them.

    >>> list(_with_empty_cells([(1, ["text"]), (3, ["One."])], "text\n\nOne.\n\n"))
    [(1, ['text']), (2, ['']), (3, ['One.'])]
    """
    lines = [*io.StringIO(text, newline="")]
    yield from rows[:1]
    for (before, _), (number, cells) in itertools.pairwise(rows):
        first = number
        # Those further above are inside of a quoted cell.
        while first - 1 > before and lines[first - 2] == "\n":
            first -= 1
        yield from ((blank, [""]) for blank in range(first, number))
        yield number, cells


def divide_rows(
    text: str, width: int = 0, *, may_be_quoted: bool = True
) -> Iterator[tuple[int, MaybeCells]]:
    """The number and the cells of each row; of a `width`, spaces divide them."""
    if width:
        lines = ((n, line) for n, line in enumerate(text.split("\n"), 1) if line)
        return ((n, line.split(" ", width - 1)) for n, line in lines)
    has_tabs = "\t" in text.partition("\n")[0]
    quoting = find_quoting(text.encode(), is_whole=True) if may_be_quoted else None
    # A carriage return ends a line of CSV alone.
    is_csv = not has_tabs or quoting is not None
    return divide_lines(
        io.StringIO(text, newline="" if is_csv else "\n"), quoting=quoting, is_strict=True
    )


def parse_parquet(data: bytes, path: str, *, are_named: bool = True) -> TaskTable:
    """The rows of a parquet file.

    Args:
        are_named: Whether labels that the file numbers, as those of the Hugging Face
            Hub do, are read by the names that it has for them.
    """
    table = ColumnTable(io.BytesIO(data), path=path)
    # Nor is a page unpacked of which the file itself says so.
    _check_unpacked(sum(table.group_bytes), packed=len(data), path=path)
    groups = range(len(table.group_bytes))
    records = itertools.chain.from_iterable(map(table.records, groups))
    # As the library `datasets` writes them.
    info: Any = parse_record(
        (table.schema.metadata or {}).get(b"huggingface", b"").decode("utf-8", "replace")
    )
    for key in ("info", "features"):
        info = info.get(key) if isinstance(info, dict) else None
    features = info if are_named and isinstance(info, dict) else {}
    names = {column: found for column, each in features.items() if (found := _names_of(each))}
    rows, size = [], 0
    for number, record in enumerate(records):
        record |= {column: _named(record.get(column), each) for column, each in names.items()}
        rows.append(Row(f"{path}, row {number + 1}", record, number))
        size += sum(map(_characters, record.values()))
        _check_unpacked(size, packed=len(data), path=path)
    return TaskTable(path, table.columns, rows, Counter())


def _characters(value: Any) -> int:
    """Those of a text, or of the texts in a list or an object.

    >>> _characters(["it is", {"a": "so"}, None])
    7
    """
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(_characters, value)) if isinstance(value, list) else 0


def _names_of(feature: Any) -> list[str]:
    """The names that a column, or the lists in it, have for their numbers.

    >>> _names_of([{"names": ["bad", "good"], "_type": "ClassLabel"}])
    ['bad', 'good']
    """
    if isinstance(feature, list):
        return _names_of(feature[0]) if feature else []
    if not isinstance(feature, dict):
        return []
    names = feature.get("names")
    return [*map(str, names)] if isinstance(names, list) else _names_of(feature.get("feature"))


def _named(value: Any, names: list[str]) -> Any:
    """A number, or a list of numbers, by the names; -1 is no label.

    >>> _named([0, 1], ["O", "B-PER"]), _named(-1, ["bad", "good"])
    (['O', 'B-PER'], None)
    """
    if isinstance(value, list):
        return [_named(each, names) for each in value]
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return None if value == -1 else value


def json_records(text: str, path: str) -> Any:
    r"""What a file of JSON holds: one value, or the records of its lines.

    Returns:
        The value; for JSON lines a list of `Row`.

    >>> json_records('{"a": 1}\n\n{"a": 2}\n', "a.jsonl")[1][:3]
    ('a.jsonl, line 3', {'a': 2}, 1)
    >>> json_records('[\n1]', "a.json")
    [1]
    """
    numbered = json_rows(text.split("\n"))
    first = [*itertools.islice(numbered, 2)]
    if len(first) < 2 or isinstance(first[0][1], Dropped):
        try:
            return cleaned(json.loads(text))
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise AlbertError(f"{path} is not valid JSON: {reason}; correct the file.") from None
    rows: list[Row] = []
    for number, record in itertools.chain(first, numbered):
        place = f"{path}, line {number}"
        if isinstance(record, Dropped):
            raise AlbertError(f"{place} is not a JSON record; correct the line.")
        rows.append(Row(place, record, len(rows)))
    return rows


def records_in(value: dict[str, Any], *, kind: Kind) -> list[Any]:
    """The records of an object of JSON: those in a list under a name, or itself.

    Or it has a column, or a row, under each name. So pandas writes a table unless it is asked
    for records.

    >>> records_in({"data": [{"text": "a"}], "version": 1}, kind="classify")
    [{'text': 'a'}]
    >>> records_in({"text": ["a", "b"], "label": {"0": 1, "1": 2}}, kind="classify")
    [{'text': 'a', 'label': 1}, {'text': 'b', 'label': 2}]
    >>> records_in({"0": {"text": "a"}, "1": {"text": "b"}}, kind="classify")
    [{'text': 'a'}, {'text': 'b'}]
    >>> records_in({"tokens": ["Ada", "ran"], "tags": ["B-PER", "O"]}, kind="tag")
    [{'tokens': ['Ada', 'ran'], 'tags': ['B-PER', 'O']}]
    """
    lists = (value[name] for name in _RECORDS if isinstance(value.get(name), list))
    for records in lists:
        if all(isinstance(each, dict) for each in records):
            return list(records)
    columns = [list(c.values()) if isinstance(c, dict) else c for c in value.values()]
    if not all(isinstance(c, list) for c in columns) or len({*map(len, columns)}) > 1:
        return [value]
    if all(map(str.isdecimal, value)):
        return list(value.values())
    # The words and the tags of one sentence are lists as well; no word has a space.
    texts = [each for each in columns if all(isinstance(cell, str) for cell in each)]
    has_lists = any(isinstance(cell, list) for each in columns for cell in each)
    has_spaces = any(" " in cell for each in texts for cell in each)
    if kind == "tag" and len(texts) > has_lists and not has_spaces:
        return [value]
    return [dict(zip(value, cells, strict=True)) for cells in zip(*columns, strict=True)]


def table_of_records(value: Any, *, path: str, kind: Kind) -> TaskTable:
    """The table that a value of JSON is."""
    if isinstance(value, dict):
        value = records_in(value, kind=kind)
    records = value if isinstance(value, list) else []
    if all(isinstance(each, dict) and isinstance(each.get("row"), dict) for each in records):
        # As the viewer of the Hugging Face Hub has them.
        records = [each["row"] for each in records]
    rows = [
        record if isinstance(record, Row) else Row(f"{path}, record {number + 1}", record, number)
        for number, record in enumerate(records)
    ]
    for row in rows:
        if not isinstance(row.cells, dict):
            raise AlbertError(f"{row.place} is not a JSON object{wanted(kind)}")
    names = dict.fromkeys(name for row in rows for name in row.cells)
    return TaskTable(path, tuple(names), rows, Counter())
