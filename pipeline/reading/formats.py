"""The formats of raw text: a row for each, and a file whose format is known.

A new format is a row of `FORMATS` and a file with its reader. The help of the commands,
the table in `docs/data_format.md` and the recognition of files follow from the rows.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from pipeline.storage import files
from schemas.layout import EVAL

if TYPE_CHECKING:
    from pipeline.reading.tables import Quoting

LanguageSource = Literal["flag", "file", "records", "default"]

Kind = Literal["wikipedia", "books", "text"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Format(NamedTuple):
    """A format of raw text. Functions are named by module and name, loaded where used.

    Attributes:
        meaning: What a document in it is, for a person.
        known_by: How it is recognised, for a person.
        kinds: The flags that take it.
        reader: Its documents, from what `reads` says: the bytes in blocks, the lines
            with single spaces, the lines as they are, or the part of a file with its
            blocks.
        sign: Whether the first of a file (`content.Head`) is of this format. The first
            row whose sign says so is taken.
        told_by: What the sign looks at: bytes that cannot be mistaken for text, a text
            that columns are refused of, or lines that all other marks are refused of.
        inspect: Completes a file of it by what its head says.
        starts: Whether a document begins with a line (and the key of its text, of rows);
            with it, a file is read from anywhere.
        is_segmented: Whether its lines or rows are sentences.
        has_fields: Whether its records have fields, among them perhaps the language.
    """

    meaning: str
    known_by: str
    kinds: tuple[Kind, ...]
    reader: str
    reads: Literal["blocks", "lines", "raw lines", "part"] = "part"
    sign: str = ""
    told_by: Literal["bytes", "text", "lines", ""] = ""
    inspect: str = ""
    starts: str = ""
    is_segmented: bool = False
    has_fields: bool = False


_ALL: tuple[Kind, ...] = KINDS
_PLAIN: tuple[Kind, ...] = ("books", "text")

FORMATS: dict[str, Format] = {
    "mediawiki": Format(
        "MediaWiki dump, one document a page, markup removed, segmented",
        "`<mediawiki` or `<page>`",
        ("wikipedia",),
        "articles:read_dump",
        sign="articles:is_dump",
        told_by="bytes",
        inspect="articles:inspect_dump",
        starts="articles:starts_page",
    ),
    "wikiextractor": Format(
        "wikiextractor output, one document a <doc>, title left out, segmented",
        "`<doc `",
        ("wikipedia",),
        "articles:read_extracted",
        sign="articles:is_extracted",
        told_by="bytes",
        inspect="articles:inspect_extracted",
        starts="articles:starts_article",
    ),
    "jsonl": Format(
        "JSON lines, one document a line, segmented",
        '`{"`',
        _ALL,
        "text_rows:read_jsonl",
        sign="text_rows:is_jsonl",
        told_by="bytes",
        inspect="text_rows:inspect_jsonl",
        starts="text_rows:starts_record",
        has_fields=True,
    ),
    "jsonl-sentences": Format(
        "JSON lines, one sentence a line, documents made up of about 500 sentences",
        "`--books` with short texts in its records",
        _PLAIN,
        "text_rows:read_jsonl",
        inspect="text_rows:inspect_jsonl",
        starts="text_rows:starts_sentence_record",
        is_segmented=True,
    ),
    "parquet": Format(
        "parquet or Arrow, one document a row, segmented",
        "`PAR1`, `ARROW1` (Feather), or how `save_to_disk` begins",
        _ALL,
        "text_rows:read_parquet",
        sign="text_rows:is_parquet",
        told_by="bytes",
        inspect="text_rows:inspect_parquet",
        has_fields=True,
    ),
    "parquet-sentences": Format(
        "parquet or Arrow, one sentence a row, documents made up of about 500 of them",
        "`--books` with short texts in its rows",
        _PLAIN,
        "text_rows:read_parquet",
        inspect="text_rows:inspect_parquet",
        is_segmented=True,
    ),
    "csv": Format(
        "CSV or TSV, one document a row, segmented",
        "the name: .csv or .tsv",
        _ALL,
        "text_rows:read_table",
        sign="text_rows:is_table",
        told_by="bytes",
        inspect="text_rows:inspect_csv",
        has_fields=True,
    ),
    "wet": Format(
        "WET (WARC), one document a page, a paragraph a line, segmented",
        "`WARC/`, and no pages as they were sent",
        ("text",),
        "marked_text:read_wet",
        "raw lines",
        sign="marked_text:is_wet",
        told_by="bytes",
        starts="marked_text:starts_page",
    ),
    "numbered": Format(
        "one numbered sentence a line in no order (Leipzig), documents made up of "
        "about 500 sentences; give make-data --sentence-task none",
        "a number and a tab before each line",
        _PLAIN,
        "marked_text:read_numbered",
        "raw lines",
        sign="marked_text:is_numbered",
        told_by="bytes",
        starts="marked_text:starts_numbered_document",
        is_segmented=True,
    ),
    "marked": Format(
        "running prose, a line <|endoftext|>, </s> or ---- between documents, segmented",
        "a line `<|endoftext|>`, `</s>`, `[SEP]` or the like, the first of these in a "
        "line, or a title of WikiText or BabyLM",
        _PLAIN,
        "marked_text:read_marked",
        "blocks",
        sign="plain_text:is_marked",
        told_by="text",
        starts="plain_text:is_short_marker",
    ),
    "aozora": Format(
        "Aozora Bunko, one document a file, without readings and notes, segmented",
        "readings such as `《やまみち》` and notes `［＃`",
        _PLAIN,
        "aozora:read_aozora",
        "blocks",
        sign="aozora:is_aozora",
        told_by="text",
    ),
    "subtitles": Format(
        "subtitles (SubRip, WebVTT), one document a file, segmented",
        "`WEBVTT`, or times with `-->`",
        _PLAIN,
        "marked_text:read_subtitles",
        "lines",
        sign="marked_text:is_subtitles",
        told_by="text",
    ),
    "bookcorpus": Format(
        "one sentence a line without document boundaries, documents made up of about 500 sentences",
        "many sentences a line without a blank line",
        _PLAIN,
        "marked_text:read_bookcorpus",
        "lines",
        sign="marked_text:is_bookcorpus",
        told_by="lines",
        starts="marked_text:starts_sentence_document",
        is_segmented=True,
    ),
    "sentences": Format(
        "one sentence a line, a blank line between documents",
        "blocks of lines that each end a sentence",
        _PLAIN,
        "plain_text:read_sentences",
        "lines",
        sign="plain_text:is_of_sentences",
        told_by="lines",
        starts="plain_text:is_between",
        is_segmented=True,
    ),
    "paragraphs": Format(
        "one paragraph a line, a blank line between documents, segmented",
        "blocks of lines that no sentence crosses",
        _PLAIN,
        "plain_text:read_paragraphs",
        "lines",
        sign="plain_text:is_of_paragraphs",
        told_by="lines",
        starts="plain_text:is_between",
    ),
    "book": Format(
        "book, one document a file, segmented",
        "`--books` with any other text",
        ("books",),
        "plain_text:read_book_part",
        sign="plain_text:is_any",
        told_by="lines",
    ),
    "prose": Format(
        "running prose, one document a file, a blank line ends a paragraph, segmented",
        "any other text; where nobody wrapped the lines of a block, each is a paragraph",
        ("text",),
        "plain_text:read_prose",
        "blocks",
        sign="plain_text:is_any",
        told_by="lines",
    ),
    "lines": Format(
        "one document a line, segmented",
        "`--input-format` alone",
        _PLAIN,
        "marked_text:read_line_documents",
        "blocks",
        starts="text_rows:starts_record",
    ),
}


@cache
def loaded(name: str) -> Callable[..., Any]:
    """The function that a row names, by its module in this room and its name."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"pipeline.reading.{module}"), function)
    return found


def formats_of(kind: Kind) -> list[str]:
    """The names of the formats that a flag takes."""
    return [name for name, row in FORMATS.items() if kind in row.kinds]


class InputFile(NamedTuple):
    """One file to read.

    Attributes:
        language: Of its sentences, an ISO code; of records that name one only if a
            person gave it.
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
    format: str
    language: str
    bytes: int
    text_bytes: int
    sha256: str
    text_key: str = ""
    is_divisible: bool = False
    group_bytes: tuple[int, ...] = ()
    document_starts: tuple[int, ...] = ()
    language_from: LanguageSource = "default"
    quoting: "Quoting" = "doubled"
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
        if self.language_from == "flag" and FORMATS[self.format].has_fields:
            described["language_from"] = "flag"
        if self.quoting != "doubled":
            described["quoting"] = self.quoting
        if self.is_held_out:
            described["split"] = EVAL
        return described


class FilePart(NamedTuple):
    """A part of a file.

    Attributes:
        file: The file, with `group_bytes` and `document_starts` cleared.
        start: Its first byte, or row group of a parquet file.
        end: The first one after it; None for the end of the file.
    """

    file: InputFile
    start: int
    end: int | None
    text_bytes: int
