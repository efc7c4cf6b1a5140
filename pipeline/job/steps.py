"""What the steps of a job do with one element, without Beam.

A worker process imports this module and not `make_data`, for Beam takes longer to
import than all the rest. Documents are shuffled, never examples: through files on one
machine (`spill_chunk`, `list_shards`, `build_shard`), by the engine's own grouping on a
cluster (`read_for_engine`, `build_group`). The bytes are the same either way.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.core.documents import PASSED_OVER, ReadingCounts, ShardDocument
from pipeline.dataset.manifest import (
    DatasetPlan,
    plan_dataset,
    tool_versions,
    write_dataset,
)
from pipeline.dataset.shard import write_shard
from pipeline.dataset.shard_plan import ShardPlan, plan_shards
from pipeline.job import spill
from pipeline.job.marks import finished_sidecar
from pipeline.reading.chunks import Chunk
from pipeline.reading.read import read_chunk
from pipeline.reading.recognise import InputFile
from pipeline.storage.files import join, write_whole
from pipeline.vocabulary.tokenizer import load_tokenizer
from schemas.config import ResolvedDataConfig
from schemas.errors import AlbertError
from schemas.files import json_text
from schemas.layout import chunk_mark, sidecar_file

# What reading counted has this key, where documents have the number of their shard.
COUNTS = -1

Result = tuple[None, dict[str, Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What every step knows.

    Attributes:
        dataset: What decides the bytes.
        shards: How documents are divided.
        num_chunks: Chunks to read.
        output: The data set, here or on a cluster's storage.
        model: The SentencePiece model, so that no worker needs a file of it.
        fingerprint: Of `dataset`; finished parts with another one are of another job.
        versions: Of the tools on the machine that made the job.
        passed_over: Files of the inputs that are not read.
    """

    dataset: DatasetPlan
    shards: ShardPlan
    num_chunks: int
    output: str
    model: bytes
    fingerprint: str
    versions: dict[str, str]
    passed_over: int = 0

    @property
    def waiting_folder(self) -> Path:
        """Where documents wait for their shard."""
        return spill.chunks_folder(self.output)


def plan_job(
    files: list[InputFile],
    config: ResolvedDataConfig,
    *,
    model: bytes,
    output: str | Path,
    num_chunks: int,
    passed_over: int = 0,
) -> Job:
    """The job that makes a data set of some files."""
    tokenizer = load_tokenizer(model)
    dataset = plan_dataset(
        config, files, vocab_sha256=tokenizer.sha256, vocab_size=tokenizer.vocab_size
    )
    return Job(
        dataset=dataset,
        shards=plan_shards(config),
        num_chunks=num_chunks,
        output=str(output),
        model=model,
        fingerprint=dataset.fingerprint(),
        versions=tool_versions(),
        passed_over=passed_over,
    )


def check_versions(here: dict[str, str], wanted: dict[str, str]) -> None:
    """Refuse a worker whose tools may give other bytes for the same text."""
    for tool, version in wanted.items():
        if here.get(tool) != version:
            raise AlbertError(
                f"A worker has {tool} {here.get(tool)}, but the job was made with "
                f"{version}; build the workers' image from the same version of this "
                "program."
            )


def spill_chunk(chunk: Chunk, job: Job) -> Iterator[tuple[None, int]]:
    """A chunk becomes a file of documents by shard, unless there is one already."""
    folder = job.waiting_folder
    fingerprint = f"{job.fingerprint} {chunk.fingerprint()}"
    if not spill.is_finished(chunk.number, output=folder, fingerprint=fingerprint):
        counts = ReadingCounts()
        file_bytes = spill.write_spill(
            read_chunk(chunk, counts=counts),
            chunk.number,
            plan=job.shards,
            output=folder,
        )
        spill.write_mark(
            chunk.number,
            output=folder,
            fingerprint=fingerprint,
            counts=counts,
            text_bytes=chunk.text_bytes,
            file_bytes=file_bytes,
        )
    yield None, chunk.number


def list_shards(chunks: tuple[None, Iterable[int]], job: Job) -> Iterator[int]:
    """Once all chunks have been read: COUNTS, and the number of each shard."""
    yield COUNTS
    yield from job.shards.shard_numbers()


def build_shard(number: int, job: Job) -> Iterator[Result]:
    """The documents of a shard, from the files of all chunks, become its files."""
    if number == COUNTS:
        counts = spill.sum_counts(job.num_chunks, output=job.waiting_folder)
        yield None, {"read": counts.to_dict()}
        return
    documents = spill.read_spills(job.num_chunks, number, output=job.waiting_folder)
    yield None, _finish(documents, number, job)


def read_for_engine(chunk: Chunk, job: Job) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The documents of a chunk as (shard, (id, text)), and (COUNTS, (counts,))."""
    counts = ReadingCounts()
    if chunk.number == 0:
        # Every shard is written, even one without documents.
        yield from ((shard, ()) for shard in job.shards.shard_numbers())
    for document in read_chunk(chunk, counts=counts):
        yield job.shards.shard_of(document.id), tuple(document)
    yield COUNTS, (counts.to_dict(),)
    # For the progress bar only: the documents are with the engine, not in files.
    mark = {"text_bytes": chunk.text_bytes, "counts": counts.to_dict()}
    write_whole(join(job.output, chunk_mark(chunk.number)), json_text(mark))


def build_group(
    group: tuple[int, Iterable[tuple[Any, ...]]], job: Job
) -> Iterator[Result]:
    """The documents of a shard, grouped by the engine, become its files."""
    number, values = group
    if number == COUNTS:
        counts = ReadingCounts()
        for (value,) in values:
            counts.add(ReadingCounts.from_dict(value))
        yield None, {"read": counts.to_dict()}
        return
    documents = (ShardDocument(*value) for value in values if value)
    yield None, _finish(documents, number, job)


def _finish(
    documents: Iterable[ShardDocument], number: int, job: Job
) -> dict[str, Any]:
    """The sidecar of a shard, which is made unless an earlier attempt left it."""
    shard = job.shards.shard(number)
    path = join(job.output, sidecar_file(shard.split, shard.index))
    sidecar = finished_sidecar(path, job.fingerprint)
    if sidecar is None:
        sidecar = {"fingerprint": job.fingerprint} | write_shard(
            documents,
            shard,
            tokenizer=load_tokenizer(job.model),
            config=job.dataset.config,
            output=job.output,
        )
        # Written last: where it is, the files of the shard are whole.
        write_whole(path, json_text(sidecar))
    return sidecar


def write_manifest(
    results: tuple[None, Iterable[dict[str, Any]]], job: Job
) -> Iterator[None]:
    """All sidecars become the manifest, the last file of the data set."""
    sidecars, counts = [], ReadingCounts()
    counts.dropped[PASSED_OVER] = job.passed_over
    for result in results[1]:
        if "read" in result:
            counts.add(ReadingCounts.from_dict(result["read"]))
        else:
            sidecars.append(result)
    write_dataset(job.dataset, sidecars, counts, output=job.output)
    yield
