"""The formats of raw text: a row for each, the first of a file, and a file whose format is known.

A new format is a row of `formats.json` and a file with its reader. The help of the commands,
the table in `docs/data_format.md` and the recognition of files follow from the rows.
"""

import json
import pkgutil
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from pipeline.core.documents import ReadingCounts
from pipeline.storage import files
from schemas.errors import AlbertError
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
        begins: An expression that the first of the bytes of such a file match; empty for any.
        sign: Whether the first of a file (`Head`) is of this format, where that is not
            all. The first row that says so is taken; what its lines are tells the forms of
            plain text.
        told_by: What these look at: bytes that cannot be mistaken for text, or a text
            that columns are refused of.
        inspect: Completes a file of it by what its head says.
        starts: Whether a document begins with a line (and the key of its text, of rows);
            with it, a file is read from anywhere.
        is_segmented: Whether its lines or rows are sentences.
        has_fields: Whether its records have fields, among them perhaps the language.
    """

    meaning: str
    known_by: str
    kinds: list[Kind]
    reader: str
    reads: Literal["blocks", "lines", "raw lines", "part"] = "part"
    begins: str = ""
    sign: str = ""
    told_by: Literal["bytes", "text", ""] = ""
    inspect: str = ""
    starts: str = ""
    is_segmented: bool = False
    has_fields: bool = False


FORMATS: dict[str, Format] = {
    name: Format(**row)
    for row in json.loads((resources.files("pipeline.reading") / "formats.json").read_text("utf-8"))
    for name in [row.pop("name")]
}


def begins_as(name: str, data: bytes) -> bool:
    r"""Whether a file may be of a format by its first bytes, and is where the row has no sign.

    >>> begins_as("parquet", b"PAR1"), begins_as("jsonl", b'\xef\xbb\xbf\n{ "id": 1}')
    (True, True)
    >>> begins_as("parquet", b"\xff\xff\xff\xff\x10\x01\0\0\x10\0\0\0")
    True
    """
    return re.match(FORMATS[name].begins.encode(), data, re.DOTALL) is not None


@cache
def loaded(name: str) -> Callable[..., Any]:
    """The function that a row names, by its module in this room and its name."""
    found: Callable[..., Any] = pkgutil.resolve_name(f"pipeline.reading.{name}")
    return found


def formats_of(kind: Kind) -> list[str]:
    """The names of the formats that a flag takes."""
    return [name for name, row in FORMATS.items() if kind in row.kinds]


# A format is recognised by this much of a file, decompressed.
HEAD_BYTES = 1 << 16


class UnusableFile(AlbertError):
    """A file that holds no text we can read; in a folder it is passed over."""


def without_lead(head: bytes) -> bytes:
    r"""The first bytes of a file without the mark and white space before its text.

    >>> without_lead(b"\xef\xbb\xbf\n <page>")
    b'<page>'
    """
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


@dataclass(frozen=True)
class Head:
    """The first of a file, by which its format is known."""

    kind: Kind
    path: str
    data: bytes

    @cached_property
    def start(self) -> bytes:
        """Its bytes without the mark and white space before its text."""
        return without_lead(self.data)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the file."""
        return len(self.data) < HEAD_BYTES

    @cached_property
    def whole_lines(self) -> bytes:
        """Its bytes without a last line that may be cut."""
        end = len(self.data) if self.is_whole else self.data.rfind(b"\n") + 1
        return self.data[: end or len(self.data)]

    @cached_property
    def lines(self) -> list[str]:
        """Its whole lines, with single spaces and none at their ends."""
        from pipeline.storage.lines import read_lines

        return list(read_lines([self.whole_lines]))


def read_head(path: str) -> bytes:
    """The first `HEAD_BYTES` of a file, decompressed; the first line of JSON whole."""
    # Commands that read no text know the formats, and do without what unpacks them.
    from pipeline.storage.lines import MAX_RECORD_BYTES, read_blocks

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


def unpacked_name(path: str) -> str:
    """A file's name in lower case, without the ending that compressing it added.

    >>> unpacked_name("gs://bucket/Rows.TSV.gz")
    'rows.tsv'
    """
    return re.sub(r"(?:\.(?:gz|bz2|xz|zst))+\Z", "", path.lower().rpartition("/")[2])


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
        # Records that name their language are read otherwise where a flag does.
        has_flag = self.language_from == "flag" and FORMATS[self.format].has_fields
        others = {
            "text_key": self.text_key,
            "language_from": "flag" * has_flag,
            "quoting": self.quoting.removeprefix("doubled"),
            "split": EVAL * self.is_held_out,
        }
        return described | {name: value for name, value in others.items() if value}


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
