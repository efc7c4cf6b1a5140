"""Locks of folders, and files in them that are written in place.

The system frees the locks of a process that has died. A link in a folder that a command
writes may lead to anybody's file: it is refused, and never followed.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from schemas.errors import AlbertError, SettingError
from schemas.layout import LOCK


def check_own(path: Path) -> None:
    """Refuse a link at a path that a command writes, or below it."""
    if path.is_symlink():
        raise _other(path)
    for folder, folders, names in os.walk(path):
        for name in (*folders, *names):
            if os.path.islink(place := os.path.join(folder, name)):
                raise _other(place)


def _other(path: Path | str) -> SettingError:
    return SettingError(
        f"{path} is a link, a pipe or a device, and nothing is written to what is behind it; "
        "remove it, or give another folder; the whole folder may be a link to another disk."
    )


def _open_own(path: Path) -> IO[str]:
    """Open a file to write in place, in a folder that a command writes."""

    def opened(name: str, flags: int) -> int:
        # A pipe that nobody reads is not waited for.
        descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
            return descriptor
        os.close(descriptor)
        raise OSError(errno.ELOOP, "a file of two names")

    try:
        return open(path, "a+", encoding="utf-8", opener=opened)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise _other(path) from None
        raise


@contextlib.contextmanager
def lock(folder: Path, *, chosen_by: str = "--output") -> Iterator[None]:
    """Hold a folder, made if need be, until the end of a block.

    Args:
        chosen_by: The flag or variable that gives another folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"{chosen_by}: {folder} cannot be made: {error.strerror}.") from error
    path = folder / LOCK
    with _held(path, chosen_by=chosen_by) as file:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _held(path: Path, *, chosen_by: str) -> IO[str]:
    """The lock file, held by this process and still the one in the folder."""
    while True:
        try:
            file = _open_own(path)
        except OSError as error:
            raise SettingError(
                f"{chosen_by}: {path.parent} cannot be written: {error.strerror}."
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                file.seek(0)
                owner = file.read().strip() or "unknown"
            raise AlbertError(
                f"{path.parent} is being written by process {owner}; wait for it to end."
            ) from None
        except OSError:
            # Some network file systems have no locks; whoever writes there has to see
            # to it that nobody else does.
            return file
        # Its last holder may have removed it between the two calls.
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
        file.close()


@contextlib.contextmanager
def locked(folder: Path, *, waits: bool = True) -> Iterator[bool]:
    """Lock a folder itself while this process works on it, if the file system has locks.

    Args:
        waits: Whether to wait for another's lock; else False is given where there is one.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        is_locked = True
    except OSError:
        is_locked = False
    try:
        yield is_locked
    finally:
        os.close(descriptor)
