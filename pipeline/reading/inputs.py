"""The files that a person names: found, recognised from their content, described."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from itertools import islice
from typing import BinaryIO, Literal, NamedTuple, cast

from pipeline.core.counts import ReadingCounts
from pipeline.reading import books, plain_text
from pipeline.reading.formats import (
    FORMATS_OF,
    HEAD_BYTES,
    MEANINGS,
    SENTENCE_FORMATS,
    DumpIndex,
    Format,
    Kind,
    UnusableFile,
    recognise,
    refuse_binary,
    unpacked_name,
    without_lead,
)
from pipeline.reading.languages import (
    DEFAULT_LANGUAGE,
    is_code,
    language_of_address,
    language_of_record,
)
from pipeline.reading.tables import (
    ParquetTable,
    has_quoted_cells,
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
from pipeline.storage.byte_ranges import BlockReader, read_blocks
from pipeline.storage.compression import is_multistream, recognise_compression
from pipeline.storage.lines import MAX_RECORD_BYTES, decode
from pipeline.wikipedia.extracted import find_address
from pipeline.wikipedia.mediawiki import read_siteinfo
from schemas.errors import AlbertError, SettingError
from schemas.readable import prefixed

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
        "bookcorpus",
        "lines",
        "marked",
    }
)
# Formats with records that have fields, among them perhaps the language.
_WITH_FIELDS: frozenset[Format] = frozenset({"jsonl", "parquet", "csv"})
_SAMPLE_ROWS = 100
# What of their keys is shown where the text is under none of those expected.
_SHOWN_KEYS, _SHOWN_KEY_CHARACTERS = 10, 60

# Files that lie beside texts in folders.
_NO_TEXT_NAMES = re.compile(
    r"(readme|licen[cs]e|manifest|sha256sums|md5sums)(\.[a-z0-9]+)*"
)
_NO_TEXT_SUFFIXES = (
    *(".csv", ".tsv", ".md", ".rst", ".html", ".htm", ".css", ".js", ".py", ".log"),
    *(".yaml", ".yml", ".toml", ".ini", ".sha256", ".md5", ".png", ".jpg", ".jpeg"),
    *(".gif", ".svg", ".pdf", ".epub", ".mobi", ".doc", ".docx", ".zip", ".7z"),
    # The pieces of a vocabulary, of which a folder may hold one beside its texts.
    ".vocab",
)
_TABLE_SUFFIXES = (".csv", ".tsv")


class InputFile(NamedTuple):
    """One file to read.

    Attributes:
        kind: The flag it was given with.
        path: Where it is.
        format: How it is read.
        language: Of its sentences, an ISO code; of records that name one only if a
            person gave it.
        bytes: Its size.
        text_bytes: Its size when decompressed, estimated.
        sha256: Hash of the file; of a remote one the checksum that its system keeps.
        text_key: Where its rows have their text; empty if it has no rows.
        is_divisible: Whether it can be read in ranges of bytes.
        group_bytes: Sizes of the row groups of a parquet file.
        piece_starts: First bytes of the documents that a long text is cut into; empty
            if it is read as a whole.
        language_from: What named the language.
        is_quoted: Of a table of lines, see `tables.has_quoted_cells`.
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
    piece_starts: tuple[int, ...] = ()
    language_from: LanguageSource = "default"
    is_quoted: bool = True

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
        if not self.is_quoted:
            described["quoting"] = "none"
        return described


def find_inputs(
    given: Mapping[Kind, tuple[str, ...]],
    *,
    language: str | None = None,
    input_format: Format | None = None,
    text_key: str | None = None,
    on_passed_over: Callable[[str], None] = lambda _: None,
) -> list[InputFile]:
    """All files at the given paths, in an order that does not depend on theirs.

    A file named by its path or by a glob has to be of a known format. In a folder, a
    file of no known format is passed over.

    Args:
        given: Files, folders and globs for each kind of input.
        language: Of all files and their records; by default each record's own, or its
            file's, or English.
        input_format: Forces how files of the kinds that allow it are read.
        text_key: Where rows of JSON lines, parquet and CSV have their text.
        on_passed_over: Is told of each file that is passed over, and why.
    """
    if not any(given.values()):
        raise SettingError("Give at least one input: --wikipedia, --books or --text.")
    _check_format(given, input_format)
    if language is not None and not is_code(language):
        raise SettingError(f"--language takes a code such as en, not {language!r}.")
    found: dict[tuple[Kind, str], InputFile] = {}
    for kind, patterns in given.items():
        for pattern in patterns:
            for file in _inspect_all(
                kind,
                pattern,
                input_format,
                text_key=text_key,
                on_passed_over=on_passed_over,
            ):
                same = found.setdefault((kind, _real_path(file.path)), file)
                if file.path < same.path:
                    found[kind, _real_path(file.path)] = file
    if text_key and not any(file.text_key for file in found.values()):
        raise SettingError(
            f"--text-key {text_key} says where rows have their text, and no file given "
            "has rows; leave it out."
        )
    inputs = [
        file._replace(language=language, language_from="flag") if language else file
        for file in found.values()
    ]
    return sorted(inputs, key=lambda file: (file.kind, file.sha256, file.path))


def _real_path(path: str) -> str:
    """One path for a file, however it is spelled."""
    return path if files.is_remote(path) else os.path.realpath(path)


def _check_format(
    given: Mapping[Kind, tuple[str, ...]], input_format: Format | None
) -> None:
    kinds = [kind for kind, patterns in given.items() if patterns]
    if input_format and not any(input_format in FORMATS_OF[kind] for kind in kinds):
        flags = " and ".join(f"--{kind}" for kind in kinds)
        choices = sorted({name for kind in kinds for name in FORMATS_OF[kind]})
        raise SettingError(
            f"--input-format {input_format} is not a format of {flags}, which can be "
            f"{', '.join(choices)}."
        )


def _inspect_all(
    kind: Kind,
    pattern: str,
    input_format: Format | None,
    *,
    text_key: str | None,
    on_passed_over: Callable[[str], None],
) -> Iterator[InputFile]:
    """The files at one path that can be read."""
    paths = expand(pattern, flag=f"--{kind}")
    is_folder = files.is_folder(pattern)
    notes: list[str] = []
    look = partial(
        _inspect_or_refuse,
        kind=kind,
        is_in_folder=is_folder,
        input_format=input_format,
        text_key=text_key,
    )
    for found in files.each_of(look, paths):
        if isinstance(found, InputFile):
            yield found
            continue
        is_index = isinstance(found, DumpIndex) and len(paths) > 1
        if not is_folder and not is_index:
            raise found
        notes.append(str(found))
    if len(notes) == len(paths):
        raise SettingError(f"--{kind}: nothing in {pattern} can be read: {notes[0]}")
    for note in notes:
        on_passed_over(note)


def _inspect_or_refuse(
    path: str,
    *,
    kind: Kind,
    is_in_folder: bool,
    input_format: Format | None,
    text_key: str | None,
) -> InputFile | UnusableFile:
    """A file as recognised, or why it cannot be read."""
    try:
        if is_in_folder and _is_beside_text(path, input_format):
            raise UnusableFile(
                f"{path} is not named like a text; give the file itself to read it."
            )
        return inspect(kind, path, input_format=input_format, text_key=text_key)
    except UnusableFile as error:
        return error


def _is_beside_text(path: str, input_format: Format | None) -> bool:
    name = unpacked_name(path)
    if input_format == "csv" and name.endswith(_TABLE_SUFFIXES):
        return False
    return name.endswith(_NO_TEXT_SUFFIXES) or bool(_NO_TEXT_NAMES.fullmatch(name))


def expand(pattern: str, *, flag: str) -> list[str]:
    """The files at a path or in a folder or glob, hidden ones left out."""
    found = files.find_files(pattern)
    if not found and files.is_folder(pattern):
        raise SettingError(f"{flag}: the folder {pattern} has no files.")
    if not found:
        raise SettingError(f"{flag}: {pattern} does not exist.")
    if not files.is_remote(found[0]) and not os.path.isfile(found[0]):
        raise SettingError(
            f"{flag}: {pattern} is a pipe or a device, and text is read more than "
            "once; write it to a file and give that."
        )
    return found


def inspect(
    kind: Kind,
    path: str,
    *,
    input_format: Format | None = None,
    text_key: str | None = None,
) -> InputFile:
    """Recognise one file from its content.

    Raises:
        UnusableFile: It is empty, or of no format that its kind allows.
    """
    head = read_head(path)
    if not head.startswith(b"PAR1"):
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
        sha256=files.file_hash(path),
    )
    if found.startswith("parquet"):
        return _inspect_parquet(file, text_key, is_forced=is_forced)
    if found.startswith("jsonl"):
        file = _inspect_jsonl(file, head, text_key, is_forced=is_forced)
    elif found == "csv":
        file = _inspect_csv(file, head, text_key)
    else:
        file = _with_language(file, {_language_of_file(file, head)}, source="file")
    return _inspect_size(file)


def read_head(path: str) -> bytes:
    """The first bytes of a file, decompressed, and for JSON lines the first line.

    Raises:
        UnusableFile: There are none.
    """
    counts = ReadingCounts()
    blocks = read_blocks(path, counts=counts, block_bytes=HEAD_BYTES)
    with closing(blocks):
        reader = BlockReader(blocks)
        head = b""
        while len(head) < HEAD_BYTES and (data := reader.read(HEAD_BYTES - len(head))):
            head += data
        start = without_lead(head)
        if start.startswith(b"{"):
            lead = len(head) - len(start)
            while head.find(b"\n", lead) < 0 and len(head) < MAX_RECORD_BYTES:
                data = reader.read(HEAD_BYTES * 16)
                if not data:
                    break
                head += data
    if not head:
        raise UnusableFile(
            f"{path} is damaged; copy it again."
            if counts.dropped
            else f"{path} is empty."
        )
    return head


def _language_of_file(file: InputFile, head: bytes) -> str:
    """The language that a file names for all its documents; empty if it names none."""
    if file.format == "mediawiki":
        blocks = read_blocks(file.path)
        return read_siteinfo(cast(BinaryIO, BlockReader(blocks))).language or ""
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
            piece_starts=_piece_starts(file, stream) if is_plain else (),
        )


def _piece_starts(file: InputFile, stream: BinaryIO) -> tuple[int, ...]:
    """Where the documents of a long plain text begin, if that is quickly known."""
    if file.bytes <= plain_text.MAX_DOCUMENT_BYTES:
        return ()
    if file.format == "prose":
        return tuple(plain_text.find_pieces(stream, size=file.bytes))
    # Where a book ends is known only by reading it, which costs too much far away.
    if file.format == "book" and not files.is_remote(file.path):
        blocks = read_blocks(file.path)
        return tuple(books.find_pieces(blocks))
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
    is_quoted = has_quoted_cells(head, is_whole=len(head) < HEAD_BYTES)
    rows = read_csv([head], is_quoted=is_quoted)
    records = [row for row in islice(rows, _SAMPLE_ROWS) if isinstance(row, dict)]
    columns = read_header(head, path=file.path)
    key = _choose_key(file, list(columns), text_key, name="column")
    languages = set(map(language_of_record, records))
    file = file._replace(text_key=key, is_quoted=is_quoted)
    return _with_language(file, languages, source="records")


def _inspect_parquet(
    file: InputFile, text_key: str | None, *, is_forced: bool
) -> InputFile:
    """Find the column of the text, and the sizes of the row groups."""
    with closing(files.open_binary(file.path)) as opened:
        table = ParquetTable(opened, path=file.path)
        key = _choose_key(file, table.text_columns, text_key, name="column")
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
    file: InputFile, keys: list[str], text_key: str | None, *, name: str
) -> str:
    for key in [text_key] if text_key else TEXT_KEYS:
        if key in keys:
            return key
    wanted = text_key or TEXT_KEYS[0]
    some = [key[:_SHOWN_KEY_CHARACTERS] for key in keys[:_SHOWN_KEYS]]
    more = f" and {len(keys) - _SHOWN_KEYS} more" if len(keys) > _SHOWN_KEYS else ""
    found = f"but it has text under {', '.join(some)}{more}"
    found = found if keys else "nor any text"
    raise AlbertError(
        f"--{file.kind}: {file.path} has no {name} {json.dumps(wanted)}, {found}; "
        f"say with --text-key where the text is."
    )


def describe_inputs(files: Iterable[InputFile]) -> Iterator[str]:
    """One line for each format and language met."""
    groups: dict[tuple[str, ...], list[InputFile]] = {}
    for file in files:
        key = (file.kind, file.format, file.language, file.language_from)
        groups.setdefault(key, []).append(file)
    for (kind, *_), group in sorted(groups.items()):
        count = f"{len(group)} file{'s' if len(group) > 1 else ''}"
        size = prefixed(sum(file.bytes for file in group), "B")
        meaning = MEANINGS[group[0].format]
        yield f"{kind}: {count}, {size}: {meaning}" + _language(group[0])


def _language(file: InputFile) -> str:
    """The language of a file and where it comes from, unless it is of no use."""
    if file.format in SENTENCE_FORMATS:
        return ""
    sources: dict[LanguageSource, str] = {
        "flag": ", by --language",
        "file": "",
        "records": ", or as a record says",
        "default": " by default, --language sets another",
    }
    return f" ({file.language}{sources[file.language_from]})"
