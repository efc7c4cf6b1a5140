"""What of a data set is finished, so that a job which goes on does not make it again.

Wherever a worker runs, it leaves a mark for every chunk that it has read and a sidecar
for every shard that it has made. Both say which files are whole, and how large they
are; where one is missing or has another size, they do not count. A job that goes on and
the progress bar read them.

A job on a cluster leaves a mark of its own, by which its workers know an output as
theirs, and their job as still wanted. A job server that is asked to cancel a job only
stops waiting for it: Flink and Spark go on to the end (Beam 2.77). So whoever submitted
a job ends it by its mark in the output, which workers see wherever they are; those that
find another mark do no more.
"""

import contextlib
import functools
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.dataset.manifest import NothingToTrainOn
from pipeline.job.plan import Job, chunks_folder
from pipeline.reading.read import Chunk
from pipeline.storage.files import (
    each_of,
    exists,
    file_name,
    file_size,
    find_below,
    is_remote,
    join,
    read_whole,
    read_whole_json,
    remove,
    sizes_below,
    write_whole,
)
from pipeline.storage.output_folder import Footprint
from schemas.errors import AlbertError
from schemas.files import TEMPORARY
from schemas.layout import (
    CHUNK_MARKS,
    DATA_CARD,
    EVAL,
    LINE_MARKS,
    MANIFEST,
    REMOVED_FILES,
    SIDECAR_FILES,
    SIDECARS,
    SPM_MODEL,
    SUBMITTED,
    TRAIN,
    WORK,
    ChunkFile,
    chunk_file,
)
from schemas.manifest import DatasetManifest, parse_manifest

MAKE_DATA = Footprint(
    "make-data",
    what="a data set",
    writes=(SPM_MODEL, MANIFEST, DATA_CARD, SIDECARS, TRAIN, EVAL, WORK),
    progress=(MANIFEST, SIDECAR_FILES, CHUNK_MARKS, LINE_MARKS),
    is_finished=lambda folder, _: is_whole_dataset(folder),
)

# What reading a mark or a sidecar raises that is damaged; what it tells is made again.
_DAMAGED = (AlbertError, KeyError, TypeError, AttributeError)


def is_finished(
    chunk: Chunk, job: Job, *, mark: ChunkFile = "json", file: ChunkFile = "documents"
) -> bool:
    """Whether work on a chunk has left a mark of this job and a whole file."""
    folder = job.waiting_folder
    try:
        said = read_whole_json(str(folder / chunk_file(chunk.number, mark)))
        size = (folder / chunk_file(chunk.number, file)).stat().st_size
    except (AlbertError, OSError):
        return False
    return said.get("fingerprint") == job.fingerprint_of(chunk) and said.get("file_bytes") == size


def is_whole_dataset(output: str | Path) -> bool:
    """Whether a data set is finished and every file of it is there in its size."""
    sizes = sizes_below(output)
    if not {MANIFEST, SPM_MODEL, DATA_CARD} <= sizes.keys():
        return False
    shards = {shard.name: shard.bytes for shard in manifest_of(output).shards}
    return shards.items() <= sizes.items()


def manifest_of(output: str | Path) -> DatasetManifest:
    """The manifest of a data set that is finished, wherever it is."""
    path = join(output, MANIFEST)
    return parse_manifest(read_whole_json(path), path)


def forget_useless(job: Job) -> None:
    """Remove what others left that is of no use to a job, and would count as done.

    That is the manifest; sidecars of shards that lack a file or are others'; marks of
    chunks that are not whole or of another job, and what killed workers were writing.
    """
    remove(join(job.output, MANIFEST))
    sizes = sizes_below(job.output)
    sidecars = [join(job.output, name) for name in sizes if name.startswith(f"{SIDECARS}/")]

    def is_whole(path: str) -> bool:
        try:
            sidecar = read_whole_json(path)
            whole = {file["name"]: file["bytes"] for file in sidecar["files"]}
            return sidecar["fingerprint"] == job.fingerprint and whole.items() <= sizes.items()
        except _DAMAGED:
            return False

    for sidecar, is_kept in zip(sidecars, each_of(is_whole, sidecars), strict=True):
        if not is_kept:
            remove(sidecar)
    # Of a job that Dataflow still runs, and refuses again, nothing is taken away.
    if job.mark and is_own(job):
        return
    if job.removed:
        for pattern in (REMOVED_FILES, f"{REMOVED_FILES}{TEMPORARY}*"):
            for path in find_below(job.removed, pattern):
                remove(path)
    work = join(job.output, WORK)
    if job.shuffle == "engine" or is_remote(job.output):
        remove(work)
    else:
        # Workers that a cluster may still have end without its mark.
        remove(join(job.output, SUBMITTED))
    if job.shuffle == "files":
        folder = job.waiting_folder
        kept = {
            Path(chunk_file(chunk.number, "json")).name
            for chunk in job.chunks
            if is_finished(chunk, job)
        }
        marks = (path for path in find_below(folder, CHUNK_MARKS) if file_name(path) not in kept)
        for path in (*marks, *find_below(folder, f"{WORK}/*{TEMPORARY}*")):
            remove(path)


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


def mark_of(job: Job, *, goes_on_alone: bool) -> str:
    """The mark of a command, by which its workers are told from those of others.

    Where a job goes on without its command, as on Dataflow, a command that is run again, and
    refused, has the mark of the first and so ends nothing.
    """
    if goes_on_alone:
        with contextlib.suppress(AlbertError, OSError):
            if (found := mark_at(job.output)).startswith(job.fingerprint):
                return found
    return f"{job.fingerprint} {secrets.token_hex(8)}"


def mark_at(output: str) -> str:
    """The mark in an output."""
    return read_whole(join(output, SUBMITTED)).decode()


def write_mark(output: str, mark: str) -> None:
    """Tell workers that an output is theirs."""
    write_whole(join(output, SUBMITTED), mark)


def is_own(job: Job) -> bool:
    """Whether no command was run meanwhile that took the output of a job."""
    if not job.mark:
        return True
    with contextlib.suppress(AlbertError, OSError):
        return mark_at(job.output) == job.mark
    return False


@contextlib.contextmanager
def nothing_left_of_nothing(job: Job) -> Iterator[None]:
    """Remove the files of a data set without a document to train on."""
    try:
        yield
    except NothingToTrainOn:
        if is_own(job):
            forget_work(job.output, is_here=not job.mark)
            for name in (TRAIN, EVAL, SIDECARS):
                remove(join(job.output, name))
        raise


# How often a worker looks: on storage each look is a request.
LOOK_SECONDS = 5.0

# In place of the mark of a job that is to end.
ENDED = "ended"


class MarkedOutput:
    """The output of a job, as its workers see it; a local job has no mark."""

    def __init__(self, output: str, mark: str) -> None:
        self._output, self._mark = output, mark
        self._is_seen, self._next_look = False, 0.0

    def check(self) -> None:
        """Refuse to work at another output than that of the command, or no longer.

        A path of this machine may be there on another too; its files would be lost.
        """
        if not self._mark or time.monotonic() < self._next_look:
            return
        path, reason = join(self._output, SUBMITTED), "another folder"
        try:
            found = mark_at(self._output)
        except (AlbertError, OSError) as error:
            found, reason = "", str(error).rstrip(".")
            if self._is_seen:
                # Storage out of reach for a while ends nothing; a mark that was removed
                # ends a job, since somebody makes the output anew.
                found = self._mark
                with contextlib.suppress(AlbertError, OSError):
                    if (is_remote(self._output) or exists(self._output)) and not exists(path):
                        found = ENDED
        if found == ENDED or (self._is_seen and found != self._mark):
            raise AlbertError(
                f"The job that makes {self._output} was told to end, or its command "
                "was run a second time."
            )
        if found != self._mark:
            raise AlbertError(
                f"A worker on {socket.gethostname()} does not see the {self._output} "
                f"of this command ({reason}, or the command was run a second time); "
                "give an output that every machine sees, such as s3://bucket/folder/, "
                "and its keys to the workers."
            )
        self._is_seen, self._next_look = True, time.monotonic() + LOOK_SECONDS


# All steps in a process see an output together.
marked_output = functools.cache(MarkedOutput)


class Done(NamedTuple):
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
        self._seen: dict[str, Done] = {}
        self._last = Done()

    def poll(self) -> Done:
        """What is done so far."""
        # Storage may be out of reach for a moment, and a job that ends removes marks.
        with contextlib.suppress(AlbertError, OSError):
            marks = find_below(self._work, CHUNK_MARKS)
            for path in (*marks, *find_below(self._output, SIDECAR_FILES)):
                if path not in self._seen:
                    mark = read_whole_json(path)
                    self._seen[path] = Done()
                    with contextlib.suppress(*_DAMAGED, ValueError):
                        self._seen[path] = _said(mark)
            # Some of the chunks that are being read may be large.
            halves = f"{WORK}/*.documents{TEMPORARY}*"
            unfinished = [] if is_remote(self._work) else find_below(self._work, halves)
            reading = Done(read_bytes=sum(map(file_size, unfinished)))
            done = zip(reading, *self._seen.values(), strict=True)
            self._last = Done(*map(sum, done))
        return self._last


def _said(mark: Mapping[str, Any]) -> Done:
    """What a mark or a sidecar says; any of _DAMAGED or a ValueError if it is damaged."""
    if "counts" in mark:
        documents = int(mark["counts"]["documents"])
        return Done(read_bytes=int(mark["text_bytes"]), documents=documents)
    examples, written = (
        sum(int(file[key]) for file in mark["files"]) for key in ("examples", "bytes")
    )
    return Done(shards=1, examples=examples, written_bytes=written)
