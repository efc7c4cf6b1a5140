"""Storage that is no folder of this machine, through fsspec.

Each scheme has one client per process, which finds keys and addresses where the
storage's own tools do: in the environment and in the user's files. A client keeps no
listing, because other machines write to the same storage.
"""

import functools
import io
import logging
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, TypeVar

from schemas.errors import AlbertError
from schemas.files import TEMPORARY, scratch_folder

Given = TypeVar("Given")
Result = TypeVar("Result")

# An answer takes long but little work, so many are waited for at once.
_REQUESTS = 16
# How much is asked for first, so that one answer tells what a file is.
_FIRST_BYTES = 256 << 10
# How many files' first bytes are cached.
_KEPT = 64
# Each further request for a file asks for twice as much, up to this.
_MAX_BYTES = 8 << 20

# Where storages say what a file's content is; the first one that is there counts.
_CHECKSUMS = (
    *("md5Hash", "crc32c", "ETag", "etag", "blob_id"),
    *("Last-Modified", "mtime", "created"),
)


class Scheme(NamedTuple):
    """A kind of storage.

    Attributes:
        extra: Of this package, with what its client needs; empty if nothing more is.
        has_folders: Whether it has folders as a disk has, where a file is seen while it
            is written; elsewhere a name appears when all of a file has arrived.
    """

    extra: str = ""
    can_write: bool = True
    has_folders: bool = False


SCHEMES = {
    "s3": Scheme("s3"),
    "gs": Scheme("gs"),
    "abfs": Scheme("azure"),
    "abfss": Scheme("azure"),
    "az": Scheme("azure"),
    "hdfs": Scheme(has_folders=True),
    "https": Scheme("https", can_write=False, has_folders=True),
    "http": Scheme("https", can_write=False, has_folders=True),
    "hf": Scheme("hub", can_write=False),
    # Of the process, for tests.
    "memory": Scheme(),
}


class Entry(NamedTuple):
    """What a storage tells of a file, or of a path with files below it."""

    bytes: int
    checksum: str
    is_folder: bool = False


def scheme_of(path: str) -> Scheme:
    """The kind of storage that a path names."""
    name = path.partition("://")[0].lower()
    if name not in SCHEMES:
        known = ", ".join(f"{each}://" for each in SCHEMES if each != "memory")
        raise AlbertError(
            f"{path}: {name}:// is not a storage that this program knows; give a path "
            f"on this machine, or one that begins with {known}."
        )
    return SCHEMES[name]


def find_entry(path: str) -> Entry | None:
    """What is at a path; None if nothing is there."""
    client, there = _client(path)
    with explained(path):
        try:
            return _entry(client.info(there))
        except FileNotFoundError:
            return None


def list_entries(folder: str, *, is_deep: bool = True) -> dict[str, Entry]:
    """The files in a folder, which need not exist, by name relative to it.

    If not deep, the folders in it come too.
    """
    client, there = _client(folder)
    start = there.rstrip("/") + "/"
    with explained(folder), suppress(FileNotFoundError):
        if is_deep:
            # What walks from folder to folder would pass over one that cannot be read.
            walks = scheme_of(folder).has_folders
            strictly = {"on_error": "raise"} if walks else {}
            found = client.find(start, detail=True, **strictly)
            if not found:
                # A client may take a storage that does not answer for an empty one.
                client.info(start.rstrip("/"))
            listed = found.values() if isinstance(found, dict) else ()
        else:
            listed = client.ls(start, detail=True)
        return {
            info["name"].removeprefix(start).rstrip("/"): _entry(info)
            for info in listed
            if info["name"].startswith(start) and info["name"] != start
            # What consoles of S3 have in place of a folder is no file.
            if not is_deep or (info["type"] == "file" and not info["name"].endswith("/"))
        }
    return {}


def read_file(path: str) -> bytes:
    """All bytes of a file."""
    client, there = _client(path)
    with explained(path):
        return bytes(client.cat_file(there))


def open_file(path: str, entry: Entry, *, block_bytes: int = 0) -> BinaryIO:
    """Open a file for reading and seeking; `block_bytes` are asked for at once."""
    return io.BufferedReader(_Ranges(path, entry, max(block_bytes, _FIRST_BYTES)))


class _Ranges(io.RawIOBase):
    """A file that is asked for in ranges."""

    def __init__(self, path: str, entry: Entry, first_bytes: int) -> None:
        super().__init__()
        self._path, self._entry = path, entry
        self._position = self._start = 0
        self._held, self._first_bytes = b"", first_bytes
        self._ahead = first_bytes

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        before = {os.SEEK_CUR: self._position, os.SEEK_END: self._entry.bytes}
        self._position = max(0, before.get(whence, 0) + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        if not 0 <= self._position - self._start < len(self._held):
            # Ask for what comes next, more of it the longer the file is read on.
            is_read_on = self._held and self._position == self._start + len(self._held)
            more = min(self._ahead * 2, _MAX_BYTES)
            self._ahead = more if is_read_on else self._first_bytes
            self._start = self._position
            if self._start == 0 and self._first_bytes == _FIRST_BYTES:
                self._held = _first_bytes(self._path, self._entry)
            else:
                end = min(self._entry.bytes, self._start + max(len(buffer), self._ahead))
                self._held = _read_range(self._path, self._entry, start=self._start, end=end)
        start = self._position - self._start
        data = self._held[start : start + len(buffer)]
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


@functools.lru_cache(maxsize=_KEPT)
def _first_bytes(path: str, entry: Entry) -> bytes:
    """The first bytes of a file, which are read several times to recognise it."""
    return _read_range(path, entry, start=0, end=min(entry.bytes, _FIRST_BYTES))


def _read_range(path: str, entry: Entry, *, start: int, end: int) -> bytes:
    """A range of a file, empty at its end."""
    if start >= end:
        return b""
    client, there = _client(path)
    with explained(path):
        data = bytes(client.cat_file(there, start=start, end=end))
    if len(data) == entry.bytes:
        # A web server may give the whole where a part was asked for.
        data = data[start:end]
    if len(data) != end - start:
        raise AlbertError(
            f"{path} cannot be read: {len(data)} bytes came where {end - start} were "
            "asked for; it was changed, or its server does not give parts of files."
        )
    return data


@contextmanager
def upload(path: str) -> Iterator[BinaryIO]:
    """Open a file for writing that is sent when it is whole.

    Until then it lies in the folder of this machine for temporary files.
    """
    scheme = scheme_of(path)
    if not scheme.can_write:
        name = path.partition("://")[0]
        raise AlbertError(f"{path} cannot be written: {name}:// can only be read.")
    with scratch_folder("upload") as folder:
        whole = folder / "whole"
        try:
            with whole.open("wb") as file:
                yield file
        except OSError as error:
            raise AlbertError(
                f"{path} cannot be written: {whole}: {error.strerror or error}."
            ) from error
        client, there = _client(path)
        with explained(path, "written"):
            if not scheme.has_folders:
                client.put_file(str(whole), there)
                return
            # No two attempts at one file, on whatever machines, may share a name.
            temporary = f"{there}{TEMPORARY}{uuid.uuid4().hex}"
            client.makedirs(there.rpartition("/")[0], exist_ok=True)
            try:
                client.put_file(str(whole), temporary)
                _rename(client, temporary, there)
            except BaseException:
                with suppress(Exception):
                    client.rm_file(temporary)
                raise


def _rename(client: Any, temporary: str, there: str) -> None:
    """Put a whole file in its place, where an earlier attempt at it may lie."""
    try:
        client.mv(temporary, there)
    except OSError as error:
        # A job removes all temporary names at its end, for remnants of killed workers.
        if not client.exists(temporary):
            raise OSError(
                "another job with the same output has removed it; run the same command again"
            ) from error
        if not client.exists(there):
            raise
        # Some storages never rename onto a file.
        client.rm_file(there)
        client.mv(temporary, there)


def remove_file(path: str) -> None:
    """Remove a file, which may be gone already."""
    client, there = _client(path)
    with explained(path, "removed"), suppress(FileNotFoundError):
        client.rm_file(there)


def at_once(function: Callable[[Given], Result], given: Iterable[Given]) -> Iterator[Result]:
    """What a function that waits for storage gives for each, in order."""
    pool = ThreadPoolExecutor(_REQUESTS, thread_name_prefix="storage")
    try:
        yield from pool.map(function, given)
    finally:
        pool.shutdown(cancel_futures=True)


def _client(path: str) -> tuple[Any, str]:
    """The client of this process for the storage of a path, and the path without its scheme."""
    scheme = scheme_of(path)
    import fsspec

    name = path.partition("://")[0].lower()
    try:
        kind = fsspec.get_filesystem_class(name)
        options = kind._get_kwargs_from_urls(path)
    except ImportError as error:
        raise AlbertError(
            f"{path}: {name}:// needs a package that is not installed; run "
            f'pip install "albert-pretraining[{scheme.extra}]".'
        ) from error
    # What matters comes as an exception.
    logging.getLogger(kind.__module__.partition(".")[0]).setLevel(logging.CRITICAL)
    options = {key: options[key] for key in sorted(options) if key != "path"}
    with explained(path):
        client = _connected(os.getpid(), kind, tuple(options.items()))
        return client, str(client._strip_protocol(path))


@functools.lru_cache
def _connected(_process: int, kind: Any, options: tuple[tuple[str, Any], ...]) -> Any:
    return kind(**dict(options), use_listings_cache=False, skip_instance_cache=True)


def _entry(info: Mapping[str, Any]) -> Entry:
    checksum = next((info[name] for name in _CHECKSUMS if info.get(name)), "unknown")
    # A client may tell a time as a number in a list, and as a date of one file.
    checksum = checksum.timestamp() if isinstance(checksum, datetime) else checksum
    size = info["size"]
    is_folder = info["type"] == "directory"
    return Entry(-1 if size is None else size, str(checksum).strip('"'), is_folder)


@contextmanager
def explained(path: str, verb: str = "read") -> Iterator[None]:
    """Within a block, turn whatever a client or this machine raises into one sentence."""
    try:
        yield
    except (AlbertError, MemoryError):
        raise
    # The clients raise what some ten libraries under them do.
    except Exception as error:
        # The first line of what it says, or else its name.
        said = str(getattr(error, "strerror", None) or error).strip()
        line = " ".join(said.partition("\n")[0].split())
        reason = line.rstrip(".") or type(error).__name__
        if isinstance(error, FileNotFoundError):
            # Clients name it by their own path, or by the address that they asked.
            is_read = verb == "read"
            reason = "it does not exist" if is_read else "its bucket does not exist"
        raise AlbertError(f"{path} cannot be {verb}: {reason}.") from error
