"""The files given on the command line: found, recognised and described."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from pipeline import files
from pipeline.formats import (
    FORMATS_OF,
    MEANINGS,
    DumpIndex,
    Format,
    Kind,
    UnusableFile,
)
from pipeline.input_file import InputFile
from pipeline.inspection import inspect
from schemas.errors import SettingError

__all__ = ["InputFile", "describe_inputs", "find_inputs"]

_DEFAULT_LANGUAGE = "en"
# As Wikipedia has them: de, zh-min-nan, be-x-old, pt-BR. Which of them it knows, the
# segmenter does not say; with any other it goes on as with English.
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?:-[a-zA-Z0-9]{1,9})*")
# What stands beside texts in folders.
_NO_TEXT_NAMES = ("readme", "license", "licence", "manifest", "sha256sums", "md5sums")
_NO_TEXT_SUFFIXES = (
    *(".csv", ".tsv", ".md", ".rst", ".html", ".htm", ".css", ".js", ".py", ".log"),
    *(".yaml", ".yml", ".toml", ".ini", ".sha256", ".md5", ".png", ".jpg", ".jpeg"),
    *(".gif", ".svg", ".pdf", ".epub", ".mobi", ".doc", ".docx", ".zip", ".7z"),
)
_SHOWN_NOTES = 5


def find_inputs(
    given: Mapping[Kind, tuple[str, ...]],
    *,
    language: str | None = None,
    input_format: Format | None = None,
    text_key: str | None = None,
    on_note: Callable[[str], None] = lambda _: None,
) -> list[InputFile]:
    """All files behind the given paths, in an order that does not depend on theirs.

    A file named by its path or by a glob has to be of a known format. In a folder, what
    is not is passed over and said.

    Args:
        given: Files, folders and globs for each kind of input.
        language: Of all files; by default what a dump says of itself, and for the rest
            what all dumps agree on, else English.
        input_format: Forces how files of the kinds that allow it are read.
        text_key: Where rows of JSON lines and parquet have their text.
        on_note: Is told what is passed over.

    Raises:
        SettingError: A path is missing or matches nothing, none was given, no given
            kind can have the forced format, or the language is no code.
        AlbertError: A file is empty, unreadable or of no known format.
    """
    if not any(given.values()):
        raise SettingError("Give at least one input: --wikipedia, --books or --text.")
    _check_format(given, input_format)
    if language is not None and not _LANGUAGE_CODE.fullmatch(language):
        raise SettingError(f"--language takes a code such as en, not {language!r}.")
    found: dict[tuple[Kind, str], InputFile] = {}
    for kind, patterns in given.items():
        for pattern in patterns:
            for file in _inspect_all(
                kind, pattern, input_format, text_key=text_key, on_note=on_note
            ):
                same = found.setdefault((kind, _real_path(file.path)), file)
                if file.path < same.path:
                    found[kind, _real_path(file.path)] = file
    of_dumps = {file.language for file in found.values() if file.language}
    default = of_dumps.pop() if len(of_dumps) == 1 else _DEFAULT_LANGUAGE
    inputs = [
        file._replace(language=language or file.language or default)
        for file in found.values()
    ]
    return sorted(inputs, key=lambda file: (file.kind, file.sha256, file.path))


def _real_path(path: str) -> str:
    """One path for a file, however it is spelled."""
    return path if files.is_remote(path) else os.path.realpath(path)


def _check_format(
    given: Mapping[Kind, tuple[str, ...]], input_format: Format | None
) -> None:
    kinds = [kind for kind, patterns in given.items() if patterns]
    if input_format and not any(input_format in FORMATS_OF[kind] for kind in kinds):
        flags = " and ".join(f"--{kind}" for kind in kinds)
        choices = sorted({name for kind in kinds for name in FORMATS_OF[kind]})
        raise SettingError(
            f"--input-format {input_format} is no format of {flags}, which can be "
            f"{', '.join(choices)}."
        )


def _inspect_all(
    kind: Kind,
    pattern: str,
    input_format: Format | None,
    *,
    text_key: str | None,
    on_note: Callable[[str], None],
) -> Iterator[InputFile]:
    """The files behind one path that can be read."""
    paths = expand(pattern, flag=f"--{kind}")
    is_folder = files.is_folder(pattern)
    notes: list[str] = []
    for path in paths:
        try:
            if is_folder and _is_beside_text(path):
                raise UnusableFile(f"{path} is named like no text.")
            yield inspect(kind, path, input_format=input_format, text_key=text_key)
        except UnusableFile as error:
            is_index = isinstance(error, DumpIndex) and len(paths) > 1
            if not is_folder and not is_index:
                raise
            notes.append(str(error))
    if len(notes) == len(paths):
        raise SettingError(f"--{kind}: nothing in {pattern} can be read: {notes[0]}")
    for note in notes[:_SHOWN_NOTES]:
        on_note(f"passed over: {note}")
    if len(notes) > _SHOWN_NOTES:
        more = len(notes) - _SHOWN_NOTES
        on_note(f"passed over: {more} more files in {pattern}.")


def _is_beside_text(path: str) -> bool:
    name = files.file_name(path).lower()
    return name.endswith(_NO_TEXT_SUFFIXES) or name.startswith(_NO_TEXT_NAMES)


def expand(pattern: str, *, flag: str) -> list[str]:
    """The files behind a file, folder or glob, hidden ones left out.

    Raises:
        SettingError: There is none.
    """
    found = files.find_files(pattern)
    if not found and files.is_folder(pattern):
        raise SettingError(f"{flag}: the folder {pattern} has no files.")
    if not found:
        raise SettingError(f"{flag}: {pattern} does not exist.")
    return found


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
