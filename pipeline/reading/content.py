"""The format of a file by the first of its bytes, or why it holds no text we read."""

import re
from contextlib import closing

from pipeline.core.documents import ReadingCounts
from pipeline.reading.formats import FORMATS_OF, Format, Kind
from pipeline.reading.marked_text import CUE_TIMES
from pipeline.reading.plain_text import has_marker, is_title, recognise_text
from pipeline.reading.refusals import (
    MARKUP_NAMES,
    PAGE,
    PANDOC,
    SHOWN_LINES,
    WARC,
    UnusableFile,
    as_it_stands,
    refuse_escaped,
    refuse_marked_lines,
    refuse_other_encoding,
    refuse_other_markup,
    without_lead,
)
from pipeline.storage.lines import MAX_RECORD_BYTES, decode, is_binary, read_blocks, read_lines

# How subtitles begin.
_CUE = re.compile(rf"\s*(?:WEBVTT\b|(?:\d+[^\S\n]*\n)?{CUE_TIMES})")
# Where Project Gutenberg names itself in its books.
_GUTENBERG_HEAD = 2000
# The index that Wikimedia publishes beside a multistream dump. Its first numbers are
# places after the description of the wiki, which have three digits or more.
_DUMP_INDEX = re.compile(rb"(?:\d{3,}:\d+:(?!\d\d?[.,]\d)[^\n]+\n){1,3}")
_NUMBERED = re.compile(r"\d+\t[^\t]+")
_TABLE_NAMES = ("csv", "tsv")
_TOKENIZED_ENDS = (" .", " ?", " !", " ''", " ...", ' "')
# A format is recognised by this much of a file, decompressed.
HEAD_BYTES = 1 << 16
_FILES_INSIDE = "give the text files inside it"
_COLUMN_NAMES = re.compile(
    rb"(?=.*\b(?:text|content|body|sentence|label|title|id)\b)"
    rb'"?\w+"?([,;|])(?:"?\w+"?\1)*"?\w+"?',
    re.IGNORECASE,
)
# How a file begins, what it is then, and what to do about it. What is packed as a zip
# archive tells by the name of its first file.
_BINARIES = (
    (rb"PK\x03\x04.{26}mimetypeapplication/epub", "an EPUB book", PANDOC),
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd", "an OpenDocument file", PANDOC),
    (rb"PK\x03\x04.*PK\x03\x04.{26}xl/", "an Excel workbook", "save it as CSV"),
    (rb"PK\x03\x04.{26}(?:\[Content_Types\]|_rels/|word/)", "a docx file", PANDOC),
    (rb"PK\x03\x04", "a zip archive", _FILES_INSIDE),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _FILES_INSIDE),
    (rb"Rar!", "a rar archive", _FILES_INSIDE),
    (rb".{257}ustar", "a tar archive", "unpack it and give the folder"),
    (rb"\s*%PDF-", "a PDF", "give its text, for example as pdftotext writes it"),
    (rb"\xd0\xcf\x11\xe0", "an old Office file", "save it as plain text"),
    (rb"\{\\rtf", "an RTF file", PANDOC),
    (rb"Obj\x01", "an Avro file", "write it as parquet or JSON lines"),
    (rb"ORC", "an ORC file", "write it as parquet or JSON lines"),
    (rb"\x89HDF", "an HDF5 file", "write its texts as JSON lines"),
    (rb"\x93NUMPY", "an array of NumPy", "write its texts as JSON lines"),
    (rb"\x80[\x02-\x05]", "a pickle", "write its texts as JSON lines"),
    (rb"BOOKMOBI|.{60}BOOKMOBI", "a Mobipocket book", PANDOC),
    (rb"FEA1", "a Feather file of version 1", "write it as parquet"),
    (rb"GGUF|.{7}\0\{\"", "the weights of a model", "give text"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8|II\*\0|MM\0\*|AT&TFORM", "a picture", "give its text"),
    (rb"ID3|OggS|fLaC|RIFF|.{4}ftyp|\x1aE\xdf\xa3", "sound or a film", "give its text"),
    (rb"\x04\x22\x4d\x18", "packed with lz4", "pack it with gz, bz2, xz or zst"),
    (rb"\x1f\x9d|LZIP", "packed with an old program", "pack it with gz or xz"),
    (rb"\x7fELF|\xfe\xed\xfa|\xcf\xfa\xed\xfe", "a program", "give text"),
    (rb"SQLite format 3", "an SQLite database", "write its texts as JSON lines"),
)
# Text that was damaged has fewer zero bytes, or a smaller share of them.
_FEW_ZEROS, _MOST_ZEROS = 64, 0.02
# A tag, or nothing, in the last column of a table of tokens that spaces divide.
_TAG = re.compile(rb"O|_|[BIESL]-[\w-]+|[A-Z]{2,5}\$?|[.,:]")
_PACKED_NAMES = (".gz", ".bz2", ".xz", ".zst")


class DumpIndex(UnusableFile):
    """The index beside a multistream dump, which is never needed."""


def refuse_binary(head: bytes, *, path: str) -> None:
    """Refuse what is not text; the sentence names what it is and what to do."""
    for start, name, advice in _BINARIES:
        if re.match(start, head, re.DOTALL):
            raise UnusableFile(f"{path} is {name}; {advice}.")
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
    of_columns = sum(b"\t" in line for line in lines)
    tagged = sum(
        line.count(b" ") == lines[0].count(b" ") > 0
        and _TAG.fullmatch(line.rpartition(b" ")[2]) is not None
        for line in lines
    )
    most = 0.9 * len(lines)
    if len(lines) < 3 or max(of_columns, tagged) < most:
        return
    # A token has no space in it.
    tokens = sum(b" " not in line.split(b"\t")[0] for line in lines)
    name = "a token" if tagged > most or tokens > most else "several columns"
    divided = "spaces" if tagged > most else "tabs"
    raise UnusableFile(
        f"{path} has {name} in each line, between {divided}; give its text, name a "
        f"table with a header .tsv, or {as_it_stands(kind)}."
    )


def unpacked_name(path: str) -> str:
    """A file's name in lower case, without the ending that compressing it added.

    >>> unpacked_name("gs://bucket/Rows.TSV.gz")
    'rows.tsv'
    """
    name = path.lower().rpartition("/")[2]
    for packed in _PACKED_NAMES:
        name = name.removesuffix(packed)
    return name


def recognise(kind: Kind, head: bytes, *, path: str) -> Format:
    """The format of a file by the first of its bytes.

    The caller decides whether rows of JSON or parquet are sentences.
    """
    refuse_other_markup(kind, head, path=path)
    found = _recognise_markup(head)
    if found in FORMATS_OF[kind]:
        return found
    if found:
        called = "a MediaWiki dump" if found == "mediawiki" else f"{found} output"
        raise UnusableFile(f"--{kind}: {path} is {called}; give it with --wikipedia.")
    if _DUMP_INDEX.match(head):
        raise DumpIndex(
            f"--{kind}: {path} is the index of a dump and not needed; give the "
            f".xml.bz2 file beside it."
        )
    ending = unpacked_name(path).rpartition(".")[2]
    if ending in _TABLE_NAMES:
        return "csv"
    if kind == "wikipedia":
        raise UnusableFile(
            f"--wikipedia: {path} is neither a MediaWiki dump nor wikiextractor "
            f"output, JSON lines, parquet or CSV; give plain text with --text."
        )
    if ending in MARKUP_NAMES:
        raise UnusableFile(
            f"{path} is named like {MARKUP_NAMES[ending]}; {PANDOC}, or {as_it_stands(kind)}."
        )
    return _recognise_plain(kind, head, path=path)


def is_numbered(lines: list[str]) -> bool:
    r"""Whether each line has a number, a tab and a sentence, as Leipzig's files.

    >>> is_numbered(["1\tHe came.", "2\tShe left."]), is_numbered(["1\ta\tb"] * 2)
    (True, False)
    """
    full = [line for line in lines if line.strip()]
    numbers = {line.partition("\t")[0] for line in full if _NUMBERED.fullmatch(line)}
    has_words = any(" " in line for line in full)
    return len(full) > 1 and len(numbers) == len(full) and has_words


def is_tokenized(lines: list[str]) -> bool:
    """Whether lines are lower-case sentences with spaces around their punctuation.

    >>> is_tokenized(["he came , late .", "`` why ? ''", "she left ."])
    True
    >>> is_tokenized(["He came, late."])
    False
    """
    lines = [line for line in lines if line]
    letters = sum(map(str.isalpha, "".join(lines)))
    capitals = sum(map(str.isupper, "".join(lines)))
    tokenized = sum(line.endswith(_TOKENIZED_ENDS) for line in lines)
    return letters > 0 and capitals <= 0.01 * letters and tokenized >= 0.6 * len(lines)


def _recognise_plain(kind: Kind, head: bytes, *, path: str) -> Format:
    is_whole = len(head) < HEAD_BYTES
    end = len(head) if is_whole else head.rfind(b"\n") + 1
    lines = list(read_lines([head[: end or len(head)]]))
    if is_numbered(decode(head).split("\n")[: len(lines)]):
        return "numbered"
    refuse_columns(kind, head, path=path)
    # The last line may be cut, unless the file ends there.
    first_line = next(filter(bytes.strip, head.split(b"\n")), b"")
    if has_marker(head[: end or len(head)]) or is_title(first_line):
        return "marked"
    if _CUE.match("\n".join(lines[:10])):
        return "subtitles"
    refuse_marked_lines(kind, lines, path=path)
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


def is_columnar(head: bytes) -> bool:
    r"""Whether a file is parquet, or Arrow as a file (Feather) or a stream.

    >>> is_columnar(b"PAR1"), is_columnar(b"\xff\xff\xff\xff\x10\x01\0\0\x10\0\0\0")
    (True, True)
    """
    is_stream = head.startswith(b"\xff\xff\xff\xff") and head[6:8] == b"\0\0"
    return is_stream or head.startswith((b"PAR1", b"ARROW1\0\0"))


def read_head(path: str) -> bytes:
    """The first `HEAD_BYTES` of a file, decompressed; the first line of JSON whole."""
    counts, head, end = ReadingCounts(), b"", HEAD_BYTES
    with closing(read_blocks(path, counts=counts, block_bytes=HEAD_BYTES)) as blocks:
        for block in blocks:
            head += block
            if len(head) < HEAD_BYTES:
                continue
            start = len(head) - len(without_lead(head))
            is_json = head.startswith(b"{", start)
            line_end = head.find(b"\n", start) + 1 if is_json else HEAD_BYTES
            end = max(HEAD_BYTES, line_end or len(head))
            if line_end or len(head) >= MAX_RECORD_BYTES:
                break
    if not head:
        what = "damaged; copy it again" if counts.dropped else "empty"
        raise UnusableFile(f"{path} is {what}.")
    return head[:end]
