"""A data set on storage, copied to a folder of this machine where it is read.

The copy is named by the manifest, which holds the hash of every file: a data set that
was made again gets another one, and a file that is there is taken for the right one,
once it was hashed on its way.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.dataset.manifest import sha256_of
from pipeline.storage import files
from schemas.errors import AlbertError
from schemas.files import parse_json, whole_file, write_bytes
from schemas.layout import MANIFEST, SPM_MODEL
from schemas.manifest import DatasetManifest, ShardFile, parse_manifest
from schemas.readable import prefixed

_BLOCK_BYTES = 1 << 20

# Which of its files are read.
Choice = Callable[[DatasetManifest], tuple[ShardFile, ...]]


class LocalCopy(NamedTuple):
    """A data set of which files, some still missing, are to be on this machine."""

    place: str
    folder: Path
    missing: tuple[ShardFile, ...]

    @property
    def missing_bytes(self) -> int:
        """The size of what is not there yet."""
        return sum(shard.bytes for shard in self.missing)


def prepare_copy(place: str, *, cache: Path, choose: Choice) -> LocalCopy:
    """A copy with the manifest and the vocabulary, and what it has of the files."""
    path = files.join(place, MANIFEST)
    if not files.exists(path):
        raise AlbertError(
            f"{place} has no {MANIFEST}, so it is not a finished data set; give a "
            "folder that albert make-data made, or run it again to finish this one."
        )
    data = files.read_whole(path)
    manifest = parse_manifest(parse_json(data, path), path)
    name = f"{files.file_name(place.rstrip('/'))}-{hashlib.sha256(data).hexdigest()}"
    folder = cache / name[:-48]
    missing = tuple(s for s in choose(manifest) if not _is_here(folder / s.name, s))
    copy = LocalCopy(place, folder, missing)
    write_bytes(folder / SPM_MODEL, files.read_whole(files.join(place, SPM_MODEL)))
    write_bytes(folder / MANIFEST, data)
    free = shutil.disk_usage(folder).free
    if copy.missing_bytes > free:
        raise AlbertError(
            f"{place}: {prefixed(copy.missing_bytes, 'B')} of it is to be copied to "
            f"{folder}, where {prefixed(free, 'B')} of disk is free; set "
            "XDG_CACHE_HOME to a folder with more."
        )
    return copy


def _is_here(path: Path, shard: ShardFile) -> bool:
    return path.is_file() and path.stat().st_size == shard.bytes


def fetch(copy: LocalCopy) -> Iterator[int]:
    """Copy what is missing, several files at once; yields the bytes of each."""
    shards = {files.join(copy.place, shard.name): shard for shard in copy.missing}

    def fetch_one(path: str) -> int:
        shard = shards[path]
        digest = hashlib.sha256()
        (copy.folder / shard.name).parent.mkdir(parents=True, exist_ok=True)
        with files.open_binary(path) as source, whole_file(copy.folder / shard.name) as target:
            while block := source.read(_BLOCK_BYTES):
                digest.update(block)
                target.write(block)
            if digest.hexdigest() != shard.sha256:
                raise AlbertError(
                    f"{path} is not the file that the manifest describes; make the data again."
                )
        return shard.bytes

    yield from files.each_of(fetch_one, shards)


def remove_damaged(folder: Path, manifest: DatasetManifest) -> bool:
    """Remove from a copy what differs from the manifest; whether anything did."""
    damaged = [
        folder / shard.name
        for shard in manifest.shards
        if _is_here(folder / shard.name, shard) and sha256_of(folder / shard.name) != shard.sha256
    ]
    for path in damaged:
        path.unlink()
    return bool(damaged)


def cache_folder() -> Path:
    """Where copies are, after the XDG base directory specification."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "albert"


def all_files(manifest: DatasetManifest) -> tuple[ShardFile, ...]:
    """Every file, for training."""
    return manifest.shards


def first_files(split: str, *, copy: int, examples: int) -> Choice:
    """The files that have the first examples of a copy.

    Later epochs of documents may have fewer examples than the first one, so files with
    twice as many are chosen.
    """

    def choose(manifest: DatasetManifest) -> tuple[ShardFile, ...]:
        chosen: list[ShardFile] = []
        for shard in manifest.shard_files(split, copy):
            if sum(each.examples for each in chosen) >= 2 * examples:
                break
            chosen.append(shard)
        return tuple(chosen)

    return choose
