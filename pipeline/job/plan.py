"""A job before it runs, and what decides it."""

import dataclasses
import hashlib
import math
from pathlib import Path
from typing import Literal, NamedTuple

from pipeline.dataset.local_copy import cache_folder
from pipeline.dataset.shard import DatasetPlan, ShardPlan, plan_dataset, plan_shards, tool_versions
from pipeline.noise.near_copies import Choice
from pipeline.reading.formats import InputFile
from pipeline.reading.read import CHUNK_BYTES, Chunk, plan_chunks
from pipeline.storage.files import is_remote, join
from pipeline.vocabulary.tokenizer import load_tokenizer
from schemas.config import ResolvedDataConfig


class WorkItem(NamedTuple):
    """What is done once all is read: a shard, the counts, what is removed of a chunk."""

    kind: Literal["shard", "counts", "removed"]
    number: int = 0


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """What every step knows.

    Attributes:
        chunks: What is to be read; left out where only the engine knows it.
        fingerprint: Of `dataset`; finished parts with another one are of another job.
        versions: Of the tools on the machine that made the job.
        near_duplicates: Which near-copies go, if any.
        passed_over: Files of the inputs that are not read.
        since: When the inputs were looked at first; what changes later is refused.
        removed: The folder in which what is removed is written; empty for none.
        shuffle: Whether documents wait in files or in the engine; the bytes are the
            same, but only files keep memory constant here and survive an interruption.
        mark: What a job on a cluster has written to its output; see `resume`.
    """

    dataset: DatasetPlan
    shards: ShardPlan
    chunks: tuple[Chunk, ...]
    output: str
    model: bytes
    fingerprint: str
    versions: dict[str, str]
    near_duplicates: Choice | None
    text_bytes: int
    passed_over: int
    since: float
    removed: str
    shuffle: Literal["files", "engine"] = "files"
    mark: str = ""

    @property
    def waiting_folder(self) -> Path:
        """Where documents wait for their shard."""
        return chunks_folder(self.output)

    @property
    def shared_folder(self) -> str:
        """Where every worker finds what others have written for it."""
        return str(self.waiting_folder) if self.shuffle == "files" else self.output

    def shared_file(self, name: str) -> str:
        """A file for every worker.

        Workers of an earlier job of other settings may still write theirs.
        """
        return join(self.shared_folder, f"{name}.{self.fingerprint}")

    def fingerprint_of(self, chunk: Chunk) -> str:
        """By which finished work on a chunk is known again."""
        return f"{self.fingerprint} {chunk.fingerprint()}"


def copies_that_go(config: ResolvedDataConfig, shards: ShardPlan) -> Choice | None:
    """Which near-copies go, if any: none of held-out text where none is held out."""
    choice = config.near_duplicates
    if choice == "keep" or (choice == "hold-out" and not shards.eval_bound):
        return None
    return choice


def plan_job(
    files: list[InputFile],
    config: ResolvedDataConfig,
    *,
    model: bytes,
    output: str | Path,
    passed_over: int = 0,
    since: float = math.inf,
    removed: str | Path | None = None,
    chunk_bytes: int = CHUNK_BYTES,
) -> Job:
    """The job that makes a data set of recognised inputs.

    Args:
        passed_over: Files that were found and are not among `files`, to be counted.
        since: When they were looked at first.
        removed: The folder for what is removed.
        chunk_bytes: Text that one worker reads at a time.
    """
    dataset = plan_dataset(config, files, tokenizer=load_tokenizer(model))
    shards = plan_shards(config, files)
    return Job(
        dataset=dataset,
        fingerprint=dataset.fingerprint(),
        versions=tool_versions(config, tells_languages=True),
        shards=shards,
        near_duplicates=copies_that_go(config, shards),
        chunks=tuple(plan_chunks(files, chunk_bytes=chunk_bytes)),
        output=str(output),
        model=model,
        text_bytes=sum(file.text_bytes for file in files),
        passed_over=passed_over,
        since=since,
        removed=str(removed or ""),
    )
