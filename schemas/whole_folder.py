"""Folders that are whole or absent: written under a temporary name, then renamed."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from schemas.errors import AlbertError
from schemas.whole_file import TEMPORARY


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write in that gets its name when all of it is on disk.

    What was at `path` before goes away at that moment, and not before.

    Raises:
        AlbertError: It cannot be written, for want of space or permission.
    """
    temporary = path.with_name(f"{path.name}{TEMPORARY}{os.getpid()}")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        _flush(temporary)
        # A folder cannot be renamed onto one that has something in it.
        before = path.with_name(f"{temporary.name}-before")
        if path.exists():
            path.rename(before)
        temporary.rename(path)
        shutil.rmtree(before, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or error
        raise AlbertError(f"{path} cannot be written: {reason}.") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Force every file of a folder to the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
