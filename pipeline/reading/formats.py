"""The formats of raw text: their names, what they imply, how they are recognised.

A new format is a name in `Format`, a line in `_ABOUT`, a case in `recognise` and a
reader in `pipeline.reading.read`.
"""

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from pipeline.reading.plain_text import has_marker, is_tokenized, recognise_text
from pipeline.reading.tables import is_columnar
from pipeline.storage.lines import (
    is_binary,
    read_lines,
    refuse_other_encoding,
    refuse_utf16,
)
from schemas.errors import AlbertError

Kind = Literal["wikipedia", "books", "text"]
Format = Literal[
    "mediawiki",
    "wikiextractor",
    "jsonl",
    "jsonl-sentences",
    "parquet",
    "parquet-sentences",
    "book",
    "prose",
    "sentences",
    "bookcorpus",
    "paragraphs",
    "lines",
    "marked",
    "wet",
    "csv",
]

KINDS: tuple[Kind, ...] = get_args(Kind)

# A format is recognised by this much of a file, decompressed.
HEAD_BYTES = 1 << 16


class _About(NamedTuple):
    """What a format implies.

    Attributes:
        has_sentences: Whether its text is in sentences already, one a line or row.
    """

    meaning: str
    kinds: tuple[Kind, ...]
    has_sentences: bool = False


_ABOUT: dict[Format, _About] = {
    "mediawiki": _About(
        "MediaWiki dump, one document a page, markup removed, segmented",
        ("wikipedia",),
    ),
    "wikiextractor": _About(
        "wikiextractor output, one document a <doc>, title left out, segmented",
        ("wikipedia",),
    ),
    "jsonl": _About("JSON lines, one document a line, segmented", KINDS),
    "jsonl-sentences": _About(
        "JSON lines, one sentence a line, documents made up of about 500 sentences",
        ("books", "text"),
        has_sentences=True,
    ),
    "parquet": _About("parquet or Arrow, one document a row, segmented", KINDS),
    "parquet-sentences": _About(
        "parquet or Arrow, one sentence a row, documents made up of about 500 of them",
        ("books", "text"),
        has_sentences=True,
    ),
    "book": _About("book, one document a file, segmented", ("books",)),
    "prose": _About(
        "running prose, one document a file, a blank line ends a paragraph, segmented",
        ("text",),
    ),
    "sentences": _About(
        "one sentence a line, a blank line between documents",
        ("books", "text"),
        has_sentences=True,
    ),
    "bookcorpus": _About(
        "one sentence a line without document boundaries, documents made up of about "
        "500 sentences",
        ("books", "text"),
        has_sentences=True,
    ),
    "paragraphs": _About(
        "one paragraph a line, a blank line between documents, segmented",
        ("books", "text"),
    ),
    "lines": _About("one document a line, segmented", ("books", "text")),
    "marked": _About(
        "running prose, a line <|endoftext|>, </s> or ---- between documents, "
        "segmented",
        ("books", "text"),
    ),
    "wet": _About(
        "WET (WARC), one document a page, a paragraph a line, segmented", ("text",)
    ),
    "csv": _About("CSV or TSV, one document a row, segmented", KINDS),
}

# What the command line offers and prints.
FORMATS: tuple[Format, ...] = get_args(Format)
MEANINGS: dict[Format, str] = {name: about.meaning for name, about in _ABOUT.items()}
FORMATS_OF: dict[Kind, tuple[Format, ...]] = {
    kind: tuple(name for name, about in _ABOUT.items() if kind in about.kinds)
    for kind in KINDS
}

SENTENCE_FORMATS = frozenset(
    name for name, about in _ABOUT.items() if about.has_sentences
)

_PAGE = re.compile(rb"<page[\s>]")
_HTML = re.compile(
    rb"(?:<\?xml[^<>]*+>\s*+)?<(?:!doctype\s++html|html)\b", re.IGNORECASE
)
_FILES_INSIDE = "give the text files inside it"
_PANDOC = "give its text, for example as pandoc -t plain --wrap=none writes it"
_XML = re.compile(
    rb"<\?xml\b|<(?:!DOCTYPE|TEI|tmx|xliff|rss|feed|osis)\b", re.IGNORECASE
)
_WARC = re.compile(rb"WARC/1\.\d\r?\n")
_TIMES = rb"\d\d:\d\d(?::\d\d)?[,.]\d{3}[ \t]*-->[ \t]*\d\d:\d\d"
# How a file begins that is text for a program, what it is, and what to do about it.
_STRUCTURED = (
    (rb"(?:WEBVTT\b|(?:\d+\r?\n)?" + _TIMES + rb")", "subtitles", "give what is said"),
    (rb"\[Script Info\]", "subtitles", "give what is said"),
    (rb"\\documentclass|\\begin\{document\}", "LaTeX", _PANDOC),
    (rb"(?:--|/\*)[^\n]*\bdump\b", "an SQL dump", "write its texts as JSON lines"),
    (rb"From \S+@\S+ [^\n]*\n(?:[\w-]+:|>)", "a mailbox", "give the text of its mails"),
    (rb"%YAML\b|---\r?\n\w+:", "YAML", "write its texts as JSON lines"),
)
_JSON_ARRAY = re.compile(rb"\[\s*+\{\s*+\"")
# Lines that are looked at for columns.
_SHOWN_LINES = 200
# Other markup shows within this many bytes.
_MARKUP_BYTES = 1000

# How a file begins, what it is then, and what to do about it. What is packed as a zip
# archive tells by the name of its first file.
_BINARIES = (
    (rb"PK\x03\x04.{26}mimetypeapplication/epub", "an EPUB book", _PANDOC),
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd", "an OpenDocument file", _PANDOC),
    (rb"PK\x03\x04.*PK\x03\x04.{26}xl/", "an Excel workbook", "save it as CSV"),
    (rb"PK\x03\x04.{26}(?:\[Content_Types\]|_rels/|word/)", "a docx file", _PANDOC),
    (rb"PK\x03\x04", "a zip archive", _FILES_INSIDE),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _FILES_INSIDE),
    (rb"Rar!", "a rar archive", _FILES_INSIDE),
    (rb".{257}ustar", "a tar archive", "unpack it and give the folder"),
    (rb"%PDF-", "a PDF", "give its text, for example as pdftotext writes it"),
    (rb"\xd0\xcf\x11\xe0", "an old Office file", "save it as plain text"),
    (rb"\{\\rtf", "an RTF file", _PANDOC),
    (rb"Obj\x01", "an Avro file", "write it as parquet or JSON lines"),
    (rb"ORC", "an ORC file", "write it as parquet or JSON lines"),
    (rb"\x89HDF", "an HDF5 file", "write its texts as JSON lines"),
    (rb"\x93NUMPY", "an array of NumPy", "write its texts as JSON lines"),
    (rb"\x80[\x02-\x05]", "a pickle", "write its texts as JSON lines"),
    (rb"BOOKMOBI|.{60}BOOKMOBI", "a Mobipocket book", _PANDOC),
    (rb"SQLite format 3", "an SQLite database", "write its texts as JSON lines"),
)
# Markup that only the file's name tells from plain text.
_MARKUP_NAMES = {
    "md": "Markdown",
    "markdown": "Markdown",
    "rst": "reStructuredText",
    "tex": "LaTeX",
    "html": "HTML",
    "htm": "HTML",
    "xhtml": "HTML",
    "xml": "XML",
}
_TABLE_NAMES = ("csv", "tsv")
_PACKED_NAMES = (".gz", ".bz2", ".xz", ".zst")


class UnusableFile(AlbertError):
    """A file that holds no text we can read; in a folder it is passed over."""


class DumpIndex(UnusableFile):
    """The index that Wikimedia publishes beside a multistream dump; never needed."""


def refuse_binary(head: bytes, *, path: str) -> None:
    """Refuse what is not text.

    Raises:
        UnusableFile: Names what it is and what to do.
    """
    for start, name, advice in _BINARIES:
        if re.match(start, head, re.DOTALL):
            raise UnusableFile(f"{path} is {name}; {advice}.")
    refuse_utf16(head, path=path)
    if is_binary(head):
        raise UnusableFile(
            f"{path} is not text: it is full of control characters; give text, "
            "plain or packed with gz, bz2, xz or zst."
        )
    refuse_other_encoding(head[:HEAD_BYTES], path=path)


def recognise(kind: Kind, head: bytes, *, path: str) -> Format:
    """The format of a file by the first of its bytes.

    The caller decides whether rows of JSON or parquet are sentences.

    Args:
        path: To name in an error, and to tell tables and markup from plain text.

    Raises:
        UnusableFile: It is of no format that its flag allows.
    """
    _refuse_other_markup(head, path=path)
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
    if _ending(path) in _TABLE_NAMES:
        return "csv"
    if kind == "wikipedia":
        raise UnusableFile(
            f"--wikipedia: {path} is neither a MediaWiki dump nor wikiextractor "
            f"output, JSON lines, parquet or CSV; give plain text with --text."
        )
    _refuse_markup_by_name(kind, path)
    return _recognise_plain(kind, head, path=path)


def _refuse_columns(head: bytes, *, path: str) -> None:
    """Refuse lines of columns: numbered sentences, tokens with tags.

    Raises:
        UnusableFile: Names what it is and what to do.
    """
    lines = [line for line in head.split(b"\n")[:_SHOWN_LINES] if line.strip()]
    of_columns = sum(b"\t" in line.strip() for line in lines)
    if len(lines) < 3 or of_columns < 0.9 * len(lines):
        return
    numbered = sum(re.match(rb"\d+\t", line) is not None for line in lines)
    # A token has no space in it.
    tokens = sum(b" " not in line.strip().split(b"\t")[0] for line in lines)
    if numbered > 0.9 * len(lines) and b"\n\n" not in head:
        raise UnusableFile(
            f"{path} has a number before each line; write its text with cut -f 2- and "
            "say --input-format bookcorpus if it is a sentence a line."
        )
    name = "a token" if tokens > 0.9 * len(lines) else "several columns"
    raise UnusableFile(
        f"{path} has {name} in each line, between tabs; give its text, or name a table "
        "with a header .tsv."
    )


def _recognise_plain(kind: Kind, head: bytes, *, path: str) -> Format:
    if has_marker(head):
        return "marked"
    lines, is_whole = _whole_lines(head)
    _refuse_columns(head, path=path)
    if kind == "books":
        is_endless = not is_whole and "" not in lines
        return "bookcorpus" if is_endless and is_tokenized(lines) else "book"
    return recognise_text(lines, is_whole=is_whole)


def _refuse_markup_by_name(kind: Kind, path: str) -> None:
    """Refuse markup that only the name of a file tells from plain text.

    Raises:
        UnusableFile: Names what it is and what to do.
    """
    ending = _ending(path)
    if ending in _MARKUP_NAMES:
        plain = "book" if kind == "books" else "prose"
        raise UnusableFile(
            f"{path} is named like {_MARKUP_NAMES[ending]}; {_PANDOC}, or say "
            f"--input-format {plain} to read it as it stands."
        )


def _refuse_other_markup(head: bytes, *, path: str) -> None:
    """Refuse what would be read as text with its markup.

    Raises:
        UnusableFile: Names what it is and what to do.
    """
    start = without_lead(head[:_MARKUP_BYTES])
    if _HTML.match(start):
        raise UnusableFile(f"{path} is HTML; {_PANDOC}.")
    is_dump = b"<mediawiki" in start or _PAGE.search(start)
    if _XML.match(start) and not is_dump:
        raise UnusableFile(f"{path} is XML; give its text.")
    if _WARC.match(start) and b"\nWARC-Type: response" in head:
        raise UnusableFile(
            f"{path} holds web pages as they were sent; give its WET, or the text of "
            "its pages as JSON lines."
        )
    for structured, name, advice in _STRUCTURED:
        if re.match(structured, start):
            raise UnusableFile(f"{path} is {name}; {advice}.")
    if _JSON_ARRAY.match(start):
        raise UnusableFile(
            f"{path} is a JSON array; write one object a line, "
            f"for example with jq -c '.[]'."
        )


def _recognise_markup(head: bytes) -> Format | None:
    """A format that cannot be mistaken for text."""
    start = without_lead(head)
    if is_columnar(head):
        return "parquet"
    if _WARC.match(start):
        return "wet"
    if start.startswith(b"<doc "):
        return "wikiextractor"
    if start.startswith(b"<") and (b"<mediawiki" in start or _PAGE.search(start)):
        return "mediawiki"
    if start.startswith(b'{"') or re.match(rb'\{\s*"', start):
        return "jsonl"
    return None


def without_lead(head: bytes) -> bytes:
    r"""The first bytes of a file without the mark and white space before its text.

    >>> without_lead(b"\xef\xbb\xbf\n <page>")
    b'<page>'
    """
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def _article(found: Format) -> str:
    return {"mediawiki": "a MediaWiki dump"}.get(found, f"{found} output")


def is_dump_index(head: bytes) -> bool:
    r"""Whether a file is the index that Wikimedia publishes beside a multistream dump.

    >>> is_dump_index(b"616:10:AccessibleComputing\n616:12:Anarchism\n")
    True
    """
    return re.match(rb"(?:\d+:\d+:[^\n]+\n){1,3}", head) is not None


def _ending(path: str) -> str:
    """The ending of a file's name, whether the file is compressed or not.

    >>> _ending("gs://bucket/rows.TSV.gz")
    'tsv'
    """
    return unpacked_name(path).rpartition(".")[2]


def unpacked_name(path: str) -> str:
    """A file's name in lower case, without the ending that compressing it added.

    >>> unpacked_name("gs://bucket/Rows.TSV.gz")
    'rows.tsv'
    """
    name = path.lower().rpartition("/")[2]
    for packed in _PACKED_NAMES:
        name = name.removesuffix(packed)
    return name


def _whole_lines(head: bytes) -> tuple[list[str], bool]:
    """The lines of a head, and whether they are the whole file."""
    is_whole = len(head) < HEAD_BYTES
    # The last line is broken where the head ends, unless the file ends there.
    end = len(head) if is_whole else head.rfind(b"\n") + 1
    blocks: Iterable[bytes] = [head[: end or len(head)]]
    return list(read_lines(blocks)), is_whole
