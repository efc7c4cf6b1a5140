"""The files given on the command line: found, recognised and hashed."""

import glob
import hashlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, cast

from pipeline.compression import open_decompressed
from pipeline.lines import read_lines, refuse_utf16
from pipeline.mediawiki import read_siteinfo
from pipeline.plain_text import recognise_text
from schemas.errors import AlbertError, SettingError

Kind = Literal["wikipedia", "books", "text"]
Format = Literal["mediawiki", "book", "prose", "sentences"]

# What each format implies, for the line that is printed for each input.
MEANINGS: dict[Format, str] = {
    "mediawiki": "MediaWiki dump, one document a page, markup removed, segmented",
    "book": "book, one document a file, segmented",
    "prose": "running prose, one document a file, a blank line ends a paragraph, "
    "segmented",
    "sentences": "one sentence a line, a blank line between documents",
}

# Formats that may be forced for an input of each kind.
FORMATS_OF: dict[Kind, tuple[Format, ...]] = {
    "wikipedia": ("mediawiki",),
    "books": ("book",),
    "text": ("prose", "sentences"),
}

_HEAD_BYTES = 1 << 16
_DEFAULT_LANGUAGE = "en"
# Compressed text counts so many times its size where sizes are estimated.
_COMPRESSION_RATIO = 4


class InputFile(NamedTuple):
    """One file to read.

    Attributes:
        kind: The flag it was given with.
        path: Where it is.
        format: How it is read.
        language: Of its sentences, an ISO code.
        bytes: Its size.
        text_bytes: Its size when decompressed, estimated.
        sha256: Hash of the file.
    """

    kind: Kind
    path: str
    format: Format
    language: str
    bytes: int
    text_bytes: int
    sha256: str

    def describe(self) -> dict[str, str | int]:
        """What the manifest says of it: nothing that depends on the machine."""
        return {
            "name": Path(self.path).name,
            "kind": self.kind,
            "format": self.format,
            "language": self.language,
            "bytes": self.bytes,
            "sha256": self.sha256,
        }


def find_inputs(
    given: dict[Kind, tuple[str, ...]],
    *,
    language: str | None = None,
    input_format: Format | None = None,
) -> list[InputFile]:
    """All files behind the given paths, in an order that does not depend on theirs.

    Args:
        given: Files, folders and globs for each kind of input.
        language: Of all files; by default what a dump says of itself, and for the rest
            what all dumps agree on, else English.
        input_format: Forces how files of a kind that allows it are read.

    Raises:
        SettingError: A path is missing or matches nothing, or none was given.
        AlbertError: A file is empty, unreadable or of no known format.
    """
    if not any(given.values()):
        raise SettingError("Give at least one input: --wikipedia, --books or --text.")
    paths = {
        (kind, path)
        for kind, patterns in given.items()
        for pattern in patterns
        for path in expand(pattern, flag=f"--{kind}")
    }
    files = [
        inspect(kind, path, input_format=input_format) for kind, path in sorted(paths)
    ]
    of_dumps = {file.language for file in files if file.language}
    default = of_dumps.pop() if len(of_dumps) == 1 else _DEFAULT_LANGUAGE
    files = [
        file._replace(language=language or file.language or default) for file in files
    ]
    return sorted(files, key=lambda file: (file.kind, file.sha256, file.path))


def expand(pattern: str, *, flag: str) -> list[str]:
    """The files behind a file, folder or glob, hidden ones left out.

    Raises:
        SettingError: There is none.
    """
    path = Path(pattern)
    if path.is_dir():
        found = [
            str(p) for p in path.rglob("*") if p.is_file() and not _hidden(p, path)
        ]
        if not found:
            raise SettingError(f"{flag}: the folder {pattern} has no files.")
        return sorted(found)
    if path.exists():
        return [pattern]
    found = sorted(p for p in glob.glob(pattern, recursive=True) if Path(p).is_file())
    if not found:
        raise SettingError(f"{flag}: {pattern} does not exist.")
    return found


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def inspect(kind: Kind, path: str, *, input_format: Format | None) -> InputFile:
    """Recognise one file from its content; its language is empty if it names none.

    Raises:
        AlbertError: It is empty, unreadable or of no format that its kind allows.
    """
    size = Path(path).stat().st_size
    with open_decompressed(path) as stream:
        head = stream.read(_HEAD_BYTES) or b""
        if not head:
            what = f"is damaged: {stream.damage}" if stream.damage else "is empty"
            raise AlbertError(f"{path} {what}.")
        is_compressed = stream.is_compressed
    refuse_utf16(head, path=path)
    if input_format in FORMATS_OF[kind]:
        found: Format = input_format
    else:
        found = recognise(kind, head, path=path)
    return InputFile(
        kind=kind,
        path=path,
        format=found,
        language=_own_language(path) if found == "mediawiki" else "",
        bytes=size,
        text_bytes=size * (_COMPRESSION_RATIO if is_compressed else 1),
        sha256=hash_file(path),
    )


def recognise(kind: Kind, head: bytes, *, path: str) -> Format:
    """The format of a file of this kind that begins with these bytes.

    Raises:
        AlbertError: A Wikipedia input is no dump.
    """
    if kind == "books":
        return "book"
    if kind == "wikipedia":
        if b"<mediawiki" in head or b"<page>" in head:
            return "mediawiki"
        raise AlbertError(
            f"--wikipedia: {path} is no MediaWiki dump; give plain text with --text."
        )
    # The last line is broken where the head ends, unless the file ends there.
    end = len(head) if len(head) < _HEAD_BYTES else head.rfind(b"\n") + 1
    return recognise_text(list(read_lines(io.BytesIO(head[: end or len(head)]))))


def _own_language(path: str) -> str:
    with open_decompressed(path) as stream:
        return read_siteinfo(cast(BinaryIO, stream)).language or ""


def hash_file(path: str) -> str:
    """The sha256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe_inputs(files: Iterable[InputFile]) -> Iterator[str]:
    """One line for each format and language met."""
    groups: dict[tuple[str, ...], list[InputFile]] = {}
    for file in files:
        groups.setdefault((file.kind, file.format, file.language), []).append(file)
    for (kind, _, language), group in sorted(groups.items()):
        count = f"{len(group)} file{'s' if len(group) > 1 else ''}"
        megabytes = sum(file.bytes for file in group) / 1e6
        meaning = MEANINGS[group[0].format]
        yield f"{kind}: {count}, {megabytes:.1f} MB: {meaning} ({language})"
