"""The formats of raw text, in one table, and a file whose format is known.

A new format is a name in `Format`, an entry in `FORMAT_TABLE`, a case in
`pipeline.reading.content` and a reader in `pipeline.reading.read`.
"""

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from pipeline.storage import files
from schemas.layout import EVAL

if TYPE_CHECKING:
    from pipeline.reading.tables import Quoting

LanguageSource = Literal["flag", "file", "records", "default"]

Kind = Literal["wikipedia", "books", "text"]
Format = Literal[
    "mediawiki",
    "wikiextractor",
    "jsonl",
    "jsonl-sentences",
    "parquet",
    "parquet-sentences",
    "csv",
    "wet",
    "book",
    "prose",
    "paragraphs",
    "sentences",
    "bookcorpus",
    "numbered",
    "lines",
    "marked",
    "subtitles",
]

KINDS: tuple[Kind, ...] = get_args(Kind)
_NOT_WIKIPEDIA: tuple[Kind, ...] = ("books", "text")


class FormatEntry(NamedTuple):
    """What a format is, in words for a person.

    Attributes:
        recognised: By what a file of it is known; "not" if it has to be named.
        document: What is one document, as are the following a paragraph and a line.
    """

    meaning: str
    recognised: str
    document: str
    paragraph: str
    line: str
    kinds: tuple[Kind, ...]
    has_sentences: bool = False


_ROW_PARAGRAPH = "ends with a line feed; with a blank line where lines are wrapped"
_MADE_UP = "made up, of about 500 sentences"

FORMAT_TABLE: dict[Format, FormatEntry] = {
    "mediawiki": FormatEntry(
        "MediaWiki dump, one document a page, markup removed, segmented",
        "`<mediawiki` or `<page>`",
        "a page",
        "as the wiki shows it",
        "markup",
        ("wikipedia",),
    ),
    "wikiextractor": FormatEntry(
        "wikiextractor output, one document a <doc>, title left out, segmented",
        "`<doc `",
        "a `<doc>`",
        "a line",
        "a paragraph",
        ("wikipedia",),
    ),
    "jsonl": FormatEntry(
        "JSON lines, one document a line, segmented",
        '`{"`',
        "a line",
        _ROW_PARAGRAPH,
        "a record",
        KINDS,
    ),
    "jsonl-sentences": FormatEntry(
        "JSON lines, one sentence a line, documents made up of about 500 sentences",
        "`--books` with short texts in its records",
        _MADE_UP,
        "a record",
        "a record",
        _NOT_WIKIPEDIA,
        has_sentences=True,
    ),
    "parquet": FormatEntry(
        "parquet or Arrow, one document a row, segmented",
        "`PAR1`, `ARROW1` (Feather), or how `save_to_disk` begins",
        "a row",
        _ROW_PARAGRAPH,
        "none",
        KINDS,
    ),
    "parquet-sentences": FormatEntry(
        "parquet or Arrow, one sentence a row, documents made up of about 500 of them",
        "`--books` with short texts in its rows",
        _MADE_UP,
        "a row",
        "none",
        _NOT_WIKIPEDIA,
        has_sentences=True,
    ),
    "csv": FormatEntry(
        "CSV or TSV, one document a row, segmented",
        "the name: .csv or .tsv",
        "a row",
        _ROW_PARAGRAPH,
        "a row, unless quoted cells have line feeds",
        KINDS,
    ),
    "wet": FormatEntry(
        "WET (WARC), one document a page, a paragraph a line, segmented",
        "`WARC/`, and no pages as they were sent",
        "a record of type conversion",
        "a line",
        "a paragraph",
        ("text",),
    ),
    "book": FormatEntry(
        "book, one document a file, segmented",
        "`--books` with any other text",
        "a file",
        "ends with a blank line, or with its line where lines are wide",
        "a part of a paragraph",
        ("books",),
    ),
    "prose": FormatEntry(
        "running prose, one document a file, a blank line ends a paragraph, segmented",
        "any other text",
        "a file",
        "ends with a blank line, or with its line where lines are wide",
        "a part of a paragraph",
        ("text",),
    ),
    "paragraphs": FormatEntry(
        "one paragraph a line, a blank line between documents, segmented",
        "blocks of lines that no sentence crosses",
        "a block between blank lines",
        "a line",
        "a paragraph",
        _NOT_WIKIPEDIA,
    ),
    "sentences": FormatEntry(
        "one sentence a line, a blank line between documents",
        "blocks of lines that each end a sentence",
        "a block between blank lines",
        "a line",
        "a sentence",
        _NOT_WIKIPEDIA,
        has_sentences=True,
    ),
    "bookcorpus": FormatEntry(
        "one sentence a line without document boundaries, documents made up of about "
        "500 sentences",
        "many sentences a line without a blank line",
        _MADE_UP,
        "a line",
        "a sentence",
        _NOT_WIKIPEDIA,
        has_sentences=True,
    ),
    "numbered": FormatEntry(
        "one numbered sentence a line in no order (Leipzig), documents made up of "
        "about 500 sentences; give --sentence-task none",
        "a number and a tab before each line",
        _MADE_UP,
        "a line",
        "a number and a sentence",
        _NOT_WIKIPEDIA,
        has_sentences=True,
    ),
    "lines": FormatEntry(
        "one document a line, segmented",
        "`--input-format` alone",
        "a line",
        "a line",
        "a document",
        _NOT_WIKIPEDIA,
    ),
    "marked": FormatEntry(
        "running prose, a line <|endoftext|>, </s> or ---- between documents, "
        "segmented",
        "a line `<|endoftext|>` or `</s>`",
        "what stands between such lines",
        "ends with a blank line",
        "a part of a paragraph",
        _NOT_WIKIPEDIA,
    ),
    "subtitles": FormatEntry(
        "subtitles (SubRip, WebVTT), one document a file, segmented",
        "`WEBVTT`, or a number and times with `-->`",
        "a file",
        "what one speaker says up to the end of a sentence",
        "a part of a paragraph",
        _NOT_WIKIPEDIA,
    ),
}

# What the command line offers and prints.
FORMATS: tuple[Format, ...] = get_args(Format)
MEANINGS: dict[Format, str] = {
    name: entry.meaning for name, entry in FORMAT_TABLE.items()
}
FORMATS_OF: dict[Kind, tuple[Format, ...]] = {
    kind: tuple(name for name, entry in FORMAT_TABLE.items() if kind in entry.kinds)
    for kind in KINDS
}

SENTENCE_FORMATS = frozenset(
    name for name, entry in FORMAT_TABLE.items() if entry.has_sentences
)
# Formats with records that have fields, among them perhaps the language.
_WITH_FIELDS: frozenset[Format] = frozenset({"jsonl", "parquet", "csv"})


def format_page() -> str:
    """The table of formats for the documents, in Markdown."""
    rows = [
        (f"`{name}`", *entry[1:5], ", ".join(f"`--{kind}`" for kind in entry.kinds))
        for name, entry in FORMAT_TABLE.items()
    ]
    head = ("format", "recognised by", "a document", "a paragraph", "a line", "flags")
    lines = [head, ("---",) * len(head), *rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    # A bar inside a cell would divide it.
    return table.replace("<|", "<\\|").replace("|>", "\\|>")


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
        if self.language_from == "flag" and self.format in _WITH_FIELDS:
            described["language_from"] = "flag"
        if self.quoting != "doubled":
            described["quoting"] = self.quoting
        if self.is_held_out:
            described["split"] = EVAL
        return described
