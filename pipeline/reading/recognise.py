"""A file is recognised from its content: format, language, text, how it is divided."""

import json
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from typing import BinaryIO, Literal, NamedTuple, cast

from pipeline.core.documents import ReadingCounts
from pipeline.reading import books, plain_text
from pipeline.reading.formats import (
    FORMATS_OF,
    HEAD_BYTES,
    Format,
    Kind,
    UnusableFile,
    recognise,
    refuse_binary,
    without_lead,
)
from pipeline.reading.languages import (
    DEFAULT_LANGUAGE,
    known_language,
    language_of_address,
    language_of_record,
)
from pipeline.reading.tables import (
    ColumnTable,
    Quoting,
    find_quoting,
    is_columnar,
    parse_record,
    read_csv,
    read_header,
)
from pipeline.reading.text_rows import (
    TEXT_KEYS,
    TextRow,
    are_sentences,
    find_text,
    group_rows,
    list_keys,
)
from pipeline.storage import files
from pipeline.storage.byte_ranges import read_blocks
from pipeline.storage.compression import is_multistream, recognise_compression
from pipeline.storage.lines import MAX_RECORD_BYTES, decode, refuse_foreign_bytes
from pipeline.wikipedia.extracted import find_address
from pipeline.wikipedia.mediawiki import read_siteinfo
from schemas.errors import AlbertError
from schemas.layout import EVAL

LanguageSource = Literal["flag", "file", "records", "default"]

# Where sizes are estimated, compressed text counts this many times its size.
_COMPRESSION_RATIO = 4
# Formats in which a document is found from anywhere in a file.
_DIVISIBLE: frozenset[Format] = frozenset(
    {
        "mediawiki",
        "wikiextractor",
        "jsonl",
        "jsonl-sentences",
        "sentences",
        "paragraphs",
        "bookcorpus",
        "numbered",
        "lines",
        "marked",
        "wet",
    }
)
# Formats with records that have fields, among them perhaps the language.
_WITH_FIELDS: frozenset[Format] = frozenset({"jsonl", "parquet", "csv"})
_SAMPLE_ROWS = 100
# What of their keys is shown where the text is under none of those expected.
_SHOWN_KEYS, _SHOWN_KEY_CHARACTERS = 10, 60


class InputFile(NamedTuple):
    """One file to read.

    Attributes:
        language: Of its sentences, an ISO code; of records that name one only if a
            person gave it.
        bytes: Its size.
        sha256: Hash of the file; of a remote one the checksum that its system keeps.
        text_key: Where its rows have their text; empty if it has no rows.
        is_divisible: Whether it can be read in ranges of bytes.
        group_bytes: Sizes of the row groups of a parquet file.
        document_starts: First bytes of the documents that a long text is cut into;
            empty if it is read as a whole.
        language_from: What named the language.
        quoting: Of a table of lines.
        is_held_out: Whether nothing in it is trained on.
    """

    kind: Kind
    path: str
    format: Format
    language: str
    bytes: int
    text_bytes: int
    sha256: str
    text_key: str = ""
    is_divisible: bool = False
    group_bytes: tuple[int, ...] = ()
    document_starts: tuple[int, ...] = ()
    language_from: LanguageSource = "default"
    quoting: Quoting = "doubled"
    is_held_out: bool = False

    def describe(self) -> dict[str, str | int]:
        """What the manifest says of it: nothing that depends on the machine."""
        described: dict[str, str | int] = {
            "name": files.file_name(self.path),
            "kind": self.kind,
            "format": self.format,
            "language": self.language,
            "bytes": self.bytes,
            "sha256": self.sha256,
        }
        if self.text_key:
            described["text_key"] = self.text_key
        # Records that name their language are then read otherwise.
        if self.language_from == "flag" and self.format in _WITH_FIELDS:
            described["language_from"] = "flag"
        if self.quoting != "doubled":
            described["quoting"] = self.quoting
        if self.is_held_out:
            described["split"] = EVAL
        return described


def inspect(
    kind: Kind,
    path: str,
    *,
    input_format: Format | None = None,
    text_key: str | None = None,
    language: str | None = None,
    on_hashed: Callable[[int], None] = lambda _: None,
) -> InputFile:
    """Recognise one file from its content.

    Args:
        language: As a person names it; by default as the file or its records do.

    Raises:
        UnusableFile: It is empty, or of no format that its kind allows.
    """
    head = read_head(path)
    if not is_columnar(head):
        refuse_binary(head, path=path)
    is_forced = input_format in FORMATS_OF[kind]
    found = (
        cast(Format, input_format)
        if is_forced
        else recognise(kind, head[:HEAD_BYTES], path=path)
    )
    size = files.file_size(path)
    file = InputFile(
        kind=kind,
        path=path,
        format=found,
        language=DEFAULT_LANGUAGE,
        bytes=size,
        text_bytes=size,
        sha256=files.file_hash(path, on_bytes=on_hashed),
    )
    if found.startswith("parquet"):
        file = _inspect_parquet(file, text_key, is_forced=is_forced)
        return _by_flag(file, language)
    if found.startswith("jsonl"):
        file = _inspect_jsonl(file, head, text_key, is_forced=is_forced)
    elif found == "csv":
        file = _inspect_csv(file, head, text_key)
    else:
        file = _with_language(file, {_language_of_file(file, head)}, source="file")
    file = _by_flag(file, language)
    is_named = file.language_from != "default"
    known = known_language(file.language) if is_named else ""
    refuse_foreign_bytes(head[:HEAD_BYTES], language=known, path=path)
    return _inspect_size(file)


def _by_flag(file: InputFile, language: str | None) -> InputFile:
    """A file with the language that a person gave, if there is one."""
    if not language:
        return file
    return file._replace(language=language, language_from="flag")


def read_head(path: str) -> bytes:
    """The first `HEAD_BYTES` of a file, decompressed, and the first line of JSON whole.

    Raises:
        UnusableFile: There are none.
    """
    counts, head, end = ReadingCounts(), b"", 0
    with closing(read_blocks(path, counts=counts, block_bytes=HEAD_BYTES)) as blocks:
        for block in blocks:
            head += block
            if len(head) >= HEAD_BYTES and (
                (end := _first_record_end(head)) or len(head) >= MAX_RECORD_BYTES
            ):
                break
    if not head:
        raise UnusableFile(
            f"{path} is damaged; copy it again."
            if counts.dropped
            else f"{path} is empty."
        )
    return head[:end] if end else head


def _first_record_end(head: bytes) -> int:
    """Where the first bytes of a file end: after a record of JSON; 0 inside of one."""
    start = without_lead(head)
    if not start.startswith(b"{"):
        return HEAD_BYTES
    line_end = start.find(b"\n") + 1
    return max(HEAD_BYTES, len(head) - len(start) + line_end) if line_end else 0


def _language_of_file(file: InputFile, head: bytes) -> str:
    """The language that a file names for all its documents; empty if it names none."""
    if file.format == "mediawiki":
        return read_siteinfo(read_blocks(file.path)).language or ""
    if file.format == "wikiextractor":
        return language_of_address(find_address(head))
    return ""


def _with_language(
    file: InputFile, languages: set[str], *, source: LanguageSource
) -> InputFile:
    """A file with the language on which all that name one agree."""
    named = languages - {""}
    if not named:
        return file
    language = named.pop() if len(named) == 1 else DEFAULT_LANGUAGE
    return file._replace(language=language, language_from=source)


def _inspect_size(file: InputFile) -> InputFile:
    """Say how large the text is, and how the file can be read in parts."""
    with closing(files.open_binary(file.path)) as stream:
        compression = recognise_compression(stream.read(6))
        is_plain = compression == "none"
        is_seekable = is_plain or (compression == "bz2" and is_multistream(stream))
        return file._replace(
            text_bytes=file.bytes * (1 if is_plain else _COMPRESSION_RATIO),
            is_divisible=is_seekable and file.format in _DIVISIBLE,
            document_starts=_document_starts(file, stream) if is_plain else (),
        )


def _document_starts(file: InputFile, stream: BinaryIO) -> tuple[int, ...]:
    """Where the documents of a long plain text begin, if that is quickly known."""
    if file.bytes <= plain_text.MAX_DOCUMENT_BYTES:
        return ()
    if file.format == "prose":
        return tuple(plain_text.find_documents(stream, size=file.bytes))
    # Where a book ends is known only by reading it, which costs too much far away.
    if file.format == "book" and not files.is_remote(file.path):
        blocks = read_blocks(file.path)
        return tuple(books.find_documents(blocks))
    return ()


def _inspect_jsonl(
    file: InputFile, head: bytes, text_key: str | None, *, is_forced: bool
) -> InputFile:
    """Find where the records of a file have their text."""
    lines = decode(head).split("\n")
    records = [record for line in lines if (record := parse_record(line))][
        :_SAMPLE_ROWS
    ]
    if not records:
        raise UnusableFile(
            f"{file.path} is JSON, but not one record a line; write its records as "
            "jq -c does."
        )
    keys = sorted({key for record in records for key in list_keys(record)})
    key = _choose_key(file, keys, text_key, name="key")
    texts = [text for record in records if (text := find_text(record, key))]
    if not is_forced and file.kind == "books" and are_sentences(texts):
        file = file._replace(format="jsonl-sentences")
    languages = set(map(language_of_record, records))
    return _with_language(file._replace(text_key=key), languages, source="records")


def _inspect_csv(file: InputFile, head: bytes, text_key: str | None) -> InputFile:
    """Find the column of the text, and whether cells are quoted."""
    quoting = find_quoting(head, is_whole=len(head) < HEAD_BYTES)
    rows = read_csv([head], quoting=quoting)
    records = [row for row in islice(rows, _SAMPLE_ROWS) if isinstance(row, dict)]
    columns = read_header(head, path=file.path)
    key = _choose_key(file, list(columns), text_key, name="column")
    languages = set(map(language_of_record, records))
    file = file._replace(text_key=key, quoting=quoting)
    return _with_language(file, languages, source="records")


def _inspect_parquet(
    file: InputFile, text_key: str | None, *, is_forced: bool
) -> InputFile:
    """Find the column of the text, and the sizes of the row groups."""
    with closing(files.open_binary(file.path)) as opened:
        table = ColumnTable(opened, path=file.path)
        key = _choose_key(
            file, table.text_columns, text_key, name="column", type_of=table.type_of
        )
        sizes = tuple(table.group_bytes)
        rows = islice(group_rows(table, 0, key=key) if sizes else (), _SAMPLE_ROWS)
        found = [
            row._replace(text=row.text[:HEAD_BYTES])
            for row in rows
            if isinstance(row, TextRow)
        ]
    is_sentences = are_sentences([row.text for row in found])
    if not is_forced and file.kind == "books" and is_sentences:
        file = file._replace(format="parquet-sentences")
    file = file._replace(text_key=key, text_bytes=sum(sizes), group_bytes=sizes)
    return _with_language(file, {row.language for row in found}, source="records")


def _choose_key(
    file: InputFile,
    keys: list[str],
    text_key: str | None,
    *,
    name: str,
    type_of: Callable[[str], str] = lambda _: "",
) -> str:
    for key in [text_key] if text_key else TEXT_KEYS:
        if key in keys:
            return key
    wanted = text_key or TEXT_KEYS[0]
    some = [key[:_SHOWN_KEY_CHARACTERS] for key in keys[:_SHOWN_KEYS]]
    more = f" and {len(keys) - _SHOWN_KEYS} more" if len(keys) > _SHOWN_KEYS else ""
    found = f"but it has text under {', '.join(some)}{more}"
    found = found if keys else "nor any text"
    if kind := type_of(wanted):
        raise AlbertError(
            f"--{file.kind}: column {json.dumps(wanted)} of {file.path} is of type "
            f"{kind} and not text, {found}; say with --text-key where the text is."
        )
    raise AlbertError(
        f"--{file.kind}: {file.path} has no {name} {json.dumps(wanted)}, {found}; "
        f"say with --text-key where the text is."
    )
