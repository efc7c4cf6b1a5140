"""What a command reads: raw text and its flags, a data set, a run."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from cli.support.console import Console
from cli.support.options import ANY_NAME, from_anywhere, stacked
from pipeline.reading.formats import FORMATS, KINDS, InputFile, LanguageSource
from pipeline.storage.files import find_local
from schemas.errors import AlbertError, SettingError
from schemas.files import Values
from schemas.layout import (
    EXPORT_RECORD,
    HF_TOKENIZER_CONFIG,
    MANIFEST,
    METRICS,
    MODEL_CONFIG,
    SPM_MODEL,
    TASK,
)
from schemas.readable import counted, prefixed

if TYPE_CHECKING:
    from pipeline.dataset.local_copy import Choice

# Files that are passed over and named; the others are only counted.
SHOWN_NOTES = 5

# The flags for raw text that are not paths.
INPUT_OPTIONS = ("language", "input_format", "text_key")

# Where the language of a file comes from.
_SOURCES: dict[LanguageSource, str] = {
    "flag": ", by --language",
    "file": "",
    "records": ", or as a record says",
    "default": " by default, --language sets another",
}

# Whether a file is readable is told by whoever reads it.
_PATHS: Values = {"multiple": True, "metavar": "PATH", "type": ANY_NAME}

# The flags for raw text.
input_options = stacked(
    click.option(
        "--wikipedia",
        **_PATHS,
        help="MediaWiki dump as downloaded, wikiextractor output, or articles "
        "as JSON lines, parquet or CSV. Files, folders, globs; repeatable.",
    ),
    click.option(
        "--books",
        **_PATHS,
        help="Books, one per file, plain or from Gutenberg; BookCorpus' files; "
        "JSON lines, parquet or CSV.",
    ),
    click.option(
        "--text",
        **_PATHS,
        help="Any other text: running prose, one sentence or paragraph per "
        "line with a blank line between documents, subtitles, WET, JSON lines, "
        "parquet, Arrow or CSV. A line <|endoftext|> or </s> ends a document, "
        "and so does ---- with --input-format marked; --input-format lines "
        "takes one document per line. PATH:KEY says where rows have their "
        "text, as in notes.csv:transcription.",
    ),
    click.option(
        "--language",
        metavar="CODE",
        help="Language of all sentences  [default: as a record says in lang, "
        "language or url, else as its file says, else en]",
    ),
    click.option(
        "--input-format",
        type=click.Choice(list(FORMATS)),
        metavar="FORMAT",
        help=f"How the files are read: {', '.join(FORMATS)}  [default: recognised from content]",
    ),
    click.option(
        "--text-key",
        "--text-column",
        "text_key",
        metavar="NAME",
        help="Column or key of the text in parquet, Arrow, CSV and JSON lines, "
        "as a.b if nested, of each path that names none itself as PATH:KEY  "
        "[default: text]",
    ),
)


def input_settings(values: Values) -> Values:
    """The flags for raw text as config.json records them, good from any folder."""
    paths = {kind: list(map(from_anywhere, values[kind])) for kind in KINDS}
    return paths | {name: values[name] for name in INPUT_OPTIONS}


def find_given_inputs(
    values: Values, console: Console, *, outputs: Iterable[Path | str | None] = ()
) -> tuple[list[InputFile], int]:
    """The files that the flags for raw text name, and how many others their folders have.

    Says how each is read.

    Args:
        outputs: Folders that are written, which may lie in one that is read.
    """
    from pipeline.reading.inputs import find_held_out, find_inputs, real_path, split_key

    notes: list[str] = []
    given = [path for kind in KINDS for path in values[kind]]
    held_out = values.get("eval_text", ())
    # Of what is on a storage no size is known before it is read.
    total = sum(
        os.path.getsize(path)
        for pattern in (*given, *held_out)
        for path in find_local(split_key(pattern)[0])
        if os.path.isfile(path)
    )
    with console.start("hashing", total=total, unit="B") as bar:
        settings: Values = {
            **{name: values[name] for name in INPUT_OPTIONS},
            "outputs": [str(folder) for folder in outputs if folder is not None],
            "on_passed_over": notes.append,
            "on_hashed": bar.advance,
        }
        files = find_inputs({kind: values[kind] for kind in KINDS}, **settings)
        if held_out:
            apart = find_held_out(held_out, flag="--eval-text", **settings)
            places = {real_path(file.path) for file in apart}
            named = [file for file in files if real_path(file.path) in places]
            files = [file for file in files if real_path(file.path) not in places]
            if not files:
                raise SettingError(
                    "--eval-text names every file of the text, so that none is left to train "
                    "on; leave some out."
                )
            # A file that is named as training text too is read as its flag there says.
            known = {real_path(file.path): file for file in named if not file.text_key}
            kept = [known.get(real_path(file.path), file) for file in apart]
            files += [file._replace(is_held_out=True) for file in kept]
            keys = {(real_path(file.path), file.text_key) for file in kept}
            notes += [
                f"{file.path}:{file.text_key}: its rows are held out"
                for file in named
                if file.text_key and (real_path(file.path), file.text_key) not in keys
            ]
    for note in notes[:SHOWN_NOTES]:
        console.say(f"passed over: {note}")
    if len(notes) > SHOWN_NOTES:
        console.say(f"passed over: {len(notes) - SHOWN_NOTES} more files.")
    console.say(*describe_inputs(files))
    return files, len(notes)


def describe_inputs(files: Iterable[InputFile]) -> Iterator[str]:
    """One line for each format and language met."""
    groups: dict[tuple[str, ...], list[InputFile]] = {}
    for file in files:
        name = "held out" if file.is_held_out else file.kind
        key = (name, file.format, file.language, file.language_from)
        groups.setdefault(key, []).append(file)
    for (kind, *_), group in sorted(groups.items()):
        count = counted(len(group), "file")
        size = prefixed(sum(file.bytes for file in group), "B")
        row, source = FORMATS[group[0].format], _SOURCES[group[0].language_from]
        said = f"{kind}: {count}, {size}: {row.meaning}"
        if row.has_fields:
            source = source.replace("by default", "by default or as a record says")
        if not row.is_segmented:
            said += f" ({group[0].language}{source})"
        yield said


def refuse_stray(arguments: Sequence[str], *, takes_options: bool = True) -> None:
    """Refuse what stands on the command line without a flag.

    A shell replaces a pattern by the names of many files, of which a flag takes one.
    After -- options of another program may be taken, such as Beam's.
    """
    if arguments and not arguments[0].startswith("-"):
        raise SettingError(
            f"{arguments[0]!r} belongs to no flag; give each path with --wikipedia, "
            "--books or --text, and put quotes around a pattern, as in "
            "--text 'novels/*.txt'."
        )
    if arguments and not takes_options:
        raise SettingError(
            f"{arguments[0]!r} comes after --, where this command takes nothing; put it before."
        )


def kind_of_input(path: Path) -> Literal["tuned", "run", "export", "vocabulary", "data"]:
    """What a folder is, or the file of a vocabulary."""
    if not os.path.exists(path):
        raise SettingError(f"{path} does not exist; give the folder of a data set or of a run.")
    if path.name == SPM_MODEL:
        return "vocabulary"
    if not os.path.isdir(path):
        raise SettingError(f"{path} is not a folder; give that of a data set or of a run.")
    if (path / TASK).is_file():
        return "tuned"
    if any((path / name).exists() for name in (MODEL_CONFIG, METRICS)):
        return "run"
    if (path / EXPORT_RECORD).is_file():
        return "export"
    if (path / HF_TOKENIZER_CONFIG).is_file():
        return "vocabulary"
    if not (path / MANIFEST).exists():
        raise AlbertError(
            f"{path} is neither a finished data set of albert make-data nor a run of "
            "albert pretrain; give the folder that one of them wrote."
        )
    return "data"


def data_here(data: Path | str, console: Console, *, choose: "Choice | None" = None) -> Path:
    """The folder of a data set on this machine, with all files or those chosen."""
    if isinstance(data, Path):
        return data
    from pipeline.dataset.local_copy import all_files, cache_folder, fetch, prepare_copy

    copy = prepare_copy(data, cache=cache_folder(), choose=choose or all_files)
    if copy.missing:
        size = prefixed(copy.missing_bytes, "B")
        console.say(f"{data}: copying {size} to {copy.folder}, where it is kept.")
        with console.start("copying", total=copy.missing_bytes, unit="B") as bar:
            for size_bytes in fetch(copy):
                bar.advance(size_bytes)
    return copy.folder
