"""The formats of raw text: their names, what they imply, how they are recognised.

A new format is a line in `FORMATS`, a case in `recognise` and a reader in
`pipeline.readers`.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from pipeline.bookcorpus import is_tokenized
from pipeline.lines import is_binary, read_lines, refuse_utf16
from pipeline.plain_text import recognise_text
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
]

KINDS: tuple[Kind, ...] = get_args(Kind)

# A format is recognised by so much of a file, decompressed.
HEAD_BYTES = 1 << 16


class _About(NamedTuple):
    """What a format implies, as it is printed, and the inputs it may be forced for."""

    meaning: str
    kinds: tuple[Kind, ...]


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
    ),
    "parquet": _About("parquet, one document a row, segmented", KINDS),
    "parquet-sentences": _About(
        "parquet, one sentence a row, documents made up of about 500 sentences",
        ("books", "text"),
    ),
    "book": _About("book, one document a file, segmented", ("books",)),
    "prose": _About(
        "running prose, one document a file, a blank line ends a paragraph, segmented",
        ("text",),
    ),
    "sentences": _About(
        "one sentence a line, a blank line between documents", ("books", "text")
    ),
    "bookcorpus": _About(
        "one sentence a line without document boundaries, documents made up of about "
        "500 sentences",
        ("books", "text"),
    ),
}

# What the command line offers and prints.
FORMATS: tuple[Format, ...] = get_args(Format)
MEANINGS: dict[Format, str] = {name: about.meaning for name, about in _ABOUT.items()}
FORMATS_OF: dict[Kind, tuple[Format, ...]] = {
    kind: tuple(name for name, about in _ABOUT.items() if kind in about.kinds)
    for kind in KINDS
}

_PAGE = re.compile(rb"<page[\s>]")
_HTML = re.compile(
    rb"(?:<\?xml[^<>]*+>\s*+)?<(?:!doctype\s++html|html)\b", re.IGNORECASE
)
_JSON_ARRAY = re.compile(rb"\[\s*+\{\s*+\"")
# What other markup begins with is within so many bytes.
_MARKUP_BYTES = 1000
_WIKI_URL = re.compile(rb"https?://([a-z][a-z-]*)(?:\.m)?\.wiki(?:pedia|source|news)\.")
_ARCHIVES = (
    (b"PK\x03\x04", "zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive"),
    (b"Rar!", "rar archive"),
    (b"%PDF-", "PDF"),
    (b"SQLite format 3", "SQLite database"),
)


class UnusableFile(AlbertError):
    """A file that holds no text we can read; in a folder it is passed over."""


class DumpIndex(UnusableFile):
    """The index that Wikimedia publishes beside a multistream dump; never needed."""


def refuse_binary(head: bytes, *, path: str) -> None:
    """Refuse what is no text.

    Raises:
        UnusableFile: Names what it is and what to do.
        AlbertError: It is UTF-16.
    """
    for magic, name in _ARCHIVES:
        if head.startswith(magic):
            raise UnusableFile(f"{path} is a {name}; give the text files inside it.")
    if head[257:262] == b"ustar":
        raise UnusableFile(f"{path} is a tar archive; unpack it and give the folder.")
    refuse_utf16(head, path=path)
    if is_binary(head):
        raise UnusableFile(f"{path} is no text: it is full of control characters.")


def recognise(kind: Kind, head: bytes, *, path: str) -> Format:
    """The format of a file by the first of its bytes.

    Whether rows of JSON or parquet are sentences is for the caller to see.

    Args:
        kind: The flag it was given with.
        head: At most `HEAD_BYTES`, decompressed.
        path: To name in an error.

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
    if kind == "wikipedia":
        raise UnusableFile(
            f"--wikipedia: {path} is none of MediaWiki dump, wikiextractor output, "
            f"JSON lines and parquet; give plain text with --text."
        )
    lines, is_whole = _whole_lines(head)
    if kind == "books":
        is_endless = not is_whole and "" not in lines
        return "bookcorpus" if is_endless and is_tokenized(lines) else "book"
    return recognise_text(lines, is_whole=is_whole)


def _refuse_other_markup(head: bytes, *, path: str) -> None:
    """Refuse what would be read as text with its markup.

    Raises:
        UnusableFile: Names what it is and what to do.
    """
    start = head[:_MARKUP_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    if _HTML.match(start):
        raise UnusableFile(f"{path} is HTML; give the text in it without tags.")
    if _JSON_ARRAY.match(start):
        raise UnusableFile(
            f"{path} is a JSON array; write one object a line, "
            f"for example with jq -c '.[]'."
        )


def _recognise_markup(head: bytes) -> Format | None:
    """A format that cannot be mistaken for text."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"<doc "):
        return "wikiextractor"
    if start.startswith(b"<") and (b"<mediawiki" in start or _PAGE.search(start)):
        return "mediawiki"
    if start.startswith(b'{"') or re.match(rb'\{\s*"', start):
        return "jsonl"
    return None


def _article(found: Format) -> str:
    return {"mediawiki": "a MediaWiki dump"}.get(found, f"{found} output")


def is_dump_index(head: bytes) -> bool:
    r"""Whether a file is the index that Wikimedia publishes beside a multistream dump.

    >>> is_dump_index(b"616:10:AccessibleComputing\n616:12:Anarchism\n")
    True
    """
    return re.match(rb"(?:\d+:\d+:[^\n]+\n){1,3}", head) is not None


def language_of(head: bytes) -> str:
    """The language in the address of the first article, empty if there is none.

    >>> language_of(b'{"url": "https://uk.wikipedia.org/wiki/7"}')
    'uk'
    """
    found = _WIKI_URL.search(head)
    return found[1].decode() if found else ""


def _whole_lines(head: bytes) -> tuple[list[str], bool]:
    """The lines of a head, and whether they are the whole file."""
    is_whole = len(head) < HEAD_BYTES
    # The last line is broken where the head ends, unless the file ends there.
    end = len(head) if is_whole else head.rfind(b"\n") + 1
    blocks: Iterable[bytes] = [head[: end or len(head)]]
    return list(read_lines(blocks, counts=Counter())), is_whole
