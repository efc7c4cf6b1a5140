"""What is finished of a data set: for going on with it, and for the progress bar.

Wherever a worker runs, it leaves a mark for every chunk that it has read and a sidecar
for every shard that it has made. Both say which files are whole, and how large they
are; where one is missing or has another size, they do not count.
"""

import contextlib
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.job.spill import chunks_folder
from pipeline.storage.files import (
    each_of,
    exists,
    file_size,
    find_below,
    join,
    read_whole,
    remove,
    sizes_below,
)
from schemas.errors import AlbertError
from schemas.files import TEMPORARY, parse_json
from schemas.layout import (
    CHUNK_MARKS,
    DATA_CARD,
    MANIFEST,
    SIDECAR_FILES,
    SIDECARS,
    SPM_MODEL,
    WORK,
)
from schemas.manifest import parse_manifest

# What reading a mark or a sidecar raises that is damaged; what it tells is made again.
_DAMAGED = (AlbertError, KeyError, TypeError, AttributeError)


def finished_sidecar(path: str, fingerprint: str) -> dict[str, Any] | None:
    """The description of a shard, if a job of this fingerprint has finished it."""
    try:
        sidecar = parse_json(read_whole(path), path)
    except AlbertError:
        return None
    return sidecar if sidecar.get("fingerprint") == fingerprint else None


def is_whole_dataset(output: str | Path) -> bool:
    """Whether a data set is finished and every file of it is there in its size."""
    path = join(output, MANIFEST)
    if not exists(path):
        return False
    sizes = sizes_below(output)
    manifest = parse_manifest(parse_json(read_whole(path), path), path)
    shards = ({"name": shard.name, "bytes": shard.bytes} for shard in manifest.shards)
    return {SPM_MODEL, DATA_CARD} <= sizes.keys() and _are_there(shards, sizes)


def forget_incomplete(output: str | Path) -> None:
    """Remove the manifest, and the sidecar of every shard that lacks a file.

    What is left can be trusted: such a shard is made again, it alone.
    """
    remove(join(output, MANIFEST))
    sizes = sizes_below(output)
    sidecars = [join(output, name) for name in sizes if name.startswith(f"{SIDECARS}/")]
    are_whole = each_of(lambda sidecar: _is_whole_shard(sidecar, sizes), sidecars)
    for sidecar, is_whole in zip(sidecars, are_whole, strict=True):
        if not is_whole:
            remove(sidecar)


def _is_whole_shard(sidecar: str, sizes: Mapping[str, int]) -> bool:
    try:
        return _are_there(parse_json(read_whole(sidecar), sidecar)["files"], sizes)
    except _DAMAGED:
        return False


def _are_there(files: Iterable[Mapping[str, Any]], sizes: Mapping[str, int]) -> bool:
    return all(sizes.get(file["name"]) == file["bytes"] for file in files)


class Progress(NamedTuple):
    """How much is done."""

    read_bytes: int = 0
    documents: int = 0
    shards: int = 0
    examples: int = 0
    written_bytes: int = 0


class ProgressReader:
    """Reads the marks and sidecars of a running job, each once."""

    def __init__(self, output: str | Path) -> None:
        self._chunks = chunks_folder(output)
        # The marks of chunks are there or, if a cluster works, in the data set.
        self._places = dict.fromkeys((str(output), str(self._chunks)))
        self._seen: dict[str, Progress] = {}
        self._last = Progress()

    def poll(self) -> Progress:
        """What is done so far."""
        # The storage may be out of reach for a moment.
        with contextlib.suppress(AlbertError):
            for pattern in (CHUNK_MARKS, SIDECAR_FILES):
                for path in chain(*(find_below(p, pattern) for p in self._places)):
                    if path not in self._seen:
                        mark = parse_json(read_whole(path), path)
                        self._seen[path] = _read_mark(mark)
            reading = Progress(read_bytes=self._unfinished_bytes())
            done = zip(reading, *self._seen.values(), strict=True)
            self._last = Progress(*map(sum, done))
        return self._last

    def _unfinished_bytes(self) -> int:
        """Text of the chunks that are being read, some of which may be large."""
        return sum(map(file_size, find_below(self._chunks, f"{WORK}/*{TEMPORARY}*")))


def _read_mark(mark: Mapping[str, Any]) -> Progress:
    """What a mark or a sidecar says; nothing if it is damaged."""
    try:
        if "counts" in mark:
            documents = int(mark["counts"]["documents"])
            return Progress(read_bytes=int(mark["text_bytes"]), documents=documents)
        examples, written = (
            sum(int(file[key]) for file in mark["files"])
            for key in ("examples", "bytes")
        )
        return Progress(shards=1, examples=examples, written_bytes=written)
    except (*_DAMAGED, ValueError):
        return Progress()
