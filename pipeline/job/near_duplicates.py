"""The documents that go because they nearly equal others, found among all of a job.

On one machine each chunk leaves the signatures of its documents in two files, and one
process finds the pairs a band at a time: it holds a few numbers for each document and
no texts. On a cluster the engine groups ids by band and brings sketches together.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.core.documents import ShardDocument, number_of
from pipeline.core.draws import Keys
from pipeline.dataset.shard_plan import ShardPlan
from pipeline.noise.near_copies import (
    BANDS,
    Choice,
    Pair,
    Signature,
    Sketch,
    are_near,
    groups_by_key,
    pairs_to_check,
    signature,
    which_go,
    word_hashes,
)
from schemas.files import whole_file
from schemas.layout import NEAR_DUPLICATES, chunk_file

# A document and the shards of its parts.
Place = tuple[int, tuple[int, ...]]


class Signed(NamedTuple):
    """A document, long ones whole, and its signature.

    Attributes:
        id: The first 64 bits of its hash, which all its parts share.
        shards: Those of its parts.
    """

    id: int
    signature: Signature
    shards: tuple[int, ...]

    @property
    def place(self) -> Place:
        """Without its signature."""
        return self.id, self.shards


def signed(
    documents: Iterable[ShardDocument],
    tell: Callable[[Signed], None] | None,
    *,
    plan: ShardPlan,
    see_words: Callable[[int, Keys], None],
) -> Iterator[ShardDocument]:
    """The same documents; each, once all its parts have passed, is told signed.

    Args:
        tell: None where nothing needs to be signed.
        see_words: Told the number of each document and the hashes of its words.
    """
    parts: list[ShardDocument] = []

    def sign() -> None:
        if not parts:
            return
        words = word_hashes("\n".join(part.text for part in parts))
        see_words(number_of(parts[0].id), words)
        if tell and (found := signature(words)):
            shards = {plan.shard_of(part.id): None for part in parts}
            tell(Signed(number_of(parts[0].id), found, tuple(shards)))

    for document in documents:
        if document.is_first:
            sign()
            parts.clear()
        parts.append(document)
        yield document
    sign()


def write_signatures(documents: list[Signed], chunk: int, *, output: Path) -> None:
    """Write the signatures of a chunk.

    A table `[2 + BANDS, D]` has of each document its id, where its sketch ends, and its
    bands; sketches follow each other in a file of their own.
    """
    sketches = [one.signature.sketch for one in documents]
    table = np.empty((2 + BANDS, len(documents)), np.uint64)
    table[0] = [one.id for one in documents]
    table[1] = np.cumsum([len(sketch) for sketch in sketches])
    for column, one in zip(table.T, documents, strict=True):
        column[2:] = one.signature.bands
    with whole_file(output / chunk_file(chunk, "signatures.npy")) as file:
        np.save(file, table)
    with whole_file(output / chunk_file(chunk, "sketches.npy")) as file:
        np.save(file, np.concatenate([np.zeros(0, np.uint32), *sketches]))


class _Signatures:
    """The signatures of all chunks, of which a row at a time is in memory."""

    def __init__(self, chunks: int, *, output: Path) -> None:
        self._tables = [
            np.load(output / chunk_file(chunk, "signatures.npy"), mmap_mode="r")
            for chunk in range(chunks)
        ]
        self._sketches = [
            output / chunk_file(chunk, "sketches.npy") for chunk in range(chunks)
        ]
        self.ids = self.row(0)
        self._ends = self.row(1).astype(np.int64)
        self._starts_of_chunks = np.cumsum([0, *(t.shape[1] for t in self._tables)])
        self._order = np.argsort(self.ids, kind="stable")

    def row(self, number: int) -> Keys:
        """A row of the tables of all chunks, `[D]`."""
        return np.concatenate([table[number] for table in self._tables])

    def sketch(self, document: int) -> Sketch:
        """The sketch of a document."""
        place = self._order[np.searchsorted(self.ids, document, sorter=self._order)]
        chunk = int(np.searchsorted(self._starts_of_chunks, place, side="right")) - 1
        first = place == self._starts_of_chunks[chunk]
        start, end = 0 if first else self._ends[place - 1], self._ends[place]
        sketches: Sketch = np.load(self._sketches[chunk], mmap_mode="r")
        return sketches[start:end]


def find_near_duplicates(
    chunks: int, choice: Choice, *, plan: ShardPlan, output: Path
) -> set[int]:
    """The documents of all chunks that go."""
    signatures = _Signatures(chunks, output=output)
    pairs: set[Pair] = set()
    for band in range(BANDS):
        keys, ids = signatures.row(2 + band), signatures.ids
        if choice == "hold-out":
            shared = np.isin(keys, keys[ids < np.uint64(plan.eval_bound)])
            keys, ids = keys[shared], ids[shared]
        for group in groups_by_key(keys):
            pairs.update(
                pairs_to_check(
                    ids[group].tolist(), choice, is_held_out=plan.is_held_out
                )
            )
    near = (pair for pair in pairs if are_near(*map(signatures.sketch, pair)))
    return which_go(near, choice)


def write_gone(gone: set[int], *, output: Path) -> None:
    """Write which documents go."""
    with whole_file(output / NEAR_DUPLICATES) as file:
        np.save(file, np.array(sorted(gone), np.uint64))


def read_gone(*, output: Path) -> set[int]:
    """Which documents go."""
    return set(np.load(output / NEAR_DUPLICATES).tolist())


def gone_by_shard(
    pairs: Iterable[tuple[Place, Place]], choice: Choice
) -> Iterator[tuple[int, int]]:
    """(shard, document) for each shard of each document that goes."""
    shards: dict[int, tuple[int, ...]] = {}
    ids: list[Pair] = []
    for first, second in pairs:
        shards |= dict((first, second))
        ids.append((first[0], second[0]))
    for document in which_go(ids, choice):
        yield from ((shard, document) for shard in shards[document])
