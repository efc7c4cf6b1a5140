"""What a job keeps on disk: documents that wait for their shard, and what is finished.

On one machine reading a chunk leaves one file: blocks, each of which has its documents
sorted by shard after a table of where each shard's are. Building a shard reads its
stretch of every block. So memory grows neither with the corpus nor with a file that
cannot be divided, and only numbers of chunks go through the runner. The files lie in
the data set, or for one on storage in a folder of this machine.

Wherever a worker runs, it leaves a mark for every chunk that it has read and a sidecar
for every shard that it has made. Both say which files are whole, and how large they
are; where one is missing or has another size, they do not count. A job that goes on and
the progress bar read them.
"""

import contextlib
import hashlib
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pipeline.core.documents import ShardDocument
from pipeline.dataset.local_copy import cache_folder
from pipeline.dataset.shard import ShardPlan
from pipeline.storage.files import (
    each_of,
    exists,
    file_name,
    file_size,
    find_below,
    is_remote,
    join,
    read_whole,
    remove,
    sizes_below,
)
from schemas.errors import AlbertError
from schemas.files import TEMPORARY, parse_json, read_json, whole_file
from schemas.layout import (
    CHUNK_MARKS,
    DATA_CARD,
    MANIFEST,
    SIDECAR_FILES,
    SIDECARS,
    SPM_MODEL,
    WORK,
    ChunkFile,
    chunk_file,
)
from schemas.manifest import parse_manifest

# Text that is held in memory before it is written as a block.
BLOCK_BYTES = 16 << 20

# A block begins with the place of its end in the file, and for each shard the places
# where its documents start and end.
_END = struct.Struct("<Q")
_STRETCH = struct.Struct("<QQ")
# A document: its id, the length of its text in bytes, whether it is the whole or the
# first part of one, its text.
_HEAD = struct.Struct("<16sI?")


def chunks_folder(output: str | Path) -> Path:
    """Where the chunks of a data set wait.

    >>> chunks_folder("data")
    PosixPath('data')
    >>> chunks_folder("s3://bucket/data").name
    'make-data-397b84d867d3f09b'
    """
    if not is_remote(str(output)):
        return Path(output)
    name = hashlib.sha256(str(output).encode()).hexdigest()[:16]
    return cache_folder() / f"make-data-{name}"


def forget_work(output: str | Path, *, is_here: bool) -> None:
    """Remove what only a job that makes a data set needs.

    Args:
        is_here: Whether it is one of this machine, which holds the folder of chunks.
    """
    remove(join(output, WORK))
    if is_here and is_remote(str(output)):
        # A network file system keeps a folder as long as its lock file is open.
        with contextlib.suppress(AlbertError):
            remove(str(chunks_folder(output)))


def write_spill(
    documents: Iterable[ShardDocument], chunk: int, *, plan: ShardPlan, output: Path
) -> int:
    """Write the documents of a chunk; returns the size of the file."""
    shards = [bytearray() for _ in plan.shard_numbers()]
    held_bytes = 0
    with whole_file(output / chunk_file(chunk, "documents")) as file:
        for document in documents:
            text = document.text.encode("utf-8", errors="replace")
            shard = shards[plan.shard_of(document.id)]
            shard += _HEAD.pack(document.id, len(text), document.is_first)
            shard += text
            held_bytes += len(text)
            if held_bytes >= BLOCK_BYTES:
                _write_block(file, shards)
                held_bytes = 0
        _write_block(file, shards)
        return file.tell()


def _write_block(file: BinaryIO, shards: list[bytearray]) -> None:
    """Write what is held of each shard, and let go of it."""
    end = file.tell() + _END.size + _STRETCH.size * len(shards)
    table = []
    for shard in shards:
        start, end = end, end + len(shard)
        table.append(_STRETCH.pack(start, end))
    file.write(_END.pack(end))
    file.writelines(table)
    for number, shard in enumerate(shards):
        file.write(shard)
        shards[number] = bytearray()


def read_spills(chunks: int, shard: int, *, output: Path) -> Iterator[ShardDocument]:
    """The documents of a shard, from the files of all chunks."""
    for chunk in range(chunks):
        path = output / chunk_file(chunk, "documents")
        try:
            with path.open("rb") as file:
                yield from _read_spill(file, shard)
        except OSError as error:
            raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
        except (EOFError, struct.error):
            raise AlbertError(f"{path} is cut off; run the same command again.") from None


def _read_spill(file: BinaryIO, shard: int) -> Iterator[ShardDocument]:
    """The documents of a shard in one file; EOFError or struct.error if it is cut."""
    size = file.seek(0, os.SEEK_END)
    block = 0
    while block < size or size == 0:
        file.seek(block)
        (block_end,) = _END.unpack(file.read(_END.size))
        file.seek(shard * _STRETCH.size, os.SEEK_CUR)
        start, end = _STRETCH.unpack(file.read(_STRETCH.size))
        file.seek(start)
        data = file.read(end - start)
        if block_end > size or len(data) < end - start:
            raise EOFError
        place = 0
        while place < len(data):
            document_id, text_bytes, is_first = _HEAD.unpack_from(data, place)
            place += _HEAD.size
            text = data[place : place + text_bytes].decode("utf-8")
            yield ShardDocument(document_id, text, is_first)
            place += text_bytes
        block = block_end


def is_finished(
    chunk: int,
    *,
    output: Path,
    fingerprint: str,
    mark: ChunkFile = "json",
    file: ChunkFile = "documents",
) -> bool:
    """Whether work on a chunk has left a mark of this fingerprint and a whole file."""
    try:
        said = read_json(output / chunk_file(chunk, mark))
        size = (output / chunk_file(chunk, file)).stat().st_size
    except (AlbertError, OSError):
        return False
    return said.get("fingerprint") == fingerprint and said.get("file_bytes") == size


def forget_unfinished(fingerprints: Mapping[int, str], *, output: Path) -> None:
    """Remove the marks of chunks that are not whole or of another job, and halves.

    Args:
        fingerprints: Of the chunks of the job, by number.
    """
    kept = {
        Path(chunk_file(chunk, "json")).name
        for chunk, fingerprint in fingerprints.items()
        if is_finished(chunk, output=output, fingerprint=fingerprint)
    }
    for path in find_below(output, CHUNK_MARKS):
        if file_name(path) not in kept:
            remove(path)
    for path in find_below(output, f"{WORK}/*{TEMPORARY}*"):
        remove(path)


# What reading a mark or a sidecar raises that is damaged; what it tells is made again.
_DAMAGED = (AlbertError, KeyError, TypeError, AttributeError)


def is_whole_dataset(output: str | Path) -> bool:
    """Whether a data set is finished and every file of it is there in its size."""
    path = join(output, MANIFEST)
    if not exists(path):
        return False
    sizes = sizes_below(output)
    manifest = parse_manifest(parse_json(read_whole(path), path), path)
    shards = ({"name": shard.name, "bytes": shard.bytes} for shard in manifest.shards)
    return {SPM_MODEL, DATA_CARD} <= sizes.keys() and _are_there(shards, sizes)


def forget_incomplete(output: str | Path, *, fingerprint: str) -> None:
    """Remove the manifest, and the sidecars of shards that lack a file or are others'.

    Args:
        fingerprint: Of the job that makes the data set.
    """
    remove(join(output, MANIFEST))
    sizes = sizes_below(output)
    sidecars = [join(output, name) for name in sizes if name.startswith(f"{SIDECARS}/")]

    def is_whole(path: str) -> bool:
        try:
            sidecar = parse_json(read_whole(path), path)
            is_own = sidecar["fingerprint"] == fingerprint
            return is_own and _are_there(sidecar["files"], sizes)
        except _DAMAGED:
            return False

    for sidecar, is_kept in zip(sidecars, each_of(is_whole, sidecars), strict=True):
        if not is_kept:
            remove(sidecar)


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
    """Reads the marks and sidecars of a running job, each once.

    Args:
        work: Where the marks of chunks are.
    """

    def __init__(self, output: str | Path, *, work: str | Path) -> None:
        self._output, self._work = str(output), str(work)
        self._seen: dict[str, Progress] = {}
        self._last = Progress()

    def poll(self) -> Progress:
        """What is done so far."""
        # Storage may be out of reach for a moment, and a job that ends removes marks.
        with contextlib.suppress(AlbertError, OSError):
            marks = find_below(self._work, CHUNK_MARKS)
            for path in (*marks, *find_below(self._output, SIDECAR_FILES)):
                if path not in self._seen:
                    mark = parse_json(read_whole(path), path)
                    self._seen[path] = _read_mark(mark)
            # Some of the chunks that are being read may be large.
            halves = f"{WORK}/*{TEMPORARY}*"
            unfinished = [] if is_remote(self._work) else find_below(self._work, halves)
            reading = Progress(read_bytes=sum(map(file_size, unfinished)))
            done = zip(reading, *self._seen.values(), strict=True)
            self._last = Progress(*map(sum, done))
        return self._last


def _read_mark(mark: Mapping[str, Any]) -> Progress:
    """What a mark or a sidecar says; nothing if it is damaged."""
    try:
        if "counts" in mark:
            documents = int(mark["counts"]["documents"])
            return Progress(read_bytes=int(mark["text_bytes"]), documents=documents)
        examples, written = (
            sum(int(file[key]) for file in mark["files"]) for key in ("examples", "bytes")
        )
        return Progress(shards=1, examples=examples, written_bytes=written)
    except (*_DAMAGED, ValueError):
        return Progress()
