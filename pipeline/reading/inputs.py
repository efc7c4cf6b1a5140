"""The files that a person names: found, and recognised from their content."""

import contextlib
import math
import os
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

from pipeline.reading import books, plain_text
from pipeline.reading.formats import (
    FORMATS,
    HEAD_BYTES,
    Head,
    InputFile,
    Kind,
    UnusableFile,
    begins_as,
    formats_of,
    loaded,
    read_head,
    unpacked_name,
)
from pipeline.reading.marked_text import is_tokenized
from pipeline.reading.plain_text import has_marker, recognise_text, split_at_markers
from pipeline.reading.refusals import (
    as_it_stands,
    refuse_binary,
    refuse_columns,
    refuse_foreign_bytes,
    refuse_lines,
    refuse_named,
)
from pipeline.reading.sentences import DEFAULT_LANGUAGE, known_language
from pipeline.storage import files
from pipeline.storage.compression import is_multistream, recognise_compression
from pipeline.storage.lines import read_blocks
from schemas.errors import AlbertError, SettingError

# Where sizes are estimated, compressed text counts this many times its size.
_COMPRESSION_RATIO = 4
# Files that lie beside texts in folders, the pieces of a vocabulary and the copies that editors
# and copying programs leave among them.
_NO_TEXT_NAMES = re.compile(
    r"""(?x)(?:readme|licen[cs]e(?:-[a-z0-9]+)?|copying|manifest|checksums|sha\d+sums|md5sums)
    (?:\.[a-z0-9]+)* | removed-\d+\.jsonl | \#.*\#.*
    | ~\$.* | .*(?:[~\#]|\.(?:csv|tsv|md|rst|html?|css|js|py|log
    |ya?ml|toml|ini|sha256|md5|crc|png|jpe?g|gif|svg|pdf|epub|mobi|docx?|zip|7z|vocab
    |bak|backup|orig|old|te?mp|sw[po]|part|partial|crdownload|download|rej|save|autosave))"""
)
# Where Project Gutenberg names itself in its books.
_GUTENBERG_HEAD = 2000
# The index that Wikimedia publishes beside a multistream dump. Its first numbers are
# places after the description of the wiki, which have three digits or more.
_DUMP_INDEX = re.compile(rb"(?:\d{3,}:\d+:(?!\d\d?[.,]\d)[^\n]+\n){1,3}")
# Most signs show within this many bytes; more of a hostile line would take time without end.
_START_BYTES = 1000


class Reading(TypedDict, total=False):
    """How files are to be read, as a person asks.

    Attributes:
        language: Of all files and their records; by default each record's own, or its
            file's, or English.
        input_format: Forces how files of the kinds that allow it are read.
        text_key: Where rows have their text, of files whose path names no key itself.
    """

    language: str | None
    input_format: str | None
    text_key: str | None
    on_hashed: Callable[[int], None]


def find_inputs(
    given: Mapping[Kind, tuple[str, ...]],
    *,
    outputs: Collection[str] = (),
    on_passed_over: Callable[[str], None] = lambda _: None,
    **reading: Unpack[Reading],
) -> list[InputFile]:
    """All files at the given paths, in an order that does not depend on theirs.

    A file named by its path or by a glob has to be of a known format. In a folder, a
    file of no known format is passed over. A file may be given with several keys of its rows.

    Args:
        outputs: Folders that are written, whose files are never found in one that is read.
    """
    kinds = [kind for kind, patterns in given.items() if patterns]
    if not kinds:
        raise SettingError("Give at least one input: --wikipedia, --books or --text.")
    language, text_key = reading.get("language"), reading.get("text_key")
    input_format = reading.get("input_format")
    choices = {name for kind in kinds for name in formats_of(kind)}
    if input_format and input_format not in choices:
        flags = " and ".join(f"--{kind}" for kind in kinds)
        raise SettingError(
            f"--input-format {input_format} is not a format of {flags}, which can be "
            f"{', '.join(sorted(choices))}."
        )
    if language is not None and not known_language(language):
        raise SettingError(f"--language takes a code such as en, not {language!r}.")
    found: dict[tuple[Kind, str, str], InputFile] = {}
    for kind in kinds:
        look = partial(_recognise_or_refuse, kind, **reading)
        for file in _recognise_all(
            given[kind], look, flag=f"--{kind}", outputs=outputs, on_passed_over=on_passed_over
        ):
            place = kind, real_path(file.path), file.text_key
            if file.path < found.setdefault(place, file).path:
                found[place] = file
    if text_key and not any(file.text_key for file in found.values()):
        raise SettingError(
            f"--text-key {text_key} says where rows have their text, and no file given "
            "has rows; leave it out."
        )
    return sorted(found.values(), key=lambda f: (f.kind, f.sha256, f.path, f.text_key))


def refuse_changed(found: Iterable[InputFile], *, since: float) -> None:
    """Refuse files that are no more what they were when they were looked at."""
    by_path = {file.path: file for file in found}

    def is_unchanged(path: str) -> bool:
        file = by_path[path]
        return files.is_unchanged(path, size=file.bytes, sha256=file.sha256, since=since)

    for path, is_same in zip(by_path, files.each_of(is_unchanged, by_path), strict=True):
        if not is_same:
            raise AlbertError(
                f"{path} was changed while it was read; run the same command again when "
                "nothing writes to it."
            )


def real_path(path: str) -> str:
    """One path for a file, however it is spelled."""
    return path if files.is_remote(path) else os.path.realpath(path)


def find_held_out(
    patterns: Iterable[str],
    *,
    flag: str,
    outputs: Collection[str] = (),
    on_passed_over: Callable[[str], None] = lambda _: None,
    **reading: Unpack[Reading],
) -> list[InputFile]:
    """The files of text that is only measured on; what each is follows from its bytes.

    A file may be given more often, with another key of its rows each time; see `find_inputs`.
    """
    found: dict[tuple[str, str], InputFile] = {}
    look = partial(_recognise_held_out, flag=flag, **reading)
    for file in _recognise_all(
        patterns, look, flag=flag, outputs=outputs, on_passed_over=on_passed_over
    ):
        found.setdefault((real_path(file.path), file.text_key), file)
    return sorted(found.values(), key=lambda f: (f.sha256, f.text_key, f.path))


def _recognise_held_out(
    path: str, *, key: str, in_folders: Container[str], flag: str, **reading: Unpack[Reading]
) -> InputFile | UnusableFile:
    """A file as recognised, of the kind that its bytes say, or why it is not read."""
    kind: Kind = "text"
    looked: InputFile | AlbertError
    if key:
        # Rows with a key of their own have no format in common with others.
        reading["input_format"] = None
    try:
        kind = likely_kind(read_head(path))
        looked = _recognise_or_refuse(kind, path, key=key, in_folders=in_folders, **reading)
    except AlbertError as error:
        looked = error
    if isinstance(looked, InputFile):
        return looked._replace(is_held_out=True)
    # Of the flag that named the file.
    said = str(looked).replace(f"--{kind}:", f"{flag}:")
    refusal = type(looked)(said.replace("say with --text-key where", "say as PATH:KEY where"))
    if isinstance(refusal, UnusableFile):
        return refusal
    raise refusal


def split_key(pattern: str) -> tuple[str, str]:
    """A path, and the key of the text that stands after it; empty if none does.

    >>> split_key("no/such.csv:notes.text"), split_key("gs://bucket/a.csv")
    (('no/such.csv', 'notes.text'), ('gs://bucket/a.csv', ''))
    """
    path, colon, key = pattern.rpartition(":")
    if not colon or not path or not key or "/" in key:
        return pattern, ""
    # A storage may forbid to ask for what it does not have.
    with contextlib.suppress(AlbertError):
        if files.exists(pattern) if files.is_remote(pattern) else files.find_local(pattern):
            return pattern, ""
    return path, key


def _recognise_all(
    patterns: Iterable[str],
    look: Callable[..., InputFile | UnusableFile],
    *,
    flag: str,
    outputs: Collection[str],
    on_passed_over: Callable[[str], None],
) -> Iterator[InputFile]:
    """The files at some paths that can be read.

    A file with a key after its name is not read by another because its folder is given too.
    """
    keyed: set[str] = set()
    told: set[str] = set()
    written = tuple(real_path(folder).rstrip("/") + "/" for folder in outputs)
    for pattern, key in sorted(map(split_key, patterns), key=lambda each: not each[1]):
        paths = wanted = [
            path
            for path in expand(pattern, flag=flag)
            if path == pattern or not (real_path(path) + "/").startswith(written)
        ]
        if key:
            keyed |= {*map(real_path, [pattern, *paths])}
        elif keyed and real_path(pattern) not in keyed:
            wanted = [path for path in paths if real_path(path) not in keyed]
        # In a folder that is named or matched; other files are themselves.
        depth = math.inf if "**" in pattern else _depth(pattern)
        inside = {path for path in wanted if _depth(path) > depth}
        notes: dict[str, str] = {}
        looked = files.each_of(partial(look, key=key, in_folders=inside), wanted)
        for path, found in zip(wanted, looked, strict=True):
            if isinstance(found, InputFile):
                yield found
                continue
            is_index = isinstance(found, DumpIndex) and len(paths) > 1
            if path not in inside and not is_index:
                raise found
            notes[path] = str(found)
        if len(notes) == len(paths):
            reason = next(iter(notes.values()), "all its files are in the folder to write.")
            raise SettingError(f"{flag}: nothing in {pattern} can be read: {reason}")
        for path, note in notes.items():
            if (place := real_path(path)) not in told:
                on_passed_over(note)
            told.add(place)


def _depth(path: str) -> int:
    return len(Path(path).absolute().parts)


def _recognise_or_refuse(
    kind: Kind, path: str, *, key: str, in_folders: Container[str], **reading: Unpack[Reading]
) -> InputFile | UnusableFile:
    """A file as recognised, or why it cannot be read."""
    reading["text_key"] = key or reading.get("text_key")
    name = unpacked_name(path)
    is_table = reading.get("input_format") == "csv" and name.endswith((".csv", ".tsv"))
    if path in in_folders and _NO_TEXT_NAMES.fullmatch(name) and not is_table:
        return UnusableFile(f"{path} is not named like a text; give the file itself to read it.")
    try:
        return recognise_file(kind, path, **reading)
    except UnusableFile as error:
        return error


def expand(pattern: str, *, flag: str) -> list[str]:
    """The files at a path or in a folder or glob, hidden ones left out."""
    found = files.find_files(pattern)
    if not found and files.is_folder(pattern):
        raise SettingError(f"{flag}: the folder {pattern} has no files.")
    if not found:
        raise SettingError(f"{flag}: {pattern} does not exist.")
    if not files.is_remote(found[0]) and not os.path.isfile(found[0]):
        raise SettingError(
            f"{flag}: {pattern} is a pipe or a device, and text is read more than "
            "once; write it to a file and give that."
        )
    return found


def recognise_file(
    kind: Kind,
    path: str,
    *,
    input_format: str | None = None,
    text_key: str | None = None,
    language: str | None = None,
    on_hashed: Callable[[int], None] = lambda _: None,
) -> InputFile:
    """Recognise one file; `language` is the one that a person gives."""
    head = read_head(path)
    if not begins_as("parquet", head):
        refuse_binary(head, path=path)
    is_forced = input_format in formats_of(kind)
    found = str(input_format) if is_forced else recognise(kind, head[:HEAD_BYTES], path=path)
    size = files.file_size(path)
    sha256 = files.file_hash(path, on_bytes=on_hashed)
    file = InputFile(kind, path, found, DEFAULT_LANGUAGE, size, size, sha256)
    if inspector := FORMATS[found].inspect:
        of_head = Head(kind, path, head)
        file = loaded(inspector)(file, of_head, text_key=text_key, is_forced=is_forced)
    if language:
        file = file._replace(language=language, language_from="flag")
    if found.startswith("parquet"):
        return file
    # Its encoding, how large the text is, and how it is read in parts.
    known = "" if file.language_from == "default" else known_language(file.language)
    refuse_foreign_bytes(head[:HEAD_BYTES], language=known, path=path)
    starts: Iterable[int] = ()
    with contextlib.closing(files.open_binary(path)) as stream:
        compression = recognise_compression(stream.read(6))
        is_plain = compression == "none"
        is_seekable = is_plain or (compression == "bz2" and is_multistream(stream))
        if is_plain and size > plain_text.MAX_DOCUMENT_BYTES:
            # Where a book ends is known only by reading it, too much from far away.
            if file.format == "book" and not files.is_remote(path):
                starts = books.find_books(read_blocks(path))
            elif file.format == "prose":
                starts = plain_text.find_documents(stream, size=size)
        return file._replace(
            text_bytes=size * (1 if is_plain else _COMPRESSION_RATIO),
            is_divisible=is_seekable and bool(FORMATS[file.format].starts),
            document_starts=tuple(starts),
        )


class DumpIndex(UnusableFile):
    """The index beside a multistream dump, which is never needed."""


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
        if is_told and begins_as(name, head.data) and (not row.sign or loaded(row.sign)(head)):
            return name
    return ""


def likely_kind(data: bytes) -> Kind:
    """What a file is where no flag says it, by the first of its bytes."""
    found = _format_told_by("bytes", Head("text", "", data))
    if found and FORMATS[found].kinds == ["wikipedia"]:
        return "wikipedia"
    is_of_gutenberg = b"project gutenberg" in data[:_GUTENBERG_HEAD].lower()
    return "books" if is_of_gutenberg else "text"
