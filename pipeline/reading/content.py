"""The format of a file by the first of its bytes, or why it holds no text we read."""

import re

from pipeline.reading.formats import FORMATS, Kind, begins_as, loaded
from pipeline.reading.head import HEAD_BYTES, Head, UnusableFile
from pipeline.reading.marked_text import is_tokenized
from pipeline.reading.plain_text import has_marker, recognise_text, split_at_markers
from pipeline.reading.refusals import (
    SHOWN_LINES,
    as_it_stands,
    refuse_escaped,
    refuse_lines,
    refuse_named,
    refuse_other_encoding,
)
from pipeline.storage.lines import is_binary

# Where Project Gutenberg names itself in its books.
_GUTENBERG_HEAD = 2000
# The index that Wikimedia publishes beside a multistream dump. Its first numbers are
# places after the description of the wiki, which have three digits or more.
_DUMP_INDEX = re.compile(rb"(?:\d{3,}:\d+:(?!\d\d?[.,]\d)[^\n]+\n){1,3}")
# No comma of a sentence has a letter right after it.
_COLUMN_NAMES = re.compile(
    rb'(?i)"?(?:[a-z_][\w #/().-]*)?"?([,;])(?:"?[a-z_][\w #/().-]*"?\1)*"?[a-z_]'
    rb'(?:[\w #/().-]*[\w#)])?"?'
)
# Text that was damaged has fewer zero bytes, or a smaller share of them.
_FEW_ZEROS, _MOST_ZEROS = 64, 0.02
# A tag, or nothing, in the last column of a table of tokens that spaces divide.
_TAG = re.compile(rb"O|_|[BIESL]-[\w-]+|[A-Z]{2,5}\$?|[.,:]")
# The mark of an item, or of who speaks, before a tab is part of the text.
_ITEM = re.compile(
    rb"(?:\(?\w{1,4}[.)]|\d{1,3}(?:\.\d{1,3})+\.?|(?:\xc2\xa7)+ ?\d+\w?"
    rb"|[-*\xe2\x80\xa2\xc2\xb7]+|[\w. -]{1,30}:)\t[^\t]*"
)
# Most signs show within this many bytes; more of a hostile line would take time without end.
_START_BYTES = 1000
# A token has less than this, a sentence more.
_TOKEN_BYTES = 40


class DumpIndex(UnusableFile):
    """The index beside a multistream dump, which is never needed."""


def refuse_binary(head: bytes, *, path: str) -> None:
    """Refuse what is not text; the sentence names what it is and what to do."""
    refuse_named("bytes", head, path=path)
    refuse_escaped(head, path=path)
    zeros = head.count(0)
    if is_binary(head) or zeros > max(_FEW_ZEROS, _MOST_ZEROS * len(head)):
        raise UnusableFile(
            f"{path} is not text: it is full of control characters; give text, "
            "plain or packed with gz, bz2, xz or zst."
        )
    refuse_other_encoding(head[:HEAD_BYTES], path=path)


def refuse_columns(kind: Kind, head: bytes, *, path: str) -> None:
    """Refuse lines of columns: tokens with tags, tables not named as such."""
    lines = [line.strip() for line in head.split(b"\n")[:SHOWN_LINES] if line.strip()]
    if len(lines) > 2 and (names := _COLUMN_NAMES.fullmatch(lines[0])):
        number = lines[0].count(names[1])
        # The last line may be cut.
        rows = sum(line.count(names[1]) >= number for line in lines[1:-1])
        if rows >= 0.9 * (len(lines) - 2):
            raise UnusableFile(
                f"{path} has names of columns in its first line; name a table .csv, or "
                f"{as_it_stands(kind)}."
            )
    # Of a corpus of tokens these are comments and tags.
    lines = [line for line in lines if not line.startswith((b"#", b"<"))]
    most = 0.9 * len(lines)
    if len(lines) < 3 or sum(_ITEM.fullmatch(line) is not None for line in lines) >= most:
        return
    of_columns = sum(b"\t" in line for line in lines)
    tagged = sum(
        line.count(b" ") == lines[0].count(b" ") > 0
        and _TAG.fullmatch(line.rpartition(b" ")[2]) is not None
        for line in lines
    )
    if max(of_columns, tagged) < most:
        return
    # A token has no space in it, and what stands beside it is short.
    cells = [line.split(b"\t") for line in lines]
    tokens = sum(b" " not in row[0] and max(map(len, row)) < _TOKEN_BYTES for row in cells)
    name = "a token" if tagged > most or tokens > most else "several columns"
    divided = "spaces" if tagged > most else "tabs"
    numbers = " (without a header, --text-key takes a number)" if name != "a token" else ""
    raise UnusableFile(
        f"{path} has {name} in each line, between {divided}; give its text, name a table "
        f".tsv{numbers}, or {as_it_stands(kind)}."
    )


def unpacked_name(path: str) -> str:
    """A file's name in lower case, without the ending that compressing it added.

    >>> unpacked_name("gs://bucket/Rows.TSV.gz")
    'rows.tsv'
    """
    return re.sub(r"(?:\.(?:gz|bz2|xz|zst))+\Z", "", path.lower().rpartition("/")[2])


def recognise(kind: Kind, data: bytes, *, path: str) -> str:
    """The format of a file by the first of its bytes.

    The caller decides whether rows of JSON or parquet are sentences.
    """
    head = Head(kind, path, data)
    otherwise = "" if kind == "wikipedia" else f", or {as_it_stands(kind)}"
    refuse_named("first", head.start, path=path)
    refuse_named("start", head.start[:_START_BYTES], path=path, otherwise=otherwise)
    # A tag that is none of our formats, no marker of theirs, and not of looks alone: with
    # one of these also subtitles begin.
    if head.start.startswith(b"<") and not has_marker(data):
        refuse_named("element", head.start, path=path, otherwise=otherwise)
    if found := _format_told_by("bytes", head):
        row = FORMATS[found]
        if kind in row.kinds:
            return found
        # "a MediaWiki dump", "wikiextractor output"
        what = row.meaning.partition(",")[0]
        raise UnusableFile(
            f"--{kind}: {path} is {'a ' * what.endswith('dump')}{what}; give it with "
            f"--{' or --'.join(row.kinds)}."
        )
    if _DUMP_INDEX.match(data):
        raise DumpIndex(
            f"--{kind}: {path} is the index of a dump and not needed; give the "
            f".xml.bz2 file beside it."
        )
    if kind == "wikipedia":
        raise UnusableFile(
            f"--wikipedia: {path} is neither a MediaWiki dump nor wikiextractor "
            f"output, JSON lines, parquet or CSV; give plain text with --text."
        )
    ending = unpacked_name(path).rpartition(".")[2].encode("utf-8", "surrogateescape")
    refuse_named("name", ending, path=path, otherwise=otherwise)
    refuse_columns(kind, head.start, path=path)
    found = _format_told_by("text", head)
    if found in ("", "marked"):
        refuse_lines(kind, b"\n".join(split_at_markers(head.whole_lines)), path=path)
    if found:
        return found
    if kind == "text":
        return recognise_text(head.lines, is_whole=head.is_whole)
    is_endless = not head.is_whole and "" not in head.lines
    return "bookcorpus" if is_endless and is_tokenized(head.lines) else "book"


def _format_told_by(what: str, head: Head) -> str:
    """The first format with such a sign that a file has; empty for none."""
    for name, row in FORMATS.items():
        is_told = row.told_by == what and (what == "bytes" or head.kind in row.kinds)
        if is_told and (begins_as(name, head.data) or (row.sign and loaded(row.sign)(head))):
            return name
    return ""


def likely_kind(data: bytes) -> Kind:
    """What a file is where no flag says it, by the first of its bytes."""
    found = _format_told_by("bytes", Head("text", "", data))
    if found and FORMATS[found].kinds == ["wikipedia"]:
        return "wikipedia"
    is_of_gutenberg = b"project gutenberg" in data[:_GUTENBERG_HEAD].lower()
    return "books" if is_of_gutenberg else "text"
