"""A folder that one process at a time writes."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from schemas.errors import AlbertError, SettingError
from schemas.layout import LOCK


@contextlib.contextmanager
def lock(folder: Path, *, chosen_by: str = "--output") -> Iterator[None]:
    """Hold a folder, made if need be, until the end of a block.

    The system releases the lock of a process that has died.

    Args:
        folder: To be written.
        chosen_by: The flag or variable that another folder can be given with.

    Raises:
        SettingError: The folder cannot be made or written.
        AlbertError: Another process holds it.
    """
    _make(folder, chosen_by=chosen_by)
    path = folder / LOCK
    with _open_lock(path, chosen_by=chosen_by) as file:
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _make(folder: Path, *, chosen_by: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(
            f"{chosen_by}: {folder} cannot be made: {error.strerror}."
        ) from error


def _open_lock(path: Path, *, chosen_by: str) -> TextIO:
    """The lock file, held by this process and still the one in the folder."""
    while True:
        try:
            file = path.open("a+")
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
                f"{path.parent} is being written by process {owner}; "
                "wait for it to end."
            ) from None
        except OSError:
            # Some network file systems have no locks; whoever writes there has to see
            # to it that nobody else does.
            return file
        # Its last holder may have removed it between the two calls.
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return file
        file.close()
