"""A random sample of sentences that depends on the text alone.

Every sentence has a key that follows from the hash of its document, its place there and
the seed. The sample is the sentences with the smallest keys, so neither the order of
the files nor the number of workers shows in it, and exact duplicates count once.
"""

import heapq
import itertools
import operator
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from pipeline.core.arrays import Keys
from pipeline.core.counts import ReadingCounts
from pipeline.core.draws import draws, happens, hash_key
from pipeline.reading.chunks import Chunk
from pipeline.reading.read import read_chunk

# The share of the sentences that are never trained on, and their maximum number.
HELD_OUT_SHARE = 0.01
MAX_HELD_OUT = 10_000


class KeyedSentence(NamedTuple):
    """A sentence with its key; they sort by key."""

    key: int
    text: str


class Sample:
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

    def sorted(self) -> list[KeyedSentence]:
        """The sample in the order of its keys."""
        return [KeyedSentence(*item) for item in self.items()]


class ChunkSample(NamedTuple):
    """What one chunk contributes, keys and texts."""

    train: list[tuple[int, str]]
    held_out: list[tuple[int, str]]
    counts: ReadingCounts


def sample_chunk(
    chunk: Chunk,
    *,
    size: int,
    bound: int,
    seed: int,
    on_read: Callable[[int], object] = lambda size: None,
) -> ChunkSample:
    """The candidates of one chunk for a sample.

    Args:
        chunk: The files to read.
        size: Sentences wanted in all.
        bound: Keys of at least this are known to be too large.
        seed: Chooses the sample.
        on_read: Told the bytes of text of each document, or part of a long one.
    """
    train, held_out = Sample(size), Sample(MAX_HELD_OUT)
    train.bound = bound
    counts = ReadingCounts()
    for document in read_chunk(chunk, counts=counts):
        on_read(len(document.text.encode("utf-8", errors="replace")))
        lines = document.text.split("\n")
        counts.sentences += len(lines)
        keys = sentence_keys(document.id, len(lines), seed=seed)
        is_held_out = happens(draws(keys, 0), HELD_OUT_SHARE).tolist()
        pairs = list(zip(keys.tolist(), lines, strict=True))
        held_out.add(itertools.compress(pairs, is_held_out))
        train.add(itertools.compress(pairs, map(operator.not_, is_held_out)))
    return ChunkSample(train.items(), held_out.items(), counts)


def sentence_keys(document_id: bytes, count: int, *, seed: int) -> Keys:
    """The keys of the sentences of a document, `[count]`."""
    key = hash_key(b"vocabulary", str(seed).encode(), document_id)
    return draws(np.array([key], np.uint64), np.arange(count))
