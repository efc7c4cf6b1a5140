"""Files and folders that are whole or absent, JSON files among them.

What is written gets a temporary name first, beside the final one, so that renaming
stays on one file system.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import shutil
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from schemas.errors import AlbertError, SettingError
from schemas.layout import LOCK
from schemas.locks import locked

# Values by name: a JSON object, or what a command was given.
Values = dict[str, Any]

# Follows the name of what is not whole yet, before a part unique to each attempt.
TEMPORARY = ".tmp-"


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name when all of it is on disk."""
    check_is_file(path)
    with _temporary(path) as temporary:
        unnamed = _unnamed(path.parent)
        with unnamed or temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if unnamed:
                # With a folder's number Python follows the link to the file itself.
                place = file.fileno()
                try:
                    os.link(f"/proc/self/fd/{place}", temporary, src_dir_fd=place)
                except OSError:
                    file.seek(0)
                    with temporary.open("xb") as named:
                        shutil.copyfileobj(file, named)
                        named.flush()
                        os.fsync(named.fileno())
        temporary.replace(path)


def _unnamed(folder: Path) -> BinaryIO | None:
    """A file without a name, of which a killed process leaves nothing; None if there are none."""
    try:
        os.stat("/proc/self/fd")  # Which gives it a name.
        return open(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    except (AttributeError, OSError):
        return None


def copy_whole(source: Path, target: Path) -> None:
    """Copy a small file so that no reader ever sees half of it."""
    write_bytes(target, read_bytes(source))


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write in that gets its name when all of it is on disk.

    What was at `path` before is there until that moment. If that is a link, the folder
    that it leads to is replaced. What killed processes left beside it is removed first.
    """
    path = path.resolve() if path.is_symlink() else path
    _remove_halves(path)
    with _temporary(path) as temporary:
        temporary.mkdir()
        with locked(temporary):
            yield temporary
            for written in (*temporary.rglob("*"), temporary):
                _flush(written)
            if not path.exists():
                temporary.rename(path)
            elif not _exchange(temporary, path):
                # A folder cannot be renamed onto one that has something in it. Should this
                # process be killed between the two, `_remove_halves` puts the first one back.
                before = path.with_name(f"{temporary.name}{_BEFORE}")
                path.rename(before)
                temporary.rename(path)
                remove_quietly(before)
        _flush(path.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    names = (os.fsencode(one.absolute()), os.fsencode(other.absolute()))
    result: int = rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
    return result == 0


# Of Linux: names are relative to the current folder; exchange them.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2

# Follows the temporary name of a new folder in that of the one it replaces.
_BEFORE = "-before"

# Bytes of a name that leave room for what follows them, in a file system's 255.
_LONGEST = 200


def _remove_halves(path: Path) -> None:
    """Remove what killed processes left of a folder; put back what they took away."""
    left = re.compile(rf"{re.escape(_beginning(path))}[0-9a-f]{{32}}({_BEFORE})?")
    with contextlib.suppress(OSError):
        for half in [p for p in path.parent.iterdir() if left.fullmatch(p.name)]:
            if half.name.endswith(_BEFORE) and not path.exists():
                half.rename(path)
            elif half.is_dir():
                with locked(half, waits=False) as is_nobodys:
                    if is_nobodys:
                        remove_quietly(half)


def _beginning(path: Path) -> str:
    """How temporary names of a path begin, which may be as long as its system's longest."""
    return os.fsdecode(os.fsencode(path.name)[:_LONGEST]) + TEMPORARY


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A name beside a path, unused before and after; its errors name the path."""
    # On machines that share a folder, processes may have the same number.
    temporary = path.with_name(f"{_beginning(path)}{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
    except OSError as error:
        reason = error.strerror or error
        raise AlbertError(f"{path} cannot be written: {reason}.") from error
    finally:
        remove_quietly(temporary)


# A folder without a lock file this long after it was made is nobody's: the lock is the
# first thing that is put into one.
_ABANDONED_SECONDS = 3600


@contextlib.contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """A folder of this machine for temporary files, removed at the end.

    What killed processes left for the same purpose is removed at the beginning: the
    system released their locks.
    """
    prefix = f"albert-{purpose}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if left.is_symlink() or left.stat().st_uid != os.getuid():
                continue
            if (left / LOCK).exists():
                with (left / LOCK).open("rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_quietly(left)
            elif time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                remove_quietly(left)
    with (
        tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name,
        open(os.path.join(name, LOCK), "wb") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def _flush(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_quietly(path: Path) -> None:
    """Remove a file or a folder, if it is there and can be removed."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")

# What is read of a JSON file. A list in it takes a hundred times the memory of its two
# brackets, so values are counted first; a data set of a million files has six million.
_MAX_BYTES, _MAX_VALUES = 1 << 29, 10_000_000

_REMEDY = "correct the file or make it again"


def check_is_file(path: str | Path) -> None:
    """Refuse what is no regular file of this machine, which might never end."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise SettingError(f"{path} is a pipe or a device; give a file.")


def read_bytes(path: str | Path, *, most: int = _MAX_BYTES, may_be_pipe: bool = False) -> bytes:
    """All bytes of a file of this program, of which none is large.

    Args:
        most: More bytes than such a file has.
        may_be_pipe: Wait for what a pipe gives, which a person has named.
    """
    if not may_be_pipe:
        check_is_file(path)
    try:
        with Path(path).open("rb") as file:
            # Asked for more, reading would set that much memory aside.
            size = os.fstat(file.fileno()).st_size or most
            data = file.read(min(size, most) + 1)
    except FileNotFoundError:
        raise AlbertError(f"{path} does not exist.") from None
    except OSError as error:
        raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > most:
        raise AlbertError(f"{path} is larger than any such file of this program; {_REMEDY}.")
    return data


def read_json(path: str | Path, *, may_be_pipe: bool = False) -> dict[str, Any]:
    """Read a JSON object; see `read_bytes`."""
    return parse_json(read_bytes(path, may_be_pipe=may_be_pipe), path)


def parse_json(data: bytes, path: str | Path) -> dict[str, Any]:
    """The JSON object that a file holds."""
    if len(data) > _MAX_BYTES or sum(map(data.count, b"[{,")) > _MAX_VALUES:
        raise AlbertError(f"{path} is larger than any such file of this program; {_REMEDY}.")
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object)
    except RecursionError:
        reason = "its lists and objects are nested too deeply"
        raise AlbertError(f"{path} is not valid JSON: {reason}; {_REMEDY}.") from None
    except ValueError as error:
        raise AlbertError(f"{path} is not valid JSON: {error}; {_REMEDY}.") from error
    if not isinstance(value, dict):
        raise AlbertError(f"{path} must hold a JSON object, not a list or a value; {_REMEDY}.")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dictionary; a key that comes twice has no clear value."""
    values = dict(pairs)
    if len(values) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {name!r:.60} comes twice in one object")
    return values


@contextlib.contextmanager
def undamaged(path: str | Path, *, remedy: str) -> Iterator[None]:
    """Say in one sentence that a file is damaged, whatever goes wrong meanwhile.

    For files that this program writes itself, so that nobody has to check each value.

    >>> with undamaged("state.json", remedy="copy it again"):
    ...     {}["step"]
    Traceback (most recent call last):
    schemas.errors.AlbertError: state.json is damaged: it has no 'step'; copy it again.
    """
    try:
        yield
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        found = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        found = found.removesuffix(".")
        raise AlbertError(f"{path} is damaged: {found:.300}; {remedy}.") from error


def json_text(value: object) -> str:
    r"""The one spelling of a JSON value: indented, keys in the order given.

    What cannot be written as UTF-8, such as a path that is not, is escaped.

    >>> print(json_text({"b": 1, "a": "é\udce9"}), end="")
    {
      "b": 1,
      "a": "é\udce9"
    }
    """
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def write_json(path: str | Path, value: object) -> None:
    """Write a JSON file that no reader ever sees half-written."""
    write_text(path, json_text(value))


def write_text(path: str | Path, text: str) -> None:
    """Write a text file that no reader ever sees half-written."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file that no reader ever sees half-written."""
    with whole_file(Path(path)) as file:
        file.write(content)
