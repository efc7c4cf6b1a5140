"""What repeats among all documents of a job: near-copies, and lines of many documents.

On one machine each chunk leaves the signatures of its documents in two files, and one
process finds the pairs a band at a time: it holds a few numbers for each document and
no texts. On a cluster the engine groups ids by band and brings sketches together.

Lines are counted exactly, from the pairs of a line and a document that each chunk
leaves. A sixteenth of the lines at a time is brought together, so that memory does not
grow as fast as the text; on a cluster the engine groups them. The lines that go are a
file, which every worker reads.
"""

import functools
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from pipeline.core.documents import Document, ShardDocument, number_of
from pipeline.core.draws import Keys
from pipeline.dataset.plan import ShardPlan
from pipeline.job.plan import COUNTS, SIGNED, Job
from pipeline.noise.filters import line_number
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
from pipeline.storage.files import join, new_file, read_whole
from schemas.files import whole_file
from schemas.layout import NEAR_DUPLICATES, REPEATED_LINES, chunk_file

# A document, once or more often, and what it meets.
Meeting = Mapping[Literal["documents", "met"], Iterable[Any]]
# Lines are counted in this many parts, by their first bits.
_PARTS_BITS = 4
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


def write_gone(chunks: int, choice: Choice, *, plan: ShardPlan, output: Path) -> None:
    """Find the documents of all chunks that go, and write which they are."""
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
    with whole_file(output / NEAR_DUPLICATES) as file:
        np.save(file, np.array(sorted(which_go(near, choice)), np.uint64))


def read_gone(*, output: Path) -> set[int]:
    """Which documents go."""
    return set(np.load(output / NEAR_DUPLICATES).tolist())


def all_but_signed(
    element: tuple[int, tuple[Any, ...]], _: Job
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """What is for a shard, and the counts."""
    if element[0] != SIGNED:
        yield element


def signed_documents(
    element: tuple[int, tuple[Any, ...]], _: Job
) -> Iterator[tuple[int, Signed]]:
    """Signed documents by their ids."""
    if element[0] == SIGNED:
        document = Signed(*element[1])
        yield document.id, document


def bands_of(element: tuple[int, Signed], _: Job) -> Iterator[tuple[int, int]]:
    """The id of a document under each of its bands."""
    number, document = element
    yield from ((key, number) for key in document.signature.bands.tolist())


def pairs_of_band(
    band: tuple[int, Iterable[int]], job: Job
) -> Iterator[tuple[int, int]]:
    """The pairs to compare of the documents of a band."""
    choice, is_held_out = job.near_duplicates, job.shards.is_held_out
    if choice:
        yield from pairs_to_check(band[1], choice, is_held_out=is_held_out)


def meetings(group: tuple[int, Meeting], _: Job) -> Iterator[tuple[int, Signed]]:
    """A document under the id of each with which it is to be compared."""
    documents, others = group[1]["documents"], set(group[1]["met"])
    if others:
        document = next(iter(documents))
        yield from ((other, document) for other in others)


def near_copies(
    group: tuple[int, Meeting], _: Job
) -> Iterator[tuple[None, tuple[Place, Place]]]:
    """The pairs that are near-copies of a document and of those that it meets."""
    others = list(group[1]["met"])
    if others:
        document = next(iter(group[1]["documents"]))
        for other in others:
            if are_near(other.signature.sketch, document.signature.sketch):
                yield None, (other.place, document.place)


def gone_by_shard(
    group: tuple[None, Iterable[tuple[Place, Place]]], job: Job
) -> Iterator[tuple[int, tuple[int]]]:
    """Each document that goes, for the shards of its parts and for the counts."""
    if not job.near_duplicates:
        return
    shards: dict[int, tuple[int, ...]] = {}
    ids: list[Pair] = []
    for first, second in group[1]:
        shards |= dict((first, second))
        ids.append((first[0], second[0]))
    for document in which_go(ids, job.near_duplicates):
        yield from ((shard, (document,)) for shard in (*shards[document], COUNTS))


def lines_of(documents: Iterable[tuple[int, Document]]) -> Iterator[tuple[int, int]]:
    """Each line with the number of each document that has it, once."""
    for number, document in documents:
        for line in dict.fromkeys(map(line_number, document.paragraphs)):
            yield line, number


def write_lines(pairs: Iterable[tuple[int, int]], chunk: int, *, output: Path) -> None:
    """Write the lines of a chunk and their documents, `[2, L]`."""
    table = np.array(list(pairs), np.uint64).reshape(-1, 2).T
    with whole_file(output / chunk_file(chunk, "lines.npy")) as file:
        np.save(file, table)


def find_repeated(chunks: int, *, more_than: int, output: Path) -> list[int]:
    """The lines of more documents than a number, of what all chunks have written."""
    found: list[int] = []
    tables = [
        np.load(output / chunk_file(chunk, "lines.npy"), mmap_mode="r")
        for chunk in range(chunks)
    ]
    shift = np.uint64(64 - _PARTS_BITS)
    for part in range(1 << _PARTS_BITS):
        pairs = [table[:, table[0] >> shift == part] for table in tables]
        found += repeated_of(np.concatenate(pairs, axis=1), more_than=more_than)
    return found


def repeated_of(pairs: Keys, *, more_than: int) -> list[int]:
    """The lines of more documents than a number; a document counts once.

    Args:
        pairs: Lines and documents, `[2, L]`.

    >>> repeated_of(np.uint64([[7, 7, 7, 8, 8], [1, 2, 2, 1, 1]]), more_than=1)
    [7]
    """
    distinct = np.unique(pairs, axis=1)
    lines, counts = np.unique(distinct[0], return_counts=True)
    return [int(line) for line in lines[counts > more_than]]


def write_repeated(lines: Iterable[int], *, output: str | Path) -> None:
    """Write which lines go, where every worker reads them."""
    with new_file(join(output, REPEATED_LINES)) as file:
        data = io.BytesIO()
        np.save(data, np.array(sorted(lines), np.uint64))
        file.write(data.getvalue())


def read_repeated(job: Job) -> frozenset[int]:
    """Which lines go."""
    if not job.dataset.config.max_line_repeats:
        return frozenset()
    return _read_repeated(job.output, job.fingerprint)


@functools.lru_cache(maxsize=1)
def _read_repeated(output: str, fingerprint: str) -> frozenset[int]:
    """Which lines go in the job of a fingerprint, which a process reads once."""
    del fingerprint
    data = read_whole(join(output, REPEATED_LINES))
    return frozenset(np.load(io.BytesIO(data)).tolist())
