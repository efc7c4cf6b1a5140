"""Files, wherever they are: on this machine, or anywhere that Beam can read.

A path with a scheme (``gs://bucket/dump.xml.bz2``) goes through Beam's file systems,
which are imported only then; any other is a local file and needs the standard library
alone. Nothing else in the product opens an input.
"""

import glob
import hashlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from schemas.errors import AlbertError

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def is_remote(path: str) -> bool:
    r"""Whether a path names a file system other than this machine's.

    >>> is_remote("gs://bucket/dump.xml"), is_remote("C:\\dump.xml")
    (True, False)
    """
    return _SCHEME.match(path) is not None


def is_folder(path: str) -> bool:
    """Whether all files below a path are meant."""
    return path.endswith("/") if is_remote(path) else os.path.isdir(path)


def find_files(pattern: str) -> list[str]:
    """The files behind a file, folder or glob, in order; hidden ones left out.

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


def _is_shown_file(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return not any(part.startswith(".") for part in parts) and path.is_file()


def file_name(path: str) -> str:
    """The last part of a path.

    >>> file_name("gs://bucket/enwiki/dump.xml.bz2")
    'dump.xml.bz2'
    """
    return PurePosixPath(path).name if is_remote(path) else Path(path).name


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
    """The sha256 of a local file; of a remote one, what its system calls its checksum.

    Raises:
        AlbertError: It cannot be read.
    """
    with _explained(path):
        if is_remote(path):
            return f"checksum:{_file_systems().checksum(path)}"
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        details = getattr(error, "exception_details", None)
        reason = error.strerror or str(
            next(iter(details.values()), error) if details else error
        )
        raise AlbertError(f"{path} cannot be read: {reason}.") from error
    except ValueError as error:
        # Beam has no better way to say that it knows no such file system.
        raise AlbertError(
            f"{path} cannot be read: {error}; for gs:// install "
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
