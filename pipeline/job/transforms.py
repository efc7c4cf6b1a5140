"""The Beam steps: each a thin shell around one function.

One linear chain without side inputs, tagged outputs or Beam's own file readers behaves
the same on every runner. Documents are shuffled, never examples: through files on one
machine (`SpillChunk`, `ListShards`, `BuildShard`), by the engine's own grouping
elsewhere (`ReadChunk`, `BuildGroup`). The bytes are the same either way.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import apache_beam as beam

from pipeline.core.counts import PASSED_OVER, ReadingCounts
from pipeline.core.documents import ShardDocument
from pipeline.dataset.dataset import write_dataset
from pipeline.dataset.fingerprint import DatasetPlan, tool_versions
from pipeline.dataset.shard_plan import ShardPlan
from pipeline.dataset.shards import write_shard
from pipeline.job import spill
from pipeline.job.failures import packed_errors
from pipeline.job.resuming import is_sealed, sealed
from pipeline.reading.chunks import Chunk
from pipeline.reading.read import read_chunk
from pipeline.storage.files import join, read_whole, write_whole
from pipeline.vocabulary.tokenizer import load_tokenizer
from schemas.errors import AlbertError
from schemas.json_file import json_text, parse_json
from schemas.layout import chunk_mark, sidecar_file

Shuffle = Literal["files", "engine"]

# What reading counted has this key, where documents have the number of their shard.
COUNTS = -1

Result = tuple[None, dict[str, Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What every step of a job knows.

    Attributes:
        dataset: What decides the bytes.
        shards: How documents are divided.
        num_chunks: Chunks to read.
        output: The data set, here or on a cluster's storage.
        fingerprint: Of `dataset`; finished parts with another one are of another job.
        versions: Of the tools on which the bytes depend, on the machine that made the
            job.
        passed_over: Files of the inputs that are not read.
    """

    dataset: DatasetPlan
    shards: ShardPlan
    num_chunks: int
    output: str
    fingerprint: str
    versions: dict[str, str]
    passed_over: int = 0


class JobStep(beam.DoFn):
    """A step of a job, whose errors keep their type on the way through Beam."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def setup(self) -> None:
        """Refuse to work with tools that may give other bytes for the same text.

        Raises:
            StepError: A tool has another version than on the machine that made the job.
        """
        with packed_errors():
            check_versions(tool_versions(), self.job.versions)

    def process(self, element: Any) -> Iterator[Any]:
        """What the step makes of an element.

        Raises:
            StepError: It cannot be made.
        """
        with packed_errors():
            yield from self.results(element)

    def results(self, element: Any) -> Iterator[Any]:
        """What the step makes of an element.

        Raises:
            AlbertError: It cannot be made.
        """
        raise NotImplementedError


def check_versions(here: dict[str, str], wanted: dict[str, str]) -> None:
    """Refuse a worker whose tools are not those of the job."""
    for tool, version in wanted.items():
        if here.get(tool) != version:
            raise AlbertError(
                f"A worker has {tool} {here.get(tool)}, but the job was made with "
                f"{version}; build the workers' image from the same version of this "
                "program."
            )


class ShardStep(JobStep):
    """A step that makes shards.

    It carries the SentencePiece model, so that no worker needs a file of it.
    """

    def __init__(self, job: Job, model: bytes) -> None:
        super().__init__(job)
        self.model = model

    def finish(self, documents: Iterable[ShardDocument], number: int) -> dict[str, Any]:
        """The sidecar of a shard, which is made unless an earlier attempt left it."""
        job = self.job
        shard = job.shards.shard(number)
        path = join(job.output, sidecar_file(shard.split, shard.index))
        sidecar = finished_sidecar(path, job.fingerprint)
        if sidecar is None:
            sidecar = write_shard(
                documents,
                shard,
                tokenizer=load_tokenizer(self.model),
                config=job.dataset.config,
                output=job.output,
            )
            # Written last: where it is, the files of the shard are whole.
            sidecar = sealed({"fingerprint": job.fingerprint, **sidecar})
            write_whole(path, json_text(sidecar))
        return sidecar


def finished_sidecar(path: str, fingerprint: str) -> dict[str, Any] | None:
    """The description of a shard, if a job of this fingerprint has finished it."""
    try:
        sidecar = parse_json(read_whole(path), path)
    except AlbertError:
        return None
    is_of_job = sidecar.get("fingerprint") == fingerprint
    return sidecar if is_of_job and is_sealed(sidecar) else None


class SpillChunk(JobStep):
    """A chunk becomes a file of documents by shard, unless there is one already."""

    def results(self, chunk: Chunk) -> Iterator[tuple[None, int]]:
        """Yield the number of the chunk."""
        job, output = self.job, spill.chunks_folder(self.job.output)
        fingerprint = f"{job.fingerprint} {chunk.fingerprint()}"
        if not spill.is_finished(chunk.number, output=output, fingerprint=fingerprint):
            counts = ReadingCounts()
            file_bytes = spill.write_spill(
                read_chunk(chunk, counts=counts),
                chunk.number,
                plan=job.shards,
                output=output,
            )
            spill.write_mark(
                chunk.number,
                output=output,
                fingerprint=fingerprint,
                counts=counts,
                text_bytes=chunk.text_bytes,
                file_bytes=file_bytes,
            )
        yield None, chunk.number


class ListShards(JobStep):
    """Once all chunks have been read, list what is to be made of them."""

    def results(self, chunks: tuple[None, Iterable[int]]) -> Iterator[int]:
        """Yield the number of each shard, and COUNTS."""
        yield COUNTS
        yield from self.job.shards.shard_numbers()


class BuildShard(ShardStep):
    """The documents of a shard, from the files of all chunks, become its files."""

    def results(self, number: int) -> Iterator[Result]:
        """Yield the sidecar, or the sums of what reading counted."""
        output = spill.chunks_folder(self.job.output)
        chunks = self.job.num_chunks
        if number == COUNTS:
            counts = spill.sum_counts(chunks, output=output)
            yield None, {"read": counts.to_dict()}
            return
        documents = spill.read_spills(chunks, number, output=output)
        yield None, self.finish(documents, number)


class ReadChunk(JobStep):
    """A chunk becomes the documents of all shards, and what was counted."""

    def results(self, chunk: Chunk) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield (shard, (id, text)), and (COUNTS, (what was counted,))."""
        counts = ReadingCounts()
        shards = self.job.shards
        if chunk.number == 0:
            # Every shard is written, even one without documents.
            yield from ((shard, ()) for shard in shards.shard_numbers())
        for document in read_chunk(chunk, counts=counts):
            yield shards.shard_of(document.id), tuple(document)
        yield COUNTS, (counts.to_dict(),)
        # For the progress bar only: the documents are with the engine, not in files.
        mark = {"text_bytes": chunk.text_bytes, "counts": counts.to_dict()}
        path = join(self.job.output, chunk_mark(chunk.number))
        write_whole(path, json_text(mark))


class BuildGroup(ShardStep):
    """The documents of a shard, grouped by the engine, become its files."""

    def results(self, group: tuple[int, Iterable[tuple[Any, ...]]]) -> Iterator[Result]:
        """Yield the sidecar, or the sums of what reading counted."""
        number, values = group
        if number == COUNTS:
            counts = ReadingCounts()
            for (value,) in values:
                counts.add(ReadingCounts.from_dict(value))
            yield None, {"read": counts.to_dict()}
            return
        documents = (ShardDocument(*value) for value in values if value)
        yield None, self.finish(documents, number)


class WriteManifest(JobStep):
    """All sidecars become the manifest, the last file of the data set."""

    def results(self, results: tuple[None, Iterable[dict[str, Any]]]) -> Iterator[None]:
        """Write the data card and the manifest."""
        sidecars, counts = [], ReadingCounts()
        counts.dropped[PASSED_OVER] = self.job.passed_over
        for result in results[1]:
            if "read" in result:
                counts.add(ReadingCounts.from_dict(result["read"]))
            else:
                sidecars.append(result)
        write_dataset(self.job.dataset, sidecars, counts, output=self.job.output)
        yield
