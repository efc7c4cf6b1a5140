"""The formats of raw text, and a file whose format is known.

A new format is a name in `Format`, its meaning and its flags here, a case in
`pipeline.reading.content`, a reader in `pipeline.reading.read` and a row of the table
in `docs/data_format.md`.
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

# What the command line offers and prints.
FORMATS: tuple[Format, ...] = get_args(Format)
MEANINGS: dict[Format, str] = {
    "mediawiki": "MediaWiki dump, one document a page, markup removed, segmented",
    "wikiextractor": ("wikiextractor output, one document a <doc>, title left out, segmented"),
    "jsonl": "JSON lines, one document a line, segmented",
    "jsonl-sentences": (
        "JSON lines, one sentence a line, documents made up of about 500 sentences"
    ),
    "parquet": "parquet or Arrow, one document a row, segmented",
    "parquet-sentences": (
        "parquet or Arrow, one sentence a row, documents made up of about 500 of them"
    ),
    "csv": "CSV or TSV, one document a row, segmented",
    "wet": "WET (WARC), one document a page, a paragraph a line, segmented",
    "book": "book, one document a file, segmented",
    "prose": ("running prose, one document a file, a blank line ends a paragraph, segmented"),
    "paragraphs": "one paragraph a line, a blank line between documents, segmented",
    "sentences": "one sentence a line, a blank line between documents",
    "bookcorpus": (
        "one sentence a line without document boundaries, documents made up of about 500 sentences"
    ),
    "numbered": (
        "one numbered sentence a line in no order (Leipzig), documents made up of "
        "about 500 sentences; give make-data --sentence-task none"
    ),
    "lines": "one document a line, segmented",
    "marked": ("running prose, a line <|endoftext|>, </s> or ---- between documents, segmented"),
    "subtitles": "subtitles (SubRip, WebVTT), one document a file, segmented",
}

# What only --wikipedia takes.
_OF_WIKIPEDIA: tuple[Format, ...] = ("mediawiki", "wikiextractor")
FORMATS_OF: dict[Kind, tuple[Format, ...]] = {
    "wikipedia": (*_OF_WIKIPEDIA, "jsonl", "parquet", "csv"),
    "books": tuple(f for f in FORMATS if f not in (*_OF_WIKIPEDIA, "wet", "prose")),
    "text": tuple(f for f in FORMATS if f not in (*_OF_WIKIPEDIA, "book")),
}

SENTENCE_FORMATS: frozenset[Format] = frozenset(
    ("jsonl-sentences", "parquet-sentences", "sentences", "bookcorpus", "numbered")
)
# Formats with records that have fields, among them perhaps the language.
_WITH_FIELDS: frozenset[Format] = frozenset({"jsonl", "parquet", "csv"})


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
