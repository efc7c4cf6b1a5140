"""Rows of tables with a text each: where it is, and its documents or sentences."""

import json
import re
import statistics
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice, takewhile
from typing import Any, NamedTuple

from pipeline.core.documents import NO_TEXT, Document, Documents, Dropped, ReadingCounts
from pipeline.core.writing_systems import ends_sentence, is_unspaced_text
from pipeline.reading.books import book_document, find_footer
from pipeline.reading.column_files import ColumnTable, DamagedTable
from pipeline.reading.formats import (
    FORMATS,
    HEAD_BYTES,
    FilePart,
    Head,
    InputFile,
    Kind,
    UnusableFile,
    unpacked_name,
)
from pipeline.reading.marked_text import read_bookcorpus, starts_document
from pipeline.reading.plain_text import prose_document
from pipeline.reading.refusals import SHOWN_LINES, refuse_odd_marks
from pipeline.reading.sentences import DEFAULT_LANGUAGE, LANGUAGE_FIELDS, language_of_record
from pipeline.reading.tables import csv_rows, find_quoting, json_rows, parse_record, read_header
from pipeline.storage import files
from pipeline.storage.files import open_binary
from pipeline.storage.lines import MAX_RECORD_BYTES, TOO_LONG, decode, read_whole_lines
from pipeline.wikipedia.extracted import article_document, is_wiki40b, lines_of_wiki40b
from schemas.errors import AlbertError
from schemas.readable import listed

# Texts are looked for in nested objects, and in nested lists, up to this depth.
_MAX_KEY_DEPTH = 10

# Line ends by their names, and what is a command of a formula or a program.
_SURE_LINE_END = re.compile(
    r"(?:[.!?:;…。！？\"”)]|\\n)\s?(?:\\r)?\\n(?=\\[nr]|\s?[^\sa-z]|$)"
    # Nor the end of a string in a program.
    r"(?!(?:\\[nr])*[\"'”»](?:[\s);,.]|$))"
)
_COMMAND = re.compile(
    r"\\(?:[a-mo-qsv-zA-Z]|n(?:abla|eq|u\b|ot\b|i\b|ewline|oindent)"
    r"|t(?:ext|imes|o\b|au\b|heta|ilde|an\b)|r(?:ight|ho\b|angle|m\b))"
)
_ESCAPES = {"\\r\\n": "\n", "\\n": "\n", "\\r": "\n", "\\t": " ", '\\"': '"'}

# A list of fewer parts may hold paragraphs of one word.
_FEWEST_WORDS = 3
# Half of the words are no longer than this, in scripts without spaces.
_UNSPACED_WORD_CHARACTERS = 4


def find_text(record: Any, key: str) -> str | None:
    r"""The text under a key; ``a.b`` is b in a, or in each object of a list.

    The paragraphs of a list are joined, and the sentences of a list in it. Where the
    parts of a list are words, or strings among objects with a text, it is one paragraph.

    >>> find_text({"body": {"text": ["One.", ["Two.", "Three."]]}}, "body.text")
    'One.\n\nTwo. Three.'
    >>> find_text({"said": [{"text": "One."}, {"text": "Two."}]}, "said.text")
    'One.\n\nTwo.'
    >>> find_text({"tokens": ["He", "came", "."]}, "tokens")
    'He came .'
    >>> find_text({"text": ["See ", {"type": "link", "text": "this"}, "."]}, "text")
    'See this.'
    >>> find_text({"id": 1}, "text") is None
    True
    """
    is_whole = isinstance(record, dict) and key in record
    return _joined(_value_at(record, [key] if is_whole else key.split(".")))


def _value_at(value: Any, path: list[str], *, depth: int = _MAX_KEY_DEPTH) -> Any:
    if not path:
        return value
    if isinstance(value, list):
        return [_value_at(each, path, depth=depth - 1) for each in value] if depth else None
    first, *rest = path
    return _value_at(value.get(first), rest, depth=depth) if isinstance(value, dict) else None


def has_place(record: dict[str, Any], key: str) -> bool:
    """Whether a text is under a key, or null or an empty list in the place of one.

    >>> has_place({"said": []}, "said.words"), has_place({"said": 1}, "said.words")
    (True, False)
    """
    path = [key] if key in record else key.split(".")
    return find_text(record, key) is not None or _is_unset(record, path)


def _is_unset(value: Any, path: list[str], *, depth: int = _MAX_KEY_DEPTH) -> bool:
    if not value:
        return value is None or isinstance(value, list)
    if not path or not depth:
        return False
    if isinstance(value, list):
        return any(_is_unset(each, path, depth=depth - 1) for each in value)
    is_there = isinstance(value, dict) and path[0] in value
    return is_there and _is_unset(value[path[0]], path[1:], depth=depth)


def _joined(value: Any, *, depth: int = 0) -> str | None:
    if not isinstance(value, list) or depth > _MAX_KEY_DEPTH:
        return value if isinstance(value, str) else None
    if any(isinstance(each, dict) for each in value):
        found = [each.get("text") if isinstance(each, dict) else each for each in value]
        runs = [run for run in found if isinstance(run, str)]
        joint = "" if any(isinstance(each, str) for each in value) else "\n\n"
        return joint.join(runs) if len(runs) == len(found) else None
    parts = [_joined(each, depth=depth + 1) for each in value if each is not None]
    texts = [part for part in parts if part is not None]
    if len(texts) < len(parts) or (value and not parts):
        return None
    joint = " " if depth else "\n\n"
    if _are_words(texts):
        joint = "" if is_unspaced_text(texts) else " "
    return joint.join(texts)


def _are_words(texts: list[str]) -> bool:
    """Whether the parts of a text are words and marks, not sentences."""
    if len(texts) < _FEWEST_WORDS or any(" " in text or "\n" in text for text in texts):
        return False
    median = sorted(map(len, texts))[len(texts) // 2]
    if median > _UNSPACED_WORD_CHARACTERS and is_unspaced_text(texts):
        return False
    return 2 * sum(map(ends_sentence, texts)) < len(texts)


def list_keys(
    record: dict[str, Any], prefix: str = "", *, depth: int = _MAX_KEY_DEPTH
) -> Iterator[str]:
    """The keys that hold a text, for a person to choose from.

    >>> list(list_keys({"id": 1, "title": "A", "body": {"text": "B"}}))
    ['title', 'body.text']
    >>> list(list_keys({"said": [{"by": "A", "words": "B"}]}))
    ['said.by', 'said.words']
    """
    for key, value in record.items():
        objects = [value] if isinstance(value, dict) else value
        has_objects = isinstance(objects, list) and objects and isinstance(objects[0], dict)
        if find_text(record, key) is not None and value:
            yield prefix + key
        elif has_objects and depth > 1:
            yield from list_keys(objects[0], f"{prefix}{key}.", depth=depth - 1)


def with_line_ends(text: str) -> str:
    r"""A text with line ends where it has their names, as databases write them.

    Some of these follow the end of a sentence, and no letter of a word or formula
    follows them.

    >>> with_line_ends(r"He came.\nShe left.\n\nWhy?")
    'He came.\nShe left.\n\nWhy?'
    >>> print(with_line_ends(r"$\nu$ and so.\nShe left."))
    $\nu$ and so.\nShe left.
    """
    if "\n" in text or not _SURE_LINE_END.search(text) or _COMMAND.search(text):
        return text
    for escape, character in _ESCAPES.items():
        text = text.replace(escape, character)
    return text


_SAMPLE_ROWS = 100
# How many keys a refusal shows, and how many characters of each.
_SHOWN_KEYS, _SHOWN_KEY_CHARACTERS = 10, 60

DAMAGED_GROUP = Dropped("damaged row group")

# Where the text is unless --text-key says; the second is json-wikipedia's.
TEXT_KEYS = ("text", "paragraphs")

# Texts of about this length are sentences, not documents.
_MAX_SENTENCE_CHARACTERS = 200


class TextRow(NamedTuple):
    """The text of a row, and its title and language if it names them."""

    text: str
    title: str = ""
    language: str = ""


Rows = Iterable[TextRow | Dropped]


def are_sentences(texts: list[str]) -> bool:
    r"""Whether the texts of rows are a sentence each.

    >>> are_sentences(["he came .", "she left ."]), are_sentences(["One.\nTwo."])
    (True, False)
    """
    if not texts or any("\n" in text.strip() for text in texts):
        return False
    return statistics.median(map(len, texts)) < _MAX_SENTENCE_CHARACTERS


def read_rows(rows: Rows, *, kind: Kind, counts: ReadingCounts) -> Documents:
    """A document of its kind from each row."""
    for row in rows:
        if isinstance(row, Dropped):
            yield row
            continue
        if kind == "wikipedia" or is_wiki40b(row.text):
            lines = lines_of_wiki40b(row.text)
            document = article_document(lines, title=row.title, counts=counts)
        elif kind == "books":
            text = row.text[: find_footer(row.text)]
            document = book_document(text, has_header=True, is_record=True)
        else:
            document = prose_document(row.text, is_record=True)
        if isinstance(document, Document) and row.language:
            document = document._replace(language=row.language)
        yield document


def row_of(record: Any, key: str) -> TextRow | Dropped:
    """The row that a record holds; dropped if it has no text, or was already."""
    if isinstance(record, Dropped):
        return record
    if not (text := find_text(record, key)):
        return NO_TEXT
    if 4 * len(text) > MAX_RECORD_BYTES and len(text.encode()) > MAX_RECORD_BYTES:
        return TOO_LONG
    # As the line ends of a file of text.
    text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    if "\\n" in text:
        text = with_line_ends(text)
    return TextRow(text, find_text(record, "title") or "", language_of_record(record))


def starts_record(line: bytes, **_: str) -> bool:
    """A document begins with any line."""
    return True


def starts_sentence_record(line: bytes, *, key: str) -> bool:
    """Whether a document begins with a line of JSON that holds a sentence."""
    return _starts(row_of(parse_record(decode(line)), key))


def _starts(row: TextRow | Dropped) -> bool:
    return isinstance(row, TextRow) and starts_document(" ".join(row.text.split()))


def parquet_rows(path: str, *, key: str, start: int, end: int | None) -> Rows:
    """The rows of some groups of a parquet file."""
    with closing(open_binary(path)) as file:
        table = ColumnTable(file, path=path)
        for group in range(len(table.group_bytes))[start:end]:
            yield from group_rows(table, group, key=key)


def group_rows(table: ColumnTable, group: int, *, key: str) -> Rows:
    """The rows of a group; after damage, `DAMAGED_GROUP` in place of all the rest."""
    beside = [
        name
        for name in table.text_columns
        if name == "title"
        or name.endswith(".label")
        or not {*name.split(".")}.isdisjoint(LANGUAGE_FIELDS)
    ]
    try:
        for record in table.records(group, columns=[key, *beside]):
            yield row_of(record, key)
    except DamagedTable:
        yield DAMAGED_GROUP


def parquet_sentence_rows(path: str, *, key: str, start: int, end: int | None) -> Rows:
    """The rows of the documents that begin in some groups, one sentence a row.

    The first document goes on from the groups before, and is theirs; the last one goes
    on into those after.
    """
    is_owned = start == 0
    for row in parquet_rows(path, key=key, start=start, end=end):
        is_owned = is_owned or _starts(row)
        if is_owned or isinstance(row, Dropped):
            yield row
    if is_owned and end is not None:
        following = parquet_rows(path, key=key, start=end, end=None)
        rest = takewhile(lambda row: not _starts(row), following)
        yield from (row for row in rest if isinstance(row, TextRow))


def read_records(part: FilePart, blocks: Iterable[bytes], *, counts: ReadingCounts) -> Documents:
    """The documents of a part of a file of JSON lines, CSV, parquet or Arrow."""
    file, start, end, _size = part
    key, name = file.text_key, file.format.removesuffix("-sentences")
    rows: Rows
    if name == "parquet":
        of_file = parquet_rows if name == file.format else parquet_sentence_rows
        rows = of_file(file.path, key=key, start=start, end=end)
    else:
        numbered = (
            json_rows(read_whole_lines(blocks, counts=counts))
            if name == "jsonl"
            else csv_rows(blocks, key=key, counts=counts, quoting=file.quoting)
        )
        rows = (row_of(cells, key) for _, cells in numbered)
    if name == file.format:
        return read_rows(rows, kind=file.kind, counts=counts)
    # As in BookCorpus.
    return read_bookcorpus(
        row if isinstance(row, Dropped) else " ".join(row.text.split()) for row in rows
    )


def is_table(head: Head) -> bool:
    """Whether a file is named as a table."""
    return unpacked_name(head.path).endswith((".csv", ".tsv"))


def inspect_jsonl(
    file: InputFile, head: Head, *, text_key: str | None, is_forced: bool
) -> InputFile:
    """Find where the records of a file have their text."""
    lines = [*filter(str.strip, decode(head.data).split("\n"))][:_SAMPLE_ROWS]
    records = [*filter(None, map(parse_record, lines))]
    if 2 * len(records) < max(1, len(lines)):
        raise UnusableFile(
            f"{file.path} is JSON, but not one record a line; write its records as jq -c does."
        )
    # A list for each column, of its cells, or an object of these by their numbers.
    columns = [
        list(each.values()) if isinstance(each, dict) and "0" in each else each
        for each in records[0].values()
    ]
    sizes = {len(each) if isinstance(each, list) else 0 for each in columns}
    is_one = len(records) == 1 < len(columns)
    if is_one and len(sizes) == 1 and max(sizes) > 1:
        raise UnusableFile(
            f"{file.path} is JSON with all of a column together; write one object a "
            'line, as to_json of pandas does with orient="records", lines=True.'
        )
    if is_one and all(find_text(each, "text") for each in columns):
        raise UnusableFile(
            f"{file.path} is JSON with its records under names; write one object a line, for "
            "example with jq -c '.[]'."
        )
    keys = sorted({key for record in records for key in list_keys(record)})
    lists = [name for name, each in records[0].items() if isinstance(each, list) and len(each) > 1]
    otherwise = ""
    if len(records) == len(lists) == 1:
        otherwise = (
            f", or if each of {json.dumps(lists[0])} is a document write one a line, as "
            f"jq -c '.{json.dumps(lists[0])}[]' does"
        )
    # Texts may come after the first records.
    key = text_key
    if key is None or not any(has_place(record, key) for record in records):
        key = _choose_key(file, keys, key, name="key", otherwise=otherwise)
    return _with_rows(file, [row_of(each, key) for each in records], key=key, is_forced=is_forced)


def inspect_csv(file: InputFile, head: Head, *, text_key: str | None, is_forced: bool) -> InputFile:
    """Find the column of the text, and whether cells are quoted."""
    quoting = find_quoting(head.data, is_whole=head.is_whole)
    columns = list(read_header(head.data, path=file.path, quoting=quoting))
    numbers = [str(n) for n in range(1, len(columns) + 1)]
    if text_key in numbers and text_key not in columns:
        columns = numbers
    # What is a number or a sentence is no name, unlike "Full text (en)".
    elif not {text_key, *TEXT_KEYS} & {*columns} and any(
        name.isdecimal() or (" " in name and ends_sentence(name) and name[-1] != ")")
        for name in columns
    ):
        raise AlbertError(
            f"--{file.kind}: {file.path} seems to have no header, as its first line is a row of "
            f"{len(columns)} cells; say with --text-key which has the text, by its number from 1."
        )
    key = _choose_key(file, columns, text_key, name="column")
    rows = (row_of(cells, key) for _, cells in csv_rows([head.data], key=key, quoting=quoting))
    return _with_rows(file._replace(quoting=quoting), rows, key=key, is_forced=is_forced)


def inspect_parquet(
    file: InputFile, _: Head, *, text_key: str | None, is_forced: bool
) -> InputFile:
    """Find the column of the text, and the sizes of the row groups."""
    with closing(files.open_binary(file.path)) as opened:
        table = ColumnTable(opened, path=file.path)
        key = _choose_key(file, table.text_columns, text_key, name="column", type_of=table.type_of)
        sizes = tuple(table.group_bytes)
        file = file._replace(text_bytes=sum(sizes), group_bytes=sizes)
        rows = group_rows(table, 0, key=key) if sizes else ()
        return _with_rows(file, rows, key=key, is_forced=is_forced)


def _with_rows(file: InputFile, rows: Rows, *, key: str, is_forced: bool) -> InputFile:
    """A file with the key of its texts, their language, and whether they are sentences.

    A column of numbers that is named like one of texts is refused, and so are texts
    most of which have marks that are no words.
    """
    found = [
        row._replace(text=row.text[:HEAD_BYTES])
        for row in islice(rows, _SAMPLE_ROWS)
        if isinstance(row, TextRow)
    ]
    texts = [row.text for row in found]
    joined = "\n".join(texts)
    if any(map(str.isdecimal, joined)) and not any(map(str.isalpha, joined)):
        raise AlbertError(
            f"--{file.kind}: {file.path} has numbers alone under {json.dumps(key)}; "
            "say with --text-key where the text is."
        )
    if not is_forced and file.kind != "wikipedia":
        lines = [*filter(str.strip, joined.split("\n"))][:SHOWN_LINES]
        otherwise = f"say --input-format {file.format} to read it as it stands"
        refuse_odd_marks(lines, path=file.path, otherwise=otherwise)
    is_short = file.kind == "books" and f"{file.format}-sentences" in FORMATS
    if not is_forced and is_short and are_sentences(texts):
        file = file._replace(format=f"{file.format}-sentences")
    if named := {row.language for row in found} - {""}:
        # That on which all records that name one agree.
        language = named.pop() if len(named) == 1 else DEFAULT_LANGUAGE
        file = file._replace(language=language, language_from="records")
    return file._replace(text_key=key)


def _choose_key(
    file: InputFile,
    keys: list[str],
    text_key: str | None,
    *,
    name: str,
    type_of: Callable[[str], str] = lambda _: "",
    otherwise: str = "",
) -> str:
    for key in [text_key] if text_key else TEXT_KEYS:
        if key in keys:
            return key
    wanted = text_key or TEXT_KEYS[0]
    shown = listed((key[:_SHOWN_KEY_CHARACTERS] for key in keys), most=_SHOWN_KEYS)
    found = f"but it has text under {shown}" if keys else "nor any text"
    lacks = f"{file.path} has no {name} {json.dumps(wanted)}"
    if kind := type_of(wanted):
        lacks = f"column {json.dumps(wanted)} of {file.path} is of type {kind} and not text"
    raise AlbertError(
        f"--{file.kind}: {lacks}, {found}; say with --text-key where the text is{otherwise}."
    )
