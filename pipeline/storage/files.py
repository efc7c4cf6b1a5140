"""Files, wherever they are: on this machine, or on storage that its program reaches.

A path with a scheme (``gs://bucket/dump.xml``) goes through `remote`; any other is a
local file and needs the standard library alone. Nothing else in the product opens an
input or writes to a cluster's storage.
"""

import fnmatch
import functools
import glob
import hashlib
import io
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NoReturn, TypeVar

from pipeline.storage import remote
from pipeline.storage.remote import Entry, explained
from schemas.errors import AlbertError, SettingError
from schemas.files import check_is_file, parse_json, whole_file
from schemas.secrets import without_secrets

Result = TypeVar("Result")

_HASH_BLOCK_BYTES = 1 << 20
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")
_MAGIC = re.compile(r"[*?[]")

_CHECKSUM = "checksum:"

# What storage said of the files that a person gave; nobody writes them meanwhile.
_entries: dict[str, Entry] = {}


def is_remote(path: str) -> bool:
    r"""Whether a path names a file system other than this machine's.

    >>> is_remote("gs://bucket/dump.xml"), is_remote("C:\\dump.xml")
    (True, False)
    """
    return _SCHEME.match(path) is not None


def is_folder(path: str) -> bool:
    """Whether a path stands for all files below it."""
    if not is_remote(path):
        return os.path.isdir(path)
    if path.endswith("/") and not _MAGIC.search(path):
        return True
    entry = _known(path)
    return entry is not None and entry.is_folder


def find_files(pattern: str) -> list[str]:
    """The files at a path, in a folder or of a glob, in order; hidden ones left out.

    A folder that a glob matches stands for all files below it, unless the glob has ``**``.
    """
    if is_remote(pattern):
        if is_folder(pattern):
            found = _list_matching(pattern, "**")
        elif (entry := _known(pattern)) is not None:
            found = {pattern: entry}
        else:
            found = {}
            folder, names = _split_glob(pattern.rstrip("/"))
            below = "/**" if "/" in names and "**" not in names else ""
            for path, entry in _list_matching(folder, names + below).items():
                if entry.is_folder:
                    found |= _list_matching(path, "**")
                # Where all below is listed, files stand for the folders that they are in.
                elif below or not pattern.endswith("/"):
                    found[path] = entry
        # What the listing says of them is kept. The list of a web server has no sizes.
        _entries.update({path: entry for path, entry in found.items() if entry.bytes >= 0})
        return sorted(found)
    if is_folder(pattern):
        return sorted(map(str, _files_in(Path(pattern))))
    if os.path.exists(pattern):
        return [pattern]
    matches = glob.glob(pattern, recursive=True)
    are_taken = "**" not in pattern
    taken = (each for each in matches if os.path.isfile(each) or (are_taken and is_folder(each)))
    return sorted({path for each in taken for path in find_files(each)})


def find_local(pattern: str) -> list[str]:
    """The files of this machine at a path, in a folder or of a glob."""
    return [] if is_remote(pattern) else find_files(pattern)


def _files_in(folder: Path) -> Iterator[Path]:
    """The files below a folder, links followed; what is there twice comes once."""

    def refuse(error: OSError) -> NoReturn:
        raise AlbertError(f"{error.filename} cannot be read: {error.strerror}.") from error

    seen = set()
    for parent, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        real = os.path.realpath(parent)
        # A link may lead to a folder above itself.
        folders[:] = [] if real in seen else sorted(filter(_is_shown_name, folders))
        if real not in seen:
            paths = (Path(parent, name) for name in filter(_is_shown_name, names))
            yield from (path for path in paths if path.is_file())
        seen.add(real)


def _is_shown_name(name: str) -> bool:
    return not name.startswith(".")


def _split_glob(pattern: str) -> tuple[str, str]:
    """The folder that a glob begins with, and what is to match below it.

    >>> _split_glob("gs://bucket/wiki/*/part-?.bz2")
    ('gs://bucket/wiki', '*/part-?.bz2')
    >>> _split_glob("gs://bucket/dump.xml")
    ('gs://bucket', 'dump.xml')
    """
    start, _, rest = pattern.partition("://")
    parts = rest.split("/")
    fixed = next((i for i, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
    fixed = max(1, min(fixed, len(parts) - 1))
    return f"{start}://{'/'.join(parts[:fixed])}", "/".join(parts[fixed:])


def _list_matching(folder: str, pattern: str, *, with_hidden: bool = False) -> dict[str, Entry]:
    """The files below a remote folder whose names there match, by path.

    By a pattern of one name without ``**`` folders come too.
    """
    parts = pattern.split("/")
    found = remote.list_entries(folder, is_deep=len(parts) > 1 or "**" in pattern)
    return {
        join(folder, name): entry
        for name, entry in found.items()
        if _matches(name.split("/"), parts, with_hidden=with_hidden)
    }


def _matches(names: list[str], parts: list[str], *, with_hidden: bool) -> bool:
    """Whether the parts of a path match those of a glob, by the rules of `glob.glob`.

    >>> _matches(["low", "b.txt"], ["**", "*.txt"], with_hidden=False)
    True
    >>> _matches([".git", "b.txt"], ["**", "*.txt"], with_hidden=False)
    False
    """
    if not parts:
        return not names
    first, rest = parts[0], parts[1:]
    if first == "**" and _matches(names, rest, with_hidden=with_hidden):
        return True
    if not names:
        return False
    is_shown = with_hidden or first.startswith(".") or _is_shown_name(names[0])
    if not is_shown or not fnmatch.fnmatchcase(names[0], first):
        return False
    following = parts if first == "**" else rest
    return _matches(names[1:], following, with_hidden=with_hidden)


def find_below(folder: str | Path, pattern: str) -> list[str]:
    """The files below a folder that match, whatever characters its own name has."""
    if is_remote(str(folder)):
        start, _, name = pattern.rpartition("/")
        if _MAGIC.search(start):
            start, name = "", pattern
        place = join(folder, start).rstrip("/")
        found = _list_matching(place, name, with_hidden=True)
        return sorted(path for path, entry in found.items() if not entry.is_folder)
    return sorted(map(str, Path(folder).glob(pattern)))


def sizes_below(folder: str | Path) -> dict[str, int]:
    """The size in bytes of every file below a folder, from one listing."""
    if is_remote(str(folder)):
        found = remote.list_entries(str(folder))
        return {name: entry.bytes for name, entry in found.items()}
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}


def file_name(path: str) -> str:
    r"""The last part of a path, as text; bytes that are no UTF-8 are replaced in it.

    Secrets of an address are left out.

    >>> file_name("gs://bucket/enwiki/dump.xml.bz2"), file_name("caf\udce9.txt")
    ('dump.xml.bz2', 'caf�.txt')
    """
    remote_name = PurePosixPath(without_secrets(path)).name
    name = remote_name if is_remote(path) else Path(path).name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def join(folder: str | Path, name: str) -> str:
    """A file below a folder.

    >>> join("gs://bucket/data/", "manifest.json")
    'gs://bucket/data/manifest.json'
    """
    return f"{str(folder).rstrip('/')}/{name}"


def exists(path: str) -> bool:
    """Whether there is such a file."""
    if is_remote(path):
        return remote.find_entry(path) is not None
    return os.path.exists(path)


def file_size(path: str) -> int:
    """The size of a file in bytes."""
    if is_remote(path):
        return _file_entry(path).bytes
    with explained(path):
        return Path(path).stat().st_size


def remember(path: str, *, size: int, sha256: str) -> None:
    """Note a remote file as another process found it, so as not to ask again."""
    if is_remote(path):
        _entries.setdefault(path, Entry(size, sha256.removeprefix(_CHECKSUM)))


def open_binary(path: str, *, block_bytes: int = 0) -> BinaryIO:
    """Open a file for reading and seeking."""
    if is_remote(path):
        return remote.open_file(path, _file_entry(path), block_bytes=block_bytes)
    check_is_file(path)
    with explained(path):
        return io.BufferedReader(_LocalFile(path))


class _LocalFile(io.FileIO):
    """A local file; when its disk or network fails, that is not taken for damage."""

    def readinto(self, buffer: Any, /) -> int:
        with explained(str(self.name)):
            return super().readinto(buffer)

    def readall(self) -> bytes:
        with explained(str(self.name)):
            return super().readall()


def file_hash(path: str, *, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """The sha256 of a local file; for a remote one, the checksum that storage keeps."""
    if is_remote(path):
        return f"{_CHECKSUM}{_file_entry(path).checksum}"
    check_is_file(path)
    with explained(path):
        digest = hashlib.sha256()
        with Path(path).open("rb") as file:
            while block := file.read(_HASH_BLOCK_BYTES):
                digest.update(block)
                on_bytes(len(block))
        return digest.hexdigest()


def is_unchanged(path: str, *, size: int, sha256: str, since: float) -> bool:
    """Whether a file is what it was: as storage says, or by its times, else by its hash."""
    if is_remote(path):
        entry = remote.find_entry(path)
        return entry is not None and f"{_CHECKSUM}{entry.checksum}" == sha256
    with explained(path):
        found = Path(path).stat()
    if found.st_size != size or max(found.st_mtime, found.st_ctime) < since:
        return found.st_size == size
    return _hash_at(path, found.st_mtime_ns, found.st_ctime_ns) == sha256


@functools.cache
def _hash_at(path: str, *_: int) -> str:
    """The hash of a file that had these times: a clock may be behind that of its server."""
    return file_hash(path)


def read_whole(path: str) -> bytes:
    """All bytes of a file."""
    if is_remote(path):
        return remote.read_file(path)
    if not exists(path):
        raise SettingError(f"{path} does not exist.")
    check_is_file(path)
    with explained(path):
        return Path(path).read_bytes()


def read_whole_json(path: str) -> dict[str, Any]:
    """The JSON object that a file holds."""
    return parse_json(read_whole(path), path)


@contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name when it is whole."""
    if is_remote(path):
        _entries.pop(path, None)
        with remote.upload(path) as file:
            yield file
        return
    with whole_file(Path(path)) as file:
        yield file


def write_whole(path: str, content: str | bytes) -> None:
    """Write a file that is whole or absent."""
    with new_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def remove(path: str) -> None:
    """Remove a file, or a folder with all that is in it; nothing if it is not there."""
    if not is_remote(path):
        with explained(path, "removed"), suppress(FileNotFoundError):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                Path(path).unlink()
        return
    names = [join(path, name) for name in remote.list_entries(path)]
    for _ in remote.at_once(remote.remove_file, names or [path]):
        pass


def each_of(function: Callable[[str], Result], paths: Iterable[str]) -> Iterator[Result]:
    """What a function that reads files gives for each, in order.

    Remote ones are read many at once, because each is waited for.
    """
    paths = list(paths)
    if any(map(is_remote, paths)):
        return remote.at_once(function, paths)
    return map(function, paths)


def _known(path: str) -> Entry | None:
    """What is at a remote path, by the listing that found it or else asked for."""
    return _entries.get(path) or remote.find_entry(path)


def _file_entry(path: str) -> Entry:
    entry = _known(path)
    if entry is None:
        raise AlbertError(f"{path} cannot be read: it does not exist.")
    if entry.bytes < 0:
        raise AlbertError(
            f"{path} cannot be read: its server does not say how large it is; download it."
        )
    return entry
