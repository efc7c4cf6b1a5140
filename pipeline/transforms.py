"""The Beam steps: each a thin shell around one function.

One linear chain without side inputs, tagged outputs or Beam's own file readers behaves
the same on every runner. Documents cross the shuffle, never examples: through files on
one machine (`SpillSplit`, `ListShards`, `BuildShard`), through the engine's own
grouping elsewhere (`ReadSplit`, `BuildGroup`). The bytes are the same either way.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import apache_beam as beam

from pipeline import spill
from pipeline.dataset import DatasetPlan, write_dataset
from pipeline.documents import ShardDocument
from pipeline.readers import read_split
from pipeline.shard_plan import ShardPlan
from pipeline.shards import write_shard
from pipeline.splits import Split
from pipeline.tokenizer import load_tokenizer
from schemas.json_file import read_json, write_json
from schemas.layout import sidecar_file

Shuffle = Literal["files", "engine"]

# What reading counted travels under this key, beside the numbers of the shards.
COUNTS = -1

Result = tuple[None, dict[str, Any]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What every step of a job knows.

    Attributes:
        dataset: What decides the bytes.
        shards: How documents are divided.
        model: The SentencePiece model.
        num_splits: Splits to read.
        output: The data set.
        fingerprint: Of `dataset`; finished parts of another job do not have it.
    """

    dataset: DatasetPlan
    shards: ShardPlan
    model: bytes
    num_splits: int
    output: Path
    fingerprint: str


class JobStep(beam.DoFn):
    """A step of a job."""

    def __init__(self, job: Job) -> None:
        self.job = job


class SpillSplit(JobStep):
    """A split becomes a file of documents by shard, unless that is there already."""

    def process(self, split: Split) -> Iterator[tuple[None, int]]:
        """Yield the number of the split."""
        job = self.job
        fingerprint = f"{job.fingerprint} {split.fingerprint()}"
        index = spill.index_path(job.output, split.number)
        if not spill.is_finished(index, fingerprint):
            counts: Counter[str] = Counter()
            stretches = spill.write_spill(
                read_split(split, counts=counts),
                split.number,
                plan=job.shards,
                output=job.output,
            )
            spill.write_index(
                index,
                stretches,
                fingerprint=fingerprint,
                counts=counts,
                text_bytes=split.text_bytes,
            )
        yield None, split.number


class ListShards(JobStep):
    """All splits are there: yield what is to be made of them."""

    def process(self, splits: tuple[None, Iterable[int]]) -> Iterator[int]:
        """Yield the number of each shard, and COUNTS."""
        yield COUNTS
        yield from self.job.shards.shard_numbers()


class BuildShard(JobStep):
    """The documents of a shard become its files, unless they are there already."""

    def process(self, number: int) -> Iterator[Result]:
        """Yield the sidecar, or the sums of what reading counted."""
        job = self.job
        if number == COUNTS:
            counts = spill.sum_counts(job.num_splits, output=job.output)
            yield None, {"read": dict(counts)}
            return
        shard = job.shards.shard(number)
        sidecar = job.output / sidecar_file(shard.split, shard.index)
        if spill.is_finished(sidecar, job.fingerprint):
            yield None, read_json(sidecar)
            return
        documents = spill.read_spills(job.num_splits, number, output=job.output)
        yield None, build_shard(documents, number, job)


class ReadSplit(JobStep):
    """A split becomes the documents of all shards, and what was counted."""

    def process(self, split: Split) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield (shard, (id, text)), and (COUNTS, (name, count))."""
        counts: Counter[str] = Counter()
        shards = self.job.shards
        if split.number == 0:
            # Every shard is written, also one that no document falls into.
            yield from ((shard, ()) for shard in shards.shard_numbers())
        for document in read_split(split, counts=counts):
            yield shards.shard_of(document.id), tuple(document)
        yield from ((COUNTS, item) for item in counts.items())


class BuildGroup(JobStep):
    """All documents of a shard, as grouped by the engine, become its files."""

    def process(self, group: tuple[int, Iterable[tuple[Any, ...]]]) -> Iterator[Result]:
        """Yield the sidecar, or the sums of what reading counted."""
        number, values = group
        if number == COUNTS:
            counts: Counter[str] = Counter()
            for name, count in values:
                counts[name] += count
            yield None, {"read": dict(counts)}
            return
        documents = (ShardDocument(*value) for value in values if value)
        yield None, build_shard(documents, number, self.job)


class WriteManifest(JobStep):
    """All sidecars become the manifest, the last file of the data set."""

    def process(self, results: tuple[None, Iterable[dict[str, Any]]]) -> Iterator[None]:
        """Write the data card and the manifest."""
        sidecars, counts = [], Counter[str]()
        for result in results[1]:
            if "read" in result:
                counts.update(result["read"])
            else:
                sidecars.append(result)
        write_dataset(self.job.dataset, sidecars, counts, output=self.job.output)
        yield


def build_shard(
    documents: Iterable[ShardDocument], number: int, job: Job
) -> dict[str, Any]:
    """Write the files of a shard and then its sidecar, which says that it is whole."""
    shard = job.shards.shard(number)
    sidecar = write_shard(
        documents,
        shard,
        tokenizer=load_tokenizer(job.model),
        config=job.dataset.config,
        output=job.output,
    )
    sidecar = {"fingerprint": job.fingerprint, **sidecar}
    write_json(job.output / sidecar_file(shard.split, shard.index), sidecar)
    return sidecar
