"""What each stage of `make-data` costs, in one process without Beam."""

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from pipeline.core.counts import ReadingCounts
from pipeline.dataset import shards
from pipeline.dataset.shard_plan import plan_shards
from pipeline.examples import examples
from pipeline.job import spill
from pipeline.reading import read
from pipeline.reading.chunks import plan_chunks
from pipeline.reading.recognise import InputFile
from pipeline.records.tfrecord import RecordWriter
from pipeline.vocabulary.tokenizer import SentencePieceTokenizer, Tokenizer
from schemas.config import DataConfig

# What is measured: stage, where the function is looked up, its name. Time inside a
# function that is measured itself counts there only.
FUNCTIONS: tuple[tuple[str, Any, str], ...] = (
    ("segmenting", read, "split_sentences"),
    ("encoding", SentencePieceTokenizer, "encode"),
    ("pieces", shards, "tokenize"),
    ("packing and pairing", shards, "pack_copies"),
    ("packing and pairing", examples, "make_pairs"),
    ("packing and pairing", examples, "assemble"),
    ("masking", examples, "mask"),
    ("counting", shards, "count_batch"),
    ("serializing", shards, "encode_rows"),
    ("hashing and writing", RecordWriter, "write"),
)


class Clock:
    """Processor time by stage; the stage entered last is the one that runs.

    Attributes:
        seconds: So far, by stage.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._stages: list[str] = []
        self._since = time.process_time()

    def _turn(self) -> None:
        now = time.process_time()
        if self._stages:
            self.seconds[self._stages[-1]] += now - self._since
        self._since = now

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count time for a stage."""
        self._turn()
        self._stages.append(name)
        try:
            yield
        finally:
            self._turn()
            self._stages.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, its time counted for a stage."""

        def run(*arguments: Any, **named: Any) -> Any:
            with self.stage(name):
                return function(*arguments, **named)

        return run


def stage_seconds(
    files: list[InputFile], config: DataConfig, tokenizer: Tokenizer, *, output: Path
) -> dict[str, float]:
    """Processor time of each stage of making a data set.

    Args:
        files: What to read.
        config: Settings as resolved.
        tokenizer: The vocabulary.
        output: An empty folder.
    """
    clock = Clock()
    plan, chunks = plan_shards(config), plan_chunks(files)
    with ExitStack() as stack:
        for stage, owner, name in FUNCTIONS:
            timed = clock.timed(stage, getattr(owner, name))
            stack.enter_context(mock.patch.object(owner, name, timed))
        for chunk in chunks:
            with clock.stage("reading and cleaning"):
                documents = read.read_chunk(chunk, counts=ReadingCounts())
                spill.write_spill(documents, chunk.number, plan=plan, output=output)
        for number in plan.shard_numbers():
            with clock.stage("the rest"):
                shards.write_shard(
                    spill.read_spills(len(chunks), number, output=output),
                    plan.shard(number),
                    tokenizer=tokenizer,
                    config=config,
                    output=output,
                )
    order = dict.fromkeys(["reading and cleaning", *(f[0] for f in FUNCTIONS)])
    return {name: clock.seconds[name] for name in [*order, "the rest"]}


def sentences_of(files: list[InputFile]) -> list[str]:
    """All sentences of some files, as `make-data` reads them."""
    return list(
        itertools.chain.from_iterable(
            document.text.split("\n")
            for chunk in plan_chunks(files)
            for document in read.read_chunk(chunk, counts=ReadingCounts())
        )
    )
