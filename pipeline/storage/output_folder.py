"""The folder a command writes: locked, recognised, continued or refused."""

import contextlib
import itertools
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.storage import files, remote
from schemas import __version__, layout
from schemas.config import flag_name
from schemas.errors import SettingError
from schemas.files import TEMPORARY, json_text
from schemas.locks import check_own, lock
from schemas.secrets import record_without_secrets

# What decides the result; a run continues only if it is the same.
Identity = dict[str, Any]


class Footprint(NamedTuple):
    """What a command leaves in its folder, beside `config.json`.

    Attributes:
        what: What a folder of the command is called.
        writes: Everything else that it may have written.
        progress: Globs of what would be lost if another setting were used.
        is_finished: Whether a folder, here or remote, has a finished run of this
            identity, all of it.
        evidence: Files that show why a command failed, and keep its folder once they
            say anything; the next command with this output replaces them.
        changeable: Settings of the identity that may change when a run goes on.
        check_change: Refuses such a change where a run cannot go on with it; takes the
            folder, and the identity before and now.
        remedy: What to do about a folder with a run of other settings.
    """

    command: str
    what: str
    writes: tuple[str, ...]
    progress: tuple[str, ...]
    is_finished: Callable[[Path | str, Identity], bool]
    evidence: tuple[str, ...] = ()
    changeable: tuple[str, ...] = ()
    check_change: Callable[[Path | str, Identity, Identity], None] = lambda folder, before, now: (
        None
    )
    remedy: str = "give another --output, or --overwrite to start over"


def unused(name: str) -> str:
    """A name that a hint gives a folder to write: this one, or with a number if taken.

    >>> unused("no such folder")
    'no such folder'
    """
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(n for n in itertools.chain([name], numbered) if not os.path.exists(n))


@contextlib.contextmanager
def claim(
    folder: Path | str,
    footprint: Footprint,
    *,
    settings: dict[str, Any],
    identity: Identity,
    overwrite: bool,
    goes_on_elsewhere: bool = False,
) -> Iterator[bool]:
    """Take a folder for writing; yields whether the command has finished there before.

    `config.json` is written at once, so that an interrupted run is recognised. Where
    the writing `goes_on_elsewhere`, this process removes nothing at its end.

    A cluster's storage has no locks and needs none: files appear whole there, and two
    jobs of the same settings write the same bytes. Only --overwrite removes any.
    """
    check_recognised(folder, footprint)
    here = folder if isinstance(folder, Path) else None
    new = here if here and not here.exists() else None
    try:
        with lock(here) if here else contextlib.nullcontext():
            goes_on = not overwrite and has_progress(folder, footprint)
            if overwrite or (here and not goes_on):
                clear(folder, footprint)
            finished = goes_on and compare(folder, footprint, identity=identity)
            if not finished:
                for name in (*footprint.writes, layout.CONFIG) if here else ():
                    check_own(Path(here or "", name))
                write_config(folder, footprint, settings=settings, identity=identity)
            try:
                yield finished
            except BaseException:
                if here and not (goes_on_elsewhere or shows_something(here, footprint)):
                    clear(here, footprint)
                raise
    finally:
        # Fails unless the folder is empty, which is what it is meant for.
        with contextlib.suppress(OSError):
            if new:
                new.rmdir()


def read_config(folder: Path | str) -> dict[str, Any]:
    """What `config.json` of a folder says; nothing where there is none."""
    config = files.join(folder, layout.CONFIG)
    return files.read_whole_json(config) if files.exists(config) else {}


def write_config(
    folder: Path | str, footprint: Footprint, *, settings: dict[str, Any], identity: Identity
) -> None:
    """Record the settings of a claimed run, and those with which it was begun.

    All of them, which --config accepts back.
    """
    written: dict[str, Any] = {
        "command": footprint.command,
        "albert_version": __version__,
        **record_without_secrets(settings | {"identity": identity}),
        "environment": {
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "host": platform.node(),
            "python": platform.python_version(),
        },
    }
    before = read_config(folder)
    environment, old, began = (
        values if isinstance(values, dict) else {}
        for values in map(before.get, ("environment", "identity", "began"))
    )
    if isinstance(environment.get("started"), str):
        written["environment"]["started"] = environment["started"]
    new = written["identity"]
    changed = {
        name: old[name]
        for name in footprint.changeable
        if name in old and old[name] != new.get(name)
    }
    if changed | began:
        written["began"] = changed | began
    files.write_whole(files.join(folder, layout.CONFIG), json_text(written))


def has_progress(folder: Path | str, footprint: Footprint) -> bool:
    """Whether there is anything to continue."""
    return any(_names_of_whole(folder, *footprint.progress))


def _names_of_whole(folder: Path | str, *patterns: str) -> Iterator[str]:
    """The names of the files below a folder that match, of those that are whole."""
    for pattern in patterns:
        names = map(files.file_name, files.find_below(folder, pattern))
        yield from (name for name in names if TEMPORARY not in name)


def shows_something(folder: Path, footprint: Footprint) -> bool:
    """Whether there is something to continue, or how far a failed command came."""
    paths = [folder / name for name in footprint.evidence]
    return has_progress(folder, footprint) or any(
        path.is_file() and path.stat().st_size for path in paths
    )


def check_recognised(folder: Path | str, footprint: Footprint) -> None:
    """Refuse a folder that holds anything but a run of the same command."""
    if isinstance(folder, Path) and folder.exists() and not folder.is_dir():
        raise SettingError(f"--output: {folder} is a file; give a folder.")
    command = read_config(folder).get("command")
    if command == footprint.command:
        return
    names = _names_of_whole(folder, "*" if isinstance(folder, Path) else "**")
    if any(name != layout.LOCK for name in names):
        what = f"the output of albert {command}" if command else "other files"
        raise SettingError(f"--output: {folder} holds {what}; give a new or empty folder.")


def check_is_not(folder: Path, source: Path | None, *, what: str) -> None:
    """Refuse a folder that is read too: beginning there would remove what it has."""
    if source is not None and folder.resolve() == source.resolve():
        raise SettingError(f"--output: {folder} is {what}; give another folder.")


def check_can_write(output: str, *, flag: str = "--output") -> None:
    """Refuse storage that can only be read."""
    if not remote.scheme_of(output).can_write:
        raise SettingError(
            f"{flag}: {output} can only be read; give a folder here or one such as "
            "s3://bucket/folder."
        )


def check_removed(removed: Path | str, output: Path | str) -> None:
    """Refuse a folder for removed text that has others' files or that workers miss."""
    if isinstance(removed, str):
        check_can_write(removed, flag="--removed")
    elif isinstance(output, str):
        raise SettingError(
            f"--removed: {removed} is on this machine and --output is not; give a "
            "folder on storage too."
        )
    folder, data = (
        f"{path.resolve() if isinstance(path, Path) else path}".rstrip("/") + "/"
        for path in (removed, output)
    )
    if folder.startswith(data) or data.startswith(folder):
        raise SettingError(f"--removed: {removed} must be neither in --output nor around it.")
    names = list(_names_of_whole(removed, "*" if isinstance(removed, Path) else "**"))
    if others := [name for name in names if not fnmatch(name, layout.REMOVED_FILES)]:
        raise SettingError(
            f"--removed: {removed} holds {others[0]}, which this command did not "
            "write; give a new folder."
        )
    if names and not read_config(output):
        raise SettingError(
            f"--removed: {removed} holds removed text, and {output} no data set that "
            "it can be of; give a new folder, or delete that text first."
        )


def compare(folder: Path | str, footprint: Footprint, *, identity: Identity) -> bool:
    """Whether a run is finished; refused if it was begun with other settings."""
    # As it will be read again: JSON makes lists of tuples.
    now = json.loads(json.dumps(record_without_secrets(identity)))
    record = read_config(folder)
    before = record.get("identity")
    before = before if isinstance(before, dict) else {}
    differing = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if set(differing) <= set(footprint.changeable):
        footprint.check_change(folder, before, now)
        return footprint.is_finished(folder, identity)
    version = record.get("albert_version", __version__)
    if version != __version__ and before.keys() != now.keys():
        raise SettingError(
            f"{folder} holds {footprint.what} of albert {version}, which has other settings: "
            f"finish it with that release, or {footprint.remedy}."
        )
    changes = described_changes(differing, before=before, now=now)
    raise SettingError(
        f"{folder} holds {footprint.what} with other settings: {changes}; {footprint.remedy}."
    )


def described_changes(names: Iterable[str], *, before: Identity, now: Identity) -> str:
    """Settings that differ, for a sentence.

    >>> before = {"seed": 1, "vocab": 64 * "0"}
    >>> described_changes(before, before=before, now={"seed": 2, "vocab": 64 * "f"})
    '--seed was 1 and is 2, --vocab changed'
    """
    changes = []
    for name in names:
        old, new = before.get(name), now.get(name)
        if name == "inputs":
            # No flag is called so, and a file is recorded with how it is read.
            changes.append(
                "the files of its text, or how they are read (such as --language), changed"
            )
            continue
        # Of what has 64 digits, a sha256, it is enough to know that it changed.
        is_short = all(isinstance(v, int | float | str) and len(str(v)) < 64 for v in (old, new))
        change = f" was {old} and is {new}" if is_short else " changed"
        changes.append(f"{flag_name(name)}{change}")
    return ", ".join(changes)


def clear(folder: Path | str, footprint: Footprint) -> None:
    """Remove what an earlier run of the command wrote, and nothing else.

    The folder is recognised by its settings, which go last, so that an interrupted
    --overwrite can be given again.
    """
    for name in (*footprint.writes, layout.CONFIG):
        left = files.find_below(folder, f"{name}{TEMPORARY}*")
        for path in (files.join(folder, name), *left):
            files.remove(path)
