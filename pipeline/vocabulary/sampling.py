"""A random sample of sentences that depends on the text alone.

Every sentence has a key that follows from the hash of its document, its place there and
the seed. The sample is the sentences with the smallest keys, so neither the order of
the files nor the number of workers shows in it, and exact duplicates count once.
"""

import functools
import heapq
import itertools
import math
import operator
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pipeline.core.documents import ReadingCounts, left_out, number_of
from pipeline.core.draws import Int, Keys, draws, happens, hash_key
from pipeline.core.worker_processes import WorkerProcesses
from pipeline.noise.look import Bounds, Looker, bounds_for, sum_up
from pipeline.reading.inputs import refuse_changed
from pipeline.reading.read import Chunk, hash_document, read_texts, shard_documents
from schemas.config import VocabConfig
from schemas.errors import AlbertError
from schemas.files import scratch_folder

# The share of the sentences that are never trained on, and their maximum number.
HELD_OUT_SHARE = 0.01
MAX_HELD_OUT = 10_000

# Documents whose numbers are kept, those that a share of a data set holds out first.
FIRST_HELD_OUT = 5

Result = TypeVar("Result")

# How often the progress of other processes is looked at, and the file in which it is.
LOOK_SECONDS, _READ = 0.5, "read"

# Resident memory of the training for each byte of the sample.
_MEMORY_PER_BYTE = 21

# Time of the training, on two cores: SentencePiece trains on the distinct words of the
# sample, and longer text has fewer distinct words for each byte.
_SECONDS_OF_A_MEGABYTE = 2.1
_GROWTH_OF_TIME = 0.75


class SentenceSample:
    """The sentences with the smallest keys met so far, at most `size` of them."""

    def __init__(self, size: int) -> None:
        self.size = size
        # Keys of at least this are in no sample of this size.
        self.bound = 1 << 64
        self._sentences: dict[int, str] = {}

    def add(self, sentences: Iterable[tuple[int, str]]) -> None:
        """Take in sentences; the sample is cut back when it has doubled."""
        for key, text in sentences:
            if key < self.bound:
                # One text may come segmented in two ways; the order must not decide.
                self._sentences[key] = min(text, self._sentences.get(key, text))
        if len(self._sentences) >= 2 * self.size:
            self._cut()

    def _cut(self) -> None:
        if len(self._sentences) > self.size:
            smallest = heapq.nsmallest(self.size, self._sentences)
            self._sentences = {key: self._sentences[key] for key in smallest}
            self.bound = smallest[-1] + 1

    def items(self) -> list[tuple[int, str]]:
        """The sample in the order of its keys, in a form quickly sent to a process."""
        self._cut()
        return sorted(self._sentences.items())

    def texts(self) -> list[str]:
        """The sentences in the order of their keys."""
        return [text for _, text in self.items()]


class ChunkSample(NamedTuple):
    """What one chunk contributes, keys and texts."""

    train: list[tuple[int, str]]
    held_out: list[tuple[int, str]]
    counts: ReadingCounts
    look: dict[str, Any]
    first_held_out: list[int]


def sample_chunk(
    chunk: Chunk,
    *,
    size: int,
    bound: int,
    seed: int,
    looked_at: Bounds,
    on_read: Callable[[int], object] = lambda size: None,
) -> ChunkSample:
    """The candidates of one chunk for a sample.

    Args:
        bound: Keys of at least this are known to be too large.
    """
    train, held_out = SentenceSample(size), SentenceSample(MAX_HELD_OUT)
    train.bound = bound
    counts, looker, numbers = ReadingCounts(), Looker(looked_at), list[int]()
    for document, language in read_texts(chunk, counts=counts):
        document_id = hash_document(document)
        numbers = lowest([*numbers, number_of(document_id)])
        looker.see(number_of(document_id), document)
        for part in shard_documents(document, language=language, document_id=document_id):
            on_read(len(part.text.encode("utf-8", errors="replace")))
            lines = part.text.split("\n")
            counts.sentences += len(lines)
            keys = sentence_keys(part.id, len(lines), seed=seed)
            is_held_out = happens(draws(keys, 0), HELD_OUT_SHARE).tolist()
            pairs = list(zip(keys.tolist(), lines, strict=True))
            held_out.add(itertools.compress(pairs, is_held_out))
            train.add(itertools.compress(pairs, map(operator.not_, is_held_out)))
    look = looker.result()
    return ChunkSample(train.items(), held_out.items(), counts, look, numbers)


def lowest(numbers: Iterable[int]) -> list[int]:
    """The lowest numbers of documents, in order; parts and copies of one count once.

    >>> lowest([8, 3, 5, 3, 9, 1, 7])
    [1, 3, 5, 7, 8]
    """
    return sorted(set(numbers))[:FIRST_HELD_OUT]


def sentence_keys(document_id: bytes, count: int, *, seed: int) -> Keys:
    """The keys of the sentences of a document, `[count]`."""
    key = hash_key(b"vocabulary", str(seed).encode(), document_id)
    return draws(np.array([key], np.uint64), np.arange(count))


class SampledText(NamedTuple):
    """The sentences to train on, the ones held out, and what was met on the way.

    Attributes:
        first_held_out: The numbers of the documents that a data set of the same text
            holds out first, as its share grows.
    """

    train: list[str]
    held_out: list[str]
    counts: ReadingCounts
    look: dict[str, Any]
    first_held_out: list[int]

    @property
    def training_memory(self) -> int:
        """Bytes that training on the sample will need, about."""
        return _MEMORY_PER_BYTE * self._bytes()

    @property
    def training_seconds(self) -> float:
        """Time that training on the sample will take, about."""
        growth: float = (self._bytes() / 1e6) ** _GROWTH_OF_TIME
        return _SECONDS_OF_A_MEGABYTE * growth

    def _bytes(self) -> int:
        return sum(len(sentence.encode()) for sentence in self.train)


def sample_sentences(
    chunks: list[Chunk],
    config: VocabConfig,
    *,
    workers: int,
    since: float = math.inf,
    on_progress: Callable[[int], None] = lambda text_bytes: None,
) -> SampledText:
    """A sample of the sentences of all chunks, in the order of their keys.

    Args:
        since: When the files were looked at first; what changes later is refused.
        on_progress: Called every half second with the bytes of text that were read,
            about; at the end these are all that the chunks were estimated to have.
    """
    train, held_out = SentenceSample(config.sample_sentences), SentenceSample(MAX_HELD_OUT)
    counts, looks, numbers = ReadingCounts(), [], list[int]()
    looked_at = bounds_for(sum(chunk.text_bytes for chunk in chunks))
    waiting, done = list(reversed(chunks)), 0
    running: dict[Future[ChunkSample], Chunk] = {}
    with scratch_folder("vocab") as folder, processes(min(workers, len(chunks))) as pool:
        # Memory that is shared; each place is written by the one process that reads its chunk.
        read_bytes = np.memmap(folder / _READ, np.int64, mode="w+", shape=len(chunks))
        read = functools.partial(
            _read,
            size=config.sample_sentences,
            seed=config.seed,
            looked_at=looked_at,
            read_bytes=folder / _READ,
        )
        while waiting or running:
            while waiting and len(running) <= workers:
                chunk = waiting.pop()
                # The bound falls while chunks are read, and with it what they return.
                running[pool.submit(read, chunk, bound=train.bound)] = chunk
            for future in finished_of(running):
                done += running.pop(future).text_bytes
                result = future.result()
                train.add(result.train)
                held_out.add(result.held_out)
                counts.add(result.counts)
                looks.append(result.look)
                numbers = lowest([*numbers, *result.first_held_out])
            on_progress(done + text_being_read(running.values(), read_bytes))
    refuse_changed((part.file for chunk in chunks for part in chunk.parts), since=since)
    sentences = train.texts()
    if not sentences:
        reasons = left_out(counts.dropped)
        raise AlbertError(f"The inputs hold no text to train on{reasons}.")
    look = sum_up(looks, looked_at, is_held_out=lambda number: False)
    return SampledText(sentences, held_out.texts(), counts, look, numbers)


def text_being_read(chunks: Iterable[Chunk], read_bytes: Int) -> int:
    """Bytes of text read of some chunks, at most as many as were estimated."""
    return sum(min(int(read_bytes[chunk.number]), chunk.text_bytes) for chunk in chunks)


def processes(count: int) -> WorkerProcesses:
    """Fresh processes that an error or a signal ends at once, also in SentencePiece."""
    return WorkerProcesses(count, remedy="try fewer --workers or a smaller --sample-sentences")


def _read(chunk: Chunk, *, read_bytes: Path, **how: Any) -> ChunkSample:
    """The candidates of one chunk for a sample; says on the way how much was read."""
    of_chunks = np.memmap(read_bytes, np.int64, mode="r+")

    def on_read(text_bytes: int) -> None:
        of_chunks[chunk.number] += text_bytes

    return sample_chunk(chunk, **how, on_read=on_read)


def finished_of(futures: Iterable[Future[Result]]) -> set[Future[Result]]:
    """Those that are done, at the latest after half a second."""
    return wait(futures, LOOK_SECONDS, return_when=FIRST_COMPLETED).done
