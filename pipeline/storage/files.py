"""Files, wherever they are: on this machine, or anywhere that Beam can reach.

A path with a scheme (``gs://bucket/dump.xml.bz2``) goes through Beam's file systems,
which are imported only then; any other is a local file and needs the standard library
alone. Nothing else in the product opens an input or writes to a cluster's storage.
"""

import glob
import hashlib
import io
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from schemas.errors import AlbertError
from schemas.whole_file import TEMPORARY, whole_file

_HASH_BLOCK_BYTES = 1 << 20
# For whoever shows a person how far the hashing of large files is.
_on_hashed: ContextVar[Callable[[int], None]] = ContextVar(
    "on_hashed", default=lambda _: None
)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def is_remote(path: str) -> bool:
    r"""Whether a path names a file system other than this machine's.

    >>> is_remote("gs://bucket/dump.xml"), is_remote("C:\\dump.xml")
    (True, False)
    """
    return _SCHEME.match(path) is not None


def is_folder(path: str) -> bool:
    """Whether a path stands for all files below it."""
    return path.endswith("/") if is_remote(path) else os.path.isdir(path)


def find_files(pattern: str) -> list[str]:
    """The files at a path, in a folder or of a glob, in order; hidden ones left out.

    Raises:
        AlbertError: A remote file system cannot be reached.
    """
    if is_remote(pattern):
        return _find_remote(pattern)
    path = Path(pattern)
    if is_folder(pattern):
        return sorted(str(p) for p in path.rglob("*") if _is_shown_file(p, path))
    if os.path.exists(pattern):
        return [pattern]
    return sorted(p for p in glob.glob(pattern, recursive=True) if Path(p).is_file())


def find_below(folder: str | Path, pattern: str) -> list[str]:
    """The files below a folder that match, whatever characters its own name has.

    Raises:
        AlbertError: A remote file system cannot be reached.
    """
    if is_remote(str(folder)):
        return _find_remote(join(folder, pattern))
    return sorted(map(str, Path(folder).glob(pattern)))


def sizes_below(folder: str | Path) -> dict[str, int]:
    """The size in bytes of every file below a folder, from one listing.

    Returns:
        By name relative to the folder.

    Raises:
        AlbertError: A remote file system cannot be reached.
    """
    start = join(folder, "")
    if is_remote(start):
        with _explained(start):
            found = _file_systems().match([f"{start}**"])[0].metadata_list
        return {each.path.removeprefix(start): each.size_in_bytes for each in found}
    paths = (path for path in Path(folder).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}


def _is_shown_file(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return not any(part.startswith(".") for part in parts) and path.is_file()


def file_name(path: str) -> str:
    r"""The last part of a path, as text; bytes that are no UTF-8 are replaced in it.

    >>> file_name("gs://bucket/enwiki/dump.xml.bz2"), file_name("caf\udce9.txt")
    ('dump.xml.bz2', 'caf�.txt')
    """
    name = PurePosixPath(path).name if is_remote(path) else Path(path).name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def join(folder: str | Path, name: str) -> str:
    """A file below a folder.

    >>> join("gs://bucket/data/", "manifest.json")
    'gs://bucket/data/manifest.json'
    """
    return f"{str(folder).rstrip('/')}/{name}"


def exists(path: str) -> bool:
    """Whether there is such a file.

    Raises:
        AlbertError: A remote file system cannot be reached.
    """
    if not is_remote(path):
        return os.path.exists(path)
    with _explained(path):
        return bool(_file_systems().exists(path))


def file_size(path: str) -> int:
    """The size of a file in bytes.

    Raises:
        AlbertError: It cannot be read.
    """
    with _explained(path):
        if is_remote(path):
            return int(_file_systems().match([path])[0].metadata_list[0].size_in_bytes)
        return Path(path).stat().st_size


def open_binary(path: str) -> BinaryIO:
    """Open a file for reading and seeking.

    Raises:
        AlbertError: It cannot be read.
    """
    with _explained(path):
        if is_remote(path):
            # What Beam decompresses by itself it may decompress wrongly.
            types = _compression_types()
            return _seekable(
                _file_systems().open(path, compression_type=types.UNCOMPRESSED)
            )
        return Path(path).open("rb")


def file_hash(path: str) -> str:
    """The sha256 of a local file; of a remote one the checksum that its system keeps.

    Raises:
        AlbertError: It cannot be read.
    """
    with _explained(path):
        if is_remote(path):
            return f"checksum:{_file_systems().checksum(path)}"
        digest, on_bytes = hashlib.sha256(), _on_hashed.get()
        with Path(path).open("rb") as file:
            while block := file.read(_HASH_BLOCK_BYTES):
                digest.update(block)
                on_bytes(len(block))
        return digest.hexdigest()


@contextmanager
def told_of_hashing(on_bytes: Callable[[int], None]) -> Iterator[None]:
    """Within a block, have a function told of all bytes that `file_hash` has read."""
    before = _on_hashed.set(on_bytes)
    try:
        yield
    finally:
        _on_hashed.reset(before)


def read_whole(path: str) -> bytes:
    """All bytes of a file.

    Raises:
        AlbertError: The file is absent or cannot be read.
    """
    if not exists(path):
        raise AlbertError(f"{path} does not exist.")
    with open_binary(path) as file, _explained(path):
        return file.read()


@contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name when it is whole.

    Raises:
        AlbertError: The file cannot be written.
    """
    if not is_remote(path):
        with whole_file(Path(path)) as file:
            yield file
        return
    # No two attempts at one file, on whatever machines, may share a name.
    temporary = f"{path}{TEMPORARY}{uuid.uuid4().hex}"
    systems = _file_systems()
    with _explained(path, "written"):
        with suppress(OSError):  # the folder exists, or the storage has no folders
            systems.mkdirs(path.rpartition("/")[0])
        uncompressed = _compression_types().UNCOMPRESSED
        stream = systems.create(temporary, compression_type=uncompressed)
    try:
        with stream:
            yield stream
        _rename(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            systems.delete([temporary])
        if isinstance(error, OSError):
            with _explained(path, "written"):
                raise
        raise


def _rename(temporary: str, path: str) -> None:
    """Put a whole file in its place, where an earlier attempt at it may lie."""
    systems = _file_systems()
    try:
        systems.rename([temporary], [path])
    except OSError:
        if not systems.exists(path):
            raise
        # Some systems never rename onto a file.
        systems.delete([path])
        systems.rename([temporary], [path])


def write_whole(path: str, text: str) -> None:
    """Write a text file that is whole or absent.

    Raises:
        AlbertError: The file cannot be written.
    """
    with new_file(path) as file:
        file.write(text.encode("utf-8"))


def remove(path: str) -> None:
    """Remove a file, or a folder with all that is in it; nothing if it is not there.

    Raises:
        AlbertError: It cannot be removed.
    """
    if not is_remote(path):
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink(missing_ok=True)
        return
    found = find_files(f"{path}/") + find_files(path)
    if found:
        with _explained(path, "removed"):
            _file_systems().delete(found)


@contextmanager
def _explained(path: str, verb: str = "read") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        details = getattr(error, "exception_details", None)
        reason = error.strerror or str(
            next(iter(details.values()), error) if details else error
        )
        raise AlbertError(f"{path} cannot be {verb}: {reason}.") from error
    except ValueError as error:
        # Beam has no better way to say that it knows no such file system.
        raise AlbertError(
            f"{path} cannot be {verb}: {error}; for gs:// install "
            f"albert-pretraining[gcp]."
        ) from error


def _find_remote(pattern: str) -> list[str]:
    if is_folder(pattern):
        pattern += "**"
    with _explained(pattern):
        found = _file_systems().match([pattern])[0].metadata_list
        return sorted(metadata.path for metadata in found)


def _file_systems() -> Any:
    from apache_beam.io.filesystems import FileSystems

    return FileSystems


def _compression_types() -> Any:
    from apache_beam.io.filesystem import CompressionTypes

    return CompressionTypes


def _seekable(stream: Any) -> BinaryIO:
    is_raw = isinstance(stream, io.RawIOBase)
    return cast(BinaryIO, io.BufferedReader(stream) if is_raw else stream)
