"""Files that are whole or absent: written under a temporary name, then renamed."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from schemas.errors import AlbertError

# Behind the name of a file that is not whole yet; the process follows.
TEMPORARY = ".tmp-"


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name when all of it is on disk.

    Raises:
        AlbertError: The file cannot be written, for want of space or permission.
    """
    temporary = path.with_name(f"{path.name}{TEMPORARY}{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise AlbertError(f"{path} cannot be written: {reason}.") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
