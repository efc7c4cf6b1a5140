"""The files that a person names: found, recognised, described."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypedDict, Unpack

from pipeline.reading.formats import (
    FORMATS_OF,
    MEANINGS,
    SENTENCE_FORMATS,
    Format,
    InputFile,
    Kind,
    LanguageSource,
)
from pipeline.reading.languages import is_code
from pipeline.reading.recognise import inspect, kind_of, read_head
from pipeline.reading.refusals import DumpIndex, UnusableFile, unpacked_name
from pipeline.storage import files
from schemas.errors import AlbertError, SettingError
from schemas.readable import prefixed

# Files that lie beside texts in folders.
_NO_TEXT_NAMES = re.compile(
    r"(readme|licen[cs]e|manifest|sha256sums|md5sums)(\.[a-z0-9]+)*|#.*#.*|~\$.*"
)
_NO_TEXT_SUFFIXES = (
    *(".csv", ".tsv", ".md", ".rst", ".html", ".htm", ".css", ".js", ".py", ".log"),
    *(".yaml", ".yml", ".toml", ".ini", ".sha256", ".md5", ".png", ".jpg", ".jpeg"),
    *(".gif", ".svg", ".pdf", ".epub", ".mobi", ".doc", ".docx", ".zip", ".7z"),
    # The pieces of a vocabulary, of which a folder may hold one beside its texts.
    ".vocab",
    # Copies that editors and copying programs leave.
    *("~", "#", ".bak", ".backup", ".orig", ".old", ".tmp", ".temp", ".swp", ".swo"),
    *(".part", ".partial", ".crdownload", ".download", ".rej", ".save", ".autosave"),
)
_TABLE_SUFFIXES = (".csv", ".tsv")


class Reading(TypedDict, total=False):
    """How files are to be read, as a person asks.

    Attributes:
        language: Of all files and their records; by default each record's own, or its
            file's, or English.
        input_format: Forces how files of the kinds that allow it are read.
        text_key: Where rows have their text, of files whose path names no key itself.
        on_hashed: Told of bytes that were hashed.
    """

    language: str | None
    input_format: Format | None
    text_key: str | None
    on_hashed: Callable[[int], None]


def find_inputs(
    given: Mapping[Kind, tuple[str, ...]],
    *,
    on_passed_over: Callable[[str], None] = lambda _: None,
    **reading: Unpack[Reading],
) -> list[InputFile]:
    """All files at the given paths, in an order that does not depend on theirs.

    A file named by its path or by a glob has to be of a known format. In a folder, a
    file of no known format is passed over.
    """
    if not any(given.values()):
        raise SettingError("Give at least one input: --wikipedia, --books or --text.")
    _check_format(given, reading.get("input_format"))
    language, text_key = reading.get("language"), reading.get("text_key")
    if language is not None and not is_code(language):
        raise SettingError(f"--language takes a code such as en, not {language!r}.")
    found: dict[tuple[Kind, str], InputFile] = {}
    for kind, patterns in given.items():
        for given_path in patterns:
            pattern, key = split_key(given_path)
            of_path: Reading = {**reading, "text_key": key or text_key}
            for file in _inspect_all(
                pattern,
                partial(_inspect_or_refuse, kind, **of_path),
                flag=f"--{kind}",
                on_passed_over=on_passed_over,
            ):
                real = real_path(file)
                same = found.setdefault((kind, real), file)
                if file.path < same.path:
                    found[kind, real] = file
    if text_key and not any(file.text_key for file in found.values()):
        raise SettingError(
            f"--text-key {text_key} says where rows have their text, and no file given "
            "has rows; leave it out."
        )
    return sorted(found.values(), key=lambda file: (file.kind, file.sha256, file.path))


def real_path(file: InputFile) -> str:
    """One path for a file, however it is spelled."""
    return file.path if files.is_remote(file.path) else os.path.realpath(file.path)


def find_held_out(
    patterns: Iterable[str],
    *,
    flag: str,
    on_passed_over: Callable[[str], None] = lambda _: None,
    **reading: Unpack[Reading],
) -> list[InputFile]:
    """The files of text that is only measured on; what each is follows from its bytes.

    A file may be given more often, with another key of its rows each time.

    Args:
        flag: That named the paths.
    """
    found: dict[tuple[str, str], InputFile] = {}
    for given_path in patterns:
        pattern, key = split_key(given_path)
        of_path = reading.copy()
        if key:
            # Rows with a key of their own have no format in common with others.
            of_path |= {"text_key": key, "input_format": None}
        look = partial(_inspect_held_out, flag=flag, **of_path)
        for file in _inspect_all(
            pattern, look, flag=flag, on_passed_over=on_passed_over
        ):
            found.setdefault((real_path(file), file.text_key), file)
    return sorted(found.values(), key=lambda f: (f.sha256, f.text_key, f.path))


def _inspect_held_out(
    path: str, *, is_in_folder: bool, flag: str, **reading: Unpack[Reading]
) -> InputFile | UnusableFile:
    """A file as recognised, of the kind that its bytes say, or why it is not read."""
    kind: Kind = "text"
    try:
        kind = kind_of(read_head(path))
        looked = _inspect_or_refuse(kind, path, is_in_folder=is_in_folder, **reading)
    except UnusableFile as error:
        looked = error
    except AlbertError as error:
        raise type(error)(renamed(error, kind, flag)) from None
    if isinstance(looked, UnusableFile):
        return type(looked)(renamed(looked, kind, flag))
    return looked._replace(is_held_out=True)


def renamed(error: AlbertError, kind: Kind, flag: str) -> str:
    """What an error says, of the flag that named the file."""
    said = str(error).replace(f"--{kind}:", f"{flag}:")
    return said.replace("say with --text-key where", "say as PATH:KEY where")


def split_key(pattern: str) -> tuple[str, str | None]:
    """A path, and the key of the text that stands after it; None if none does.

    >>> split_key("no/such.csv:notes.text"), split_key("gs://bucket/a.csv")
    (('no/such.csv', 'notes.text'), ('gs://bucket/a.csv', None))
    """
    path, colon, key = pattern.rpartition(":")
    if not colon or not path or not key or "/" in key or files.find_local(pattern):
        return pattern, None
    return path, key


def _check_format(
    given: Mapping[Kind, tuple[str, ...]], input_format: Format | None
) -> None:
    kinds = [kind for kind, patterns in given.items() if patterns]
    if input_format and not any(input_format in FORMATS_OF[kind] for kind in kinds):
        flags = " and ".join(f"--{kind}" for kind in kinds)
        choices = sorted({name for kind in kinds for name in FORMATS_OF[kind]})
        raise SettingError(
            f"--input-format {input_format} is not a format of {flags}, which can be "
            f"{', '.join(choices)}."
        )


def _inspect_all(
    pattern: str,
    look: Callable[..., InputFile | UnusableFile],
    *,
    flag: str,
    on_passed_over: Callable[[str], None],
) -> Iterator[InputFile]:
    """The files at one path that can be read."""
    paths = expand(pattern, flag=flag)
    is_folder = files.is_folder(pattern)
    notes: list[str] = []
    for found in files.each_of(partial(look, is_in_folder=is_folder), paths):
        if isinstance(found, InputFile):
            yield found
            continue
        is_index = isinstance(found, DumpIndex) and len(paths) > 1
        if not is_folder and not is_index:
            raise found
        notes.append(str(found))
    if len(notes) == len(paths):
        raise SettingError(f"{flag}: nothing in {pattern} can be read: {notes[0]}")
    for note in notes:
        on_passed_over(note)


def _inspect_or_refuse(
    kind: Kind, path: str, *, is_in_folder: bool, **reading: Unpack[Reading]
) -> InputFile | UnusableFile:
    """A file as recognised, or why it cannot be read."""
    if is_in_folder and _is_beside_text(path, reading.get("input_format")):
        return UnusableFile(
            f"{path} is not named like a text; give the file itself to read it."
        )
    try:
        return inspect(kind, path, **reading)
    except UnusableFile as error:
        return error


def _is_beside_text(path: str, input_format: Format | None) -> bool:
    name = unpacked_name(path)
    if input_format == "csv" and name.endswith(_TABLE_SUFFIXES):
        return False
    return name.endswith(_NO_TEXT_SUFFIXES) or bool(_NO_TEXT_NAMES.fullmatch(name))


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


def describe_inputs(files: Iterable[InputFile]) -> Iterator[str]:
    """One line for each format and language met."""
    groups: dict[tuple[str, ...], list[InputFile]] = {}
    for file in files:
        name = "held out" if file.is_held_out else file.kind
        key = (name, file.format, file.language, file.language_from)
        groups.setdefault(key, []).append(file)
    for (kind, *_), group in sorted(groups.items()):
        count = f"{len(group)} file{'s' if len(group) > 1 else ''}"
        size = prefixed(sum(file.bytes for file in group), "B")
        meaning = MEANINGS[group[0].format]
        yield f"{kind}: {count}, {size}: {meaning}" + _language(group[0])


def _language(file: InputFile) -> str:
    """The language of a file and where it comes from, unless it is of no use."""
    if file.format in SENTENCE_FORMATS:
        return ""
    sources: dict[LanguageSource, str] = {
        "flag": ", by --language",
        "file": "",
        "records": ", or as a record says",
        "default": " by default, --language sets another",
    }
    return f" ({file.language}{sources[file.language_from]})"
