"""The Beam steps: each a thin shell around one function.

One linear chain without side inputs, tagged outputs or Beam's own file readers behaves
the same on every runner. Documents cross the shuffle, never examples.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam

from pipeline.dataset import DatasetPlan, write_dataset
from pipeline.documents import ShardDocument
from pipeline.progress import mark_split
from pipeline.readers import read_split
from pipeline.shard_plan import ShardPlan
from pipeline.shards import write_shard
from pipeline.splits import Split
from pipeline.tokenizer import load_tokenizer
from schemas.config import DataConfig
from schemas.json_file import write_json
from schemas.layout import sidecar_file

# Key of what reading counted, beside the numbers of the shards.
COUNTS = -1

KeyedDocument = tuple[int, tuple[Any, ...]]


class ReadSplit(beam.DoFn):
    """A split becomes the documents of all shards, and what was counted."""

    def __init__(self, plan: ShardPlan, *, output: Path) -> None:
        self.plan = plan
        self.output = output

    def process(self, split: Split) -> Iterator[KeyedDocument]:
        """Yield (shard, (id, text)), and (COUNTS, (name, count))."""
        counts: Counter[str] = Counter()
        if split.number == 0:
            # Every shard is written, also one that no document falls into.
            yield from ((shard, ()) for shard in self.plan.shard_numbers())
        for document in read_split(split, counts=counts):
            yield self.plan.shard_of(document.id), tuple(document)
        yield from ((COUNTS, item) for item in counts.items())
        mark_split(split, documents=counts["read"], output=self.output)


class WriteShard(beam.DoFn):
    """All documents of a shard become its files and its sidecar."""

    def __init__(
        self, plan: ShardPlan, config: DataConfig, *, model: bytes, output: Path
    ) -> None:
        self.plan = plan
        self.config = config
        self.model = model
        self.output = output

    def process(
        self, group: tuple[int, Iterable[tuple[Any, ...]]]
    ) -> Iterator[tuple[None, dict[str, Any]]]:
        """Yield the sidecar, or the sums of what reading counted."""
        number, values = group
        if number == COUNTS:
            counts: Counter[str] = Counter()
            for name, count in values:
                counts[name] += count
            yield None, {"read": dict(counts)}
            return
        shard = self.plan.shard(number)
        sidecar = write_shard(
            (ShardDocument(*value) for value in values if value),
            shard,
            tokenizer=load_tokenizer(self.model),
            config=self.config,
            output=self.output,
        )
        path = self.output / sidecar_file(shard.split, shard.index)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, sidecar)
        yield None, sidecar


class WriteManifest(beam.DoFn):
    """All sidecars become the manifest, the last file of the data set."""

    def __init__(self, plan: DatasetPlan, *, output: Path) -> None:
        self.plan = plan
        self.output = output

    def process(self, group: tuple[None, Iterable[dict[str, Any]]]) -> Iterator[None]:
        """Write the data card and the manifest."""
        sidecars, counts = [], Counter[str]()
        for result in group[1]:
            if "read" in result:
                counts.update(result["read"])
            else:
                sidecars.append(result)
        write_dataset(self.plan, sidecars, counts, output=self.output)
        yield
