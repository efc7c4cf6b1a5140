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
from pipeline.dataset import DatasetPlan, tool_versions, write_dataset
from pipeline.documents import ShardDocument
from pipeline.files import join, read_json, write_json
from pipeline.readers import read_split
from pipeline.shard_plan import ShardPlan
from pipeline.shards import write_shard
from pipeline.splits import Split
from pipeline.tokenizer import load_tokenizer
from schemas.errors import AlbertError
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
        num_splits: Splits to read.
        output: The data set, here or on a cluster's storage.
        fingerprint: Of `dataset`; finished parts of another job do not have it.
        versions: Of the tools on which the bytes depend, where the job was made.
    """

    dataset: DatasetPlan
    shards: ShardPlan
    num_splits: int
    output: str
    fingerprint: str
    versions: dict[str, str]


class JobStep(beam.DoFn):
    """A step of a job."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def setup(self) -> None:
        """Refuse to work where the same text would give other bytes.

        Raises:
            AlbertError: A tool has another version than where the job was made.
        """
        check_versions(tool_versions(), self.job.versions)


def check_versions(here: dict[str, str], wanted: dict[str, str]) -> None:
    """Refuse a worker whose tools are not those of the job."""
    for tool, version in wanted.items():
        if here.get(tool) != version:
            raise AlbertError(
                f"A worker has {tool} {here.get(tool)} where the job was made with "
                f"{version}; build the workers' image from the same version of this "
                "program."
            )


class ShardStep(JobStep):
    """A step that makes shards, and so takes the SentencePiece model along.

    Every worker has the model then, wherever it is, without a file to be sent.
    """

    def __init__(self, job: Job, model: bytes) -> None:
        super().__init__(job)
        self.model = model

    def finish(self, documents: Iterable[ShardDocument], number: int) -> dict[str, Any]:
        """The sidecar of a shard: made now, unless an earlier attempt has left it."""
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
            # The last file of a shard, so that it says that the others are whole.
            sidecar = {"fingerprint": job.fingerprint, **sidecar}
            write_json(path, sidecar)
        return sidecar


def finished_sidecar(path: str, fingerprint: str) -> dict[str, Any] | None:
    """The description of a shard, if a job of this fingerprint has finished it."""
    try:
        sidecar = read_json(path)
    except AlbertError:
        return None
    return sidecar if sidecar.get("fingerprint") == fingerprint else None


class SpillSplit(JobStep):
    """A split becomes a file of documents by shard, unless that is there already."""

    def process(self, split: Split) -> Iterator[tuple[None, int]]:
        """Yield the number of the split."""
        job, output = self.job, Path(self.job.output)
        fingerprint = f"{job.fingerprint} {split.fingerprint()}"
        mark = spill.mark_path(output, split.number)
        if not spill.is_finished(mark, fingerprint):
            counts: Counter[str] = Counter()
            spill.write_spill(
                read_split(split, counts=counts),
                split.number,
                plan=job.shards,
                output=output,
            )
            spill.write_mark(
                mark,
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


class BuildShard(ShardStep):
    """The documents of a shard, from the files of all splits, become its files."""

    def process(self, number: int) -> Iterator[Result]:
        """Yield the sidecar, or the sums of what reading counted."""
        splits, output = self.job.num_splits, Path(self.job.output)
        if number == COUNTS:
            yield None, {"read": dict(spill.sum_counts(splits, output=output))}
            return
        documents = spill.read_spills(splits, number, output=output)
        yield None, self.finish(documents, number)


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
        # For the progress bar only: the documents are with the engine, not in files.
        mark = {"text_bytes": split.text_bytes, "counts": dict(counts)}
        write_json(join(self.job.output, spill.mark_name(split.number)), mark)


class BuildGroup(ShardStep):
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
        yield None, self.finish(documents, number)


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
