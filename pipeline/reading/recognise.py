"""A file is recognised from its content: format, language, text, how it is divided."""

import re
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import BinaryIO, cast

from pipeline.core.documents import ReadingCounts
from pipeline.reading import books, plain_text
from pipeline.reading.formats import FORMATS_OF, Format, InputFile, Kind
from pipeline.reading.languages import (
    DEFAULT_LANGUAGE,
    known_language,
    language_of_address,
)
from pipeline.reading.marked_text import has_marker, is_subtitles, is_tokenized
from pipeline.reading.plain_text import recognise_text
from pipeline.reading.refusals import (
    HEAD_BYTES,
    PAGE,
    WARC,
    DumpIndex,
    UnusableFile,
    ending_of,
    refuse_binary,
    refuse_columns,
    refuse_foreign_bytes,
    refuse_markup_by_name,
    refuse_other_markup,
    without_lead,
)
from pipeline.reading.tables import is_columnar
from pipeline.reading.text_rows import (
    inspect_csv,
    inspect_jsonl,
    inspect_parquet,
    with_language,
)
from pipeline.storage import files
from pipeline.storage.compression import is_multistream, recognise_compression
from pipeline.storage.lines import MAX_RECORD_BYTES, decode, read_blocks, read_lines
from pipeline.wikipedia.extracted import find_address
from pipeline.wikipedia.mediawiki import read_siteinfo

# Where Project Gutenberg names itself in its books.
_GUTENBERG_HEAD = 2000
_NUMBERED = re.compile(r"\d+\t[^\t]+")
_TABLE_NAMES = ("csv", "tsv")
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
    sha256 = files.file_hash(path, on_bytes=on_hashed)
    file = InputFile(kind, path, found, DEFAULT_LANGUAGE, size, size, sha256)
    if found.startswith("parquet"):
        file = inspect_parquet(file, text_key, is_forced=is_forced)
    elif found.startswith("jsonl"):
        file = inspect_jsonl(file, head, text_key, is_forced=is_forced)
    elif found == "csv":
        file = inspect_csv(file, head, text_key)
    else:
        file = with_language(file, {_language_of_file(file, head)}, source="file")
    if language:
        file = file._replace(language=language, language_from="flag")
    if not found.startswith("parquet"):
        _check_encoding(file, head)
        file = _inspect_size(file)
    return file


def _check_encoding(file: InputFile, head: bytes) -> None:
    is_named = file.language_from != "default"
    known = known_language(file.language) if is_named else ""
    refuse_foreign_bytes(head[:HEAD_BYTES], language=known, path=file.path)


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


def recognise(kind: Kind, head: bytes, *, path: str) -> Format:
    """The format of a file by the first of its bytes.

    The caller decides whether rows of JSON or parquet are sentences.

    Args:
        path: To name in an error, and to tell tables and markup from plain text.

    Raises:
        UnusableFile: It is of no format that its flag allows.
    """
    refuse_other_markup(head, path=path)
    found = _recognise_markup(head)
    if found:
        if found not in FORMATS_OF[kind]:
            raise UnusableFile(
                f"--{kind}: {path} is {_article(found)}; give it with --wikipedia."
            )
        return found
    if is_dump_index(head):
        raise DumpIndex(
            f"--{kind}: {path} is the index of a dump and not needed; give the "
            f".xml.bz2 file beside it."
        )
    if ending_of(path) in _TABLE_NAMES:
        return "csv"
    if kind == "wikipedia":
        raise UnusableFile(
            f"--wikipedia: {path} is neither a MediaWiki dump nor wikiextractor "
            f"output, JSON lines, parquet or CSV; give plain text with --text."
        )
    refuse_markup_by_name(path, plain="book" if kind == "books" else "prose")
    return _recognise_plain(kind, head, path=path)


def is_numbered(lines: list[str]) -> bool:
    r"""Whether each line has a number, a tab and a sentence, as Leipzig's files.

    >>> is_numbered(["1\tHe came.", "2\tShe left."]), is_numbered(["1\ta\tb"] * 2)
    (True, False)
    """
    full = [line for line in lines if line.strip()]
    numbers = {line.partition("\t")[0] for line in full if _NUMBERED.fullmatch(line)}
    return len(full) > 1 and len(numbers) == len(full) and any(map(_has_space, full))


def _has_space(line: str) -> bool:
    return " " in line


def _recognise_plain(kind: Kind, head: bytes, *, path: str) -> Format:
    if has_marker(head):
        return "marked"
    lines, is_whole = _whole_lines(head)
    if is_subtitles("\n".join(lines[:10])):
        return "subtitles"
    if is_numbered(decode(head).split("\n")[: len(lines)]):
        return "numbered"
    refuse_columns(head, path=path)
    if kind == "books":
        is_endless = not is_whole and "" not in lines
        return "bookcorpus" if is_endless and is_tokenized(lines) else "book"
    return recognise_text(lines, is_whole=is_whole)


def _recognise_markup(head: bytes) -> Format | None:
    """A format that cannot be mistaken for text."""
    start = without_lead(head)
    if is_columnar(head):
        return "parquet"
    if WARC.match(start):
        return "wet"
    if start.startswith(b"<doc "):
        return "wikiextractor"
    if start.startswith(b"<") and (b"<mediawiki" in start or PAGE.search(start)):
        return "mediawiki"
    if start.startswith(b'{"') or re.match(rb'\{\s*"', start):
        return "jsonl"
    return None


def kind_of(head: bytes) -> Kind:
    """What a file is where no flag says it, by the first of its bytes."""
    if _recognise_markup(head) in ("mediawiki", "wikiextractor"):
        return "wikipedia"
    is_of_gutenberg = b"project gutenberg" in head[:_GUTENBERG_HEAD].lower()
    return "books" if is_of_gutenberg else "text"


def _article(found: Format) -> str:
    return {"mediawiki": "a MediaWiki dump"}.get(found, f"{found} output")


def is_dump_index(head: bytes) -> bool:
    r"""Whether a file is the index that Wikimedia publishes beside a multistream dump.

    >>> is_dump_index(b"616:10:AccessibleComputing\n616:12:Anarchism\n")
    True
    """
    return re.match(rb"(?:\d+:\d+:[^\n]+\n){1,3}", head) is not None


def _whole_lines(head: bytes) -> tuple[list[str], bool]:
    """The lines of a head, and whether they are the whole file."""
    is_whole = len(head) < HEAD_BYTES
    # The last line is broken where the head ends, unless the file ends there.
    end = len(head) if is_whole else head.rfind(b"\n") + 1
    blocks: Iterable[bytes] = [head[: end or len(head)]]
    return list(read_lines(blocks)), is_whole
