"""Files and folders that are whole or absent: a temporary name, flushed, then renamed.

The temporary name lies beside the final one, so that renaming stays on one file system.
"""

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from schemas.errors import AlbertError

# Follows the name of what is not whole yet, before a part unique to each attempt.
TEMPORARY = ".tmp-"


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name when all of it is on disk."""
    with _temporary(path) as temporary:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


def copy_whole(source: Path, target: Path) -> None:
    """Copy a small file so that no reader ever sees half of it."""
    try:
        content = source.read_bytes()
    except OSError as error:
        raise AlbertError(f"{source} cannot be read: {error.strerror}.") from error
    with whole_file(target) as file:
        file.write(content)


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write in that gets its name when all of it is on disk.

    What was at `path` before is removed at that moment, not earlier. If that is a link,
    the folder that it leads to is replaced.
    """
    path = path.resolve() if path.is_symlink() else path
    with _temporary(path) as temporary:
        temporary.mkdir()
        yield temporary
        for written in (*temporary.rglob("*"), temporary):
            _flush(written)
        # A folder cannot be renamed onto one that has something in it.
        before = path.with_name(f"{temporary.name}-before")
        if path.exists():
            path.rename(before)
        temporary.rename(path)
        _flush(path.parent)
        remove(before)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A name beside a path, unused before and after; its errors name the path."""
    # On machines that share a folder, processes may have the same number.
    temporary = path.with_name(f"{path.name}{TEMPORARY}{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
    except OSError as error:
        reason = error.strerror or error
        raise AlbertError(f"{path} cannot be written: {reason}.") from error
    finally:
        remove(temporary)


def _flush(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there and can be removed."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
