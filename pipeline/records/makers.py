"""Processes that make records of documents, for what trains faster than one can make them."""

import contextlib
import functools
import itertools
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from pipeline.core.machine import usable_cores
from pipeline.core.worker_processes import WorkerProcesses
from pipeline.examples.examples import Float
from pipeline.examples.packing import Sequences, Tokens
from pipeline.records.reading import CorruptRecord, make_records, read_tokens
from schemas.config import ResolvedDataConfig
from schemas.manifest import DatasetManifest

# The most processes: each makes 3,000 to 4,000 examples of 128 tokens a second. The training
# has two cores for itself.
MOST, CORES_OF_TRAINING = 12, 2

# Shards whose documents a process keeps: those of a group.
KEPT_SHARDS = 8


def spare_processes() -> int:
    """How many processes this machine has cores for beside a training."""
    return max(0, min(MOST, usable_cores() - CORES_OF_TRAINING))


class Makers:
    """Makes the records of sequences elsewhere; `end` has to be called."""

    def __init__(
        self, dataset: Path, manifest: DatasetManifest, config: ResolvedDataConfig, *, number: int
    ) -> None:
        self._workers = WorkerProcesses(number, _begin, dataset, manifest, config)

    def records(
        self, shard: str, sequences: Sequences, masked_shares: Float | None
    ) -> Callable[[], list[bytes] | None]:
        """Begin to make those of sequences of a shard; what waits for them.

        That gives None where a process was killed, or cannot read the shard any more.
        """
        # They were ended.
        with contextlib.suppress(RuntimeError):
            made = self._workers.submit(_made, shard, sequences, masked_shares)
            return functools.partial(_result, made)
        return lambda: None

    def end(self) -> None:
        """End the processes."""
        self._workers.end()


def _result(made: Future[list[bytes] | None]) -> list[bytes] | None:
    with contextlib.suppress(Exception):
        return made.result()
    return None


# What this process makes records of.
_source: tuple[Path, DatasetManifest, ResolvedDataConfig]


def _begin(*source: Any) -> None:
    global _source
    _source = source


@functools.lru_cache(KEPT_SHARDS)
def _tokens(name: str) -> Tokens | CorruptRecord:
    dataset, manifest, config = _source
    (shard,) = (each for each in manifest.shards if each.name == name)
    return read_tokens(dataset, shard, manifest, config=config)


def _made(name: str, sequences: Sequences, masked_shares: Float | None) -> list[bytes] | None:
    tokens = _tokens(name)
    if isinstance(tokens, CorruptRecord):
        return None
    _, manifest, config = _source
    records = make_records(sequences, tokens, manifest, config=config, masked_shares=masked_shares)
    return list(itertools.chain.from_iterable(records))
