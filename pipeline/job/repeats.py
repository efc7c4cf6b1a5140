"""What repeats among all documents of a job: near-copies, and lines of many documents.

On one machine each chunk leaves the signatures of its documents in two files, written in
parts as it is read, and one process finds the pairs a band at a time: it holds a few
numbers for each document and no texts. On a cluster the engine groups ids by band and
brings sketches together: a document with those that it is compared with, at most
BANDS * PIVOTS. The documents that go are a file, which every worker reads.

Lines are counted exactly, from the pairs of a line and a document that each chunk
leaves. A sixteenth of the lines at a time is brought together, so that memory does not
grow as fast as the text; on a cluster the engine groups them. The lines that go are a
file, which every worker reads.
"""

import contextlib
import functools
import io
import itertools
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from pipeline.core.documents import ReadingCounts, number_of
from pipeline.core.draws import Keys
from pipeline.dataset.shard import NEAR_COPY
from pipeline.job import resume
from pipeline.job.plan import Job
from pipeline.noise.decontamination import HeldOutRuns, Runs, join_runs
from pipeline.noise.filters import clean, line_number
from pipeline.noise.near_copies import (
    BANDS,
    Pair,
    Signature,
    Sketch,
    are_near,
    groups_by_key,
    pairs_to_check,
    which_go,
)
from pipeline.reading.read import Chunk, hash_document, read_texts
from pipeline.storage.files import each_of, is_remote, new_file, open_binary, read_whole
from schemas.files import whole_file, write_json
from schemas.layout import HELD_OUT_TEXT, NEAR_DUPLICATES, REPEATED_LINES, chunk_file

# What is kept of so many documents, and pairs of a line and a document, are in memory
# before they are written: a file that cannot be divided may have millions.
TOGETHER, PAIRS_TOGETHER = 10_000, 1 << 18
# The numbers of a document in a table of signatures.
_NUMBERS = 3 + BANDS

# Lines are counted in parts, by their first bits.
_PARTS_BITS = 4
_PAIR = struct.Struct("=QQ")
# A line that there is not.
NO_LINE = -3


class Signed(NamedTuple):
    """A document, long ones whole, by its number."""

    id: int
    signature: Signature


class Counted(NamedTuple):
    """What has been counted in a chunk, which has been read."""

    chunk: int
    counts: dict[str, Any]


@contextlib.contextmanager
def new_signatures(chunk: int, *, output: Path) -> Iterator[Callable[[Signed], None]]:
    """What writes the signatures of a chunk, to files that are there when they are whole.

    A table has of each document its id, where its sketch begins and ends among all, and its
    bands, `[3 + BANDS, TOGETHER]`; one follows on the other, and the last may be narrower.
    """
    columns = array("Q")

    def write_table() -> None:
        tables.write(np.array(columns, np.uint64).reshape(-1, _NUMBERS).T.tobytes())
        del columns[:]

    def write(document: Signed) -> None:
        bands, sketch = document.signature
        start = sketches.tell() // sketch.itemsize
        sketches.write(sketch.tobytes())
        columns.extend((document.id, start, start + len(sketch), *bands.tolist()))
        if len(columns) >= TOGETHER * _NUMBERS:
            write_table()

    with (
        whole_file(output / chunk_file(chunk, "signatures")) as tables,
        whole_file(output / chunk_file(chunk, "sketches")) as sketches,
    ):
        yield write
        write_table()


@contextlib.contextmanager
def new_runs(chunk: int, job: Job) -> Iterator[Callable[[Runs], None]]:
    """What writes the runs of words of a chunk, to a file that is there when it is whole."""
    held = list[Runs]()

    def write_held() -> None:
        join_runs(held).save(file)
        held.clear()

    def write(runs: Runs) -> None:
        held.append(runs)
        if len(held) >= TOGETHER:
            write_held()

    with new_file(job.shared_file(chunk_file(chunk, "runs"))) as file:
        yield write
        write_held()


class _Signatures:
    """The signatures of all chunks, of which a row at a time is in memory, and a file open."""

    def __init__(self, chunks: int, *, output: Path) -> None:
        self._tables = [output / chunk_file(chunk, "signatures") for chunk in range(chunks)]
        self._sketches = [output / chunk_file(chunk, "sketches") for chunk in range(chunks)]
        self._documents = [path.stat().st_size // (8 * _NUMBERS) for path in self._tables]
        self._starts_of_chunks = np.cumsum([0, *self._documents])
        self.ids, self._starts, self._ends = map(self.row, range(3))
        self._order = np.argsort(self.ids, kind="stable")

    def row(self, number: int) -> Keys:
        """A row of the tables of all chunks, `[D]`."""
        parts = []
        for path, documents in zip(self._tables, self._documents, strict=True):
            for first in range(0, documents, TOGETHER):
                width = min(TOGETHER, documents - first)
                place = 8 * (first * _NUMBERS + width * number)
                parts.append(np.fromfile(path, np.uint64, count=width, offset=place))
        return np.concatenate([np.zeros(0, np.uint64), *parts])

    def sketch(self, document: int) -> Sketch:
        """The sketch of a document."""
        # As a Python number, it would make the ids fractions, which are not exact.
        number = np.uint64(document)
        place = self._order[np.searchsorted(self.ids, number, sorter=self._order)]
        chunk = int(np.searchsorted(self._starts_of_chunks, place, side="right")) - 1
        start, end = int(self._starts[place]), int(self._ends[place])
        return np.fromfile(self._sketches[chunk], np.uint32, count=end - start, offset=4 * start)


def near_pairs(job: Job) -> Iterator[Pair]:
    """The pairs of near-copies among the documents of all chunks, from files."""
    signatures = _Signatures(len(job.chunks), output=job.waiting_folder)
    plan, choice, pairs = job.shards, job.near_duplicates or "drop", set[Pair]()
    for band in range(BANDS):
        keys, ids = signatures.row(3 + band), signatures.ids
        if choice == "hold-out":
            shared = np.isin(keys, keys[ids < np.uint64(plan.eval_bound)])
            keys, ids = keys[shared], ids[shared]
        for group in groups_by_key(keys):
            found = ids[group].tolist()
            pairs.update(pairs_to_check(found, choice, is_held_out=plan.is_held_out))
    return (pair for pair in pairs if are_near(*map(signatures.sketch, pair)))


def write_gone(near: Iterable[Pair], chunks: Iterable[int], job: Job) -> None:
    """Write which documents go: near-copies, and what holds text that is held out.

    Args:
        chunks: All of them, by their numbers; each has left a file of runs of words.
    """
    if job.near_duplicates:
        _write_numbers(which_go(near, job.near_duplicates), NEAR_DUPLICATES, job)
    if job.shards.eval_bound:
        paths = [job.shared_file(chunk_file(chunk, "runs")) for chunk in sorted(set(chunks))]
        held_out = HeldOutRuns(_read_runs(paths), bound=job.shards.eval_bound)
        found = map(held_out.found_in, _read_runs(paths))
        _write_numbers(set(itertools.chain.from_iterable(found)), HELD_OUT_TEXT, job)


def _read_runs(paths: Iterable[str]) -> Iterator[Runs]:
    """The runs of all chunks, in the parts in which they were written."""
    for file in each_of(_open_runs, paths):
        # Raised at the end of the file, where no part begins.
        with file, contextlib.suppress(EOFError):
            while True:
                yield Runs.load(file)


def _open_runs(path: str) -> BinaryIO:
    """A file of runs; a remote one is asked for as a whole, so that many come at once."""
    return io.BytesIO(read_whole(path)) if is_remote(path) else open_binary(path)


def signed_documents(found: object, _: Job) -> Iterator[tuple[int, Signed]]:
    """Signed documents by their ids."""
    if isinstance(found, Signed):
        yield found.id, found


def bands_of(element: tuple[int, Signed], _: Job) -> Iterator[tuple[int, int]]:
    """The id of a document under each of its bands."""
    number, document = element
    yield from ((key, number) for key in document.signature.bands.tolist())


def pairs_of_band(band: tuple[int, Iterable[int]], job: Job) -> Iterator[tuple[int, int]]:
    """The pairs to compare of the documents of a band."""
    choice, is_held_out = job.near_duplicates, job.shards.is_held_out
    if choice:
        yield from pairs_to_check(band[1], choice, is_held_out=is_held_out)


def meetings(group: tuple[int, Iterable[Signed | int]], _: Job) -> Iterator[tuple[int, Signed]]:
    """A document under the id of each with which it is to be compared.

    Args:
        group: The document, from each chunk that has it, and the ids, some repeatedly.
    """
    # Engines give what they grouped as often as it is asked for.
    others = {value for value in group[1] if not isinstance(value, Signed)}
    if others:
        document = next(value for value in group[1] if isinstance(value, Signed))
        yield from ((other, document) for other in others)


def near_copies(group: tuple[int, Iterable[Signed]], _: Job) -> Iterator[tuple[None, Pair]]:
    """The pairs that are near-copies of a document and of those that it meets."""
    number, documents = group
    own = next(one.signature for one in documents if one.id == number)
    for other in documents:
        if other.id != number and are_near(other.signature.sketch, own.sketch):
            yield None, (other.id, number)


def chunks_read(found: object, _: Job) -> Iterator[tuple[None, int]]:
    """The number of a chunk that was read, beside all pairs of near-copies."""
    if isinstance(found, Counted):
        yield None, found.chunk


def keep_gone(
    group: tuple[None, Iterable[Pair | int]], job: Job
) -> Iterator[tuple[tuple[str, int], tuple[()]]]:
    """The documents that go become a file, for which all that is to be done waits."""
    pairs, chunks = list[Pair](), list[int]()
    for one in group[1]:
        if isinstance(one, int):
            chunks.append(one)
        else:
            pairs.append(one)
    write_gone(pairs, chunks, job)
    yield ("counts", 0), ()


def read_gone(job: Job) -> dict[int, str]:
    """Which documents go, and why."""
    gone = dict[int, str]()
    if job.near_duplicates:
        near = _read_numbers(job.shared_file(NEAR_DUPLICATES))
        if job.shards.eval_bound:
            held_out = _read_numbers(job.shared_file(HELD_OUT_TEXT))
            gone = dict.fromkeys(held_out, NEAR_COPY["hold-out"])
        gone |= dict.fromkeys(near, NEAR_COPY[job.near_duplicates])
    return gone


def _lines_of(chunk: Chunk, job: Job) -> Iterator[tuple[int, int]]:
    """Each line of a chunk with the number of each document that has it, once."""
    for read, _ in read_texts(chunk, counts=ReadingCounts()):
        document, _ = clean(read, job.dataset.config)
        if document is None:
            continue
        number = number_of(hash_document(document))
        for line in dict.fromkeys(map(line_number, document.paragraphs)):
            yield line, number


def write_lines(chunk: Chunk, job: Job) -> Iterator[tuple[None, int]]:
    """The lines of a chunk and their documents become a file of pairs, unless there is one."""
    folder, number = job.waiting_folder, chunk.number
    if not resume.is_finished(chunk, job, mark="lines", file="line-pairs"):
        with whole_file(folder / chunk_file(number, "line-pairs")) as file:
            for pair in _lines_of(chunk, job):
                file.write(_PAIR.pack(*pair))
            size = file.tell()
        mark = {"fingerprint": job.fingerprint_of(chunk), "file_bytes": size}
        write_json(folder / chunk_file(number, "lines"), mark)
    yield None, number


def find_repeated(group: tuple[None, Iterable[int]], job: Job) -> Iterator[Chunk]:
    """Once the lines of all chunks are there: which go, and the chunks again."""
    found: list[int] = []
    paths = [job.waiting_folder / chunk_file(n, "line-pairs") for n in range(len(job.chunks))]
    for part in range(1 << _PARTS_BITS):
        pairs = np.concatenate([_pairs_of(path, part) for path in paths])
        found += repeated_of(pairs.T, more_than=job.dataset.config.max_line_repeats or 0)
    yield from keep_repeated((None, found), job)


def _pairs_of(path: Path, part: int) -> Keys:
    """The pairs of a chunk whose lines begin with these bits, `[L, 2]`."""
    found = [np.zeros((0, 2), np.uint64)]
    with path.open("rb") as file:
        while data := file.read(PAIRS_TOGETHER * _PAIR.size):
            pairs = np.frombuffer(data, np.uint64).reshape(-1, 2)
            found.append(pairs[pairs[:, 0] >> np.uint64(64 - _PARTS_BITS) == part])
    return np.concatenate(found)


def repeated_of(pairs: Keys, *, more_than: int) -> list[int]:
    """The lines that more documents have, of pairs of a line and a document, `[2, L]`.

    >>> repeated_of(np.uint64([[7, 7, 7, 8, 8], [1, 2, 2, 1, 1]]), more_than=1)
    [7]
    """
    pairs = pairs[:, np.lexsort(pairs[::-1])]
    is_first = np.ones(pairs.shape[1], bool)
    is_first[1:] = np.any(pairs[:, 1:] != pairs[:, :-1], axis=0)
    lines, counts = np.unique(pairs[0, is_first], return_counts=True)
    return [int(line) for line in lines[counts > more_than]]


def lines_for_engine(chunk: Chunk, job: Job) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each line of a chunk with documents that have it, no more than are counted.

    A line comes again with others of a chunk that has very many.
    """
    more_than = job.dataset.config.max_line_repeats or 0
    # The chunks go on even if no line is repeated.
    yield NO_LINE, ()
    pairs = _lines_of(chunk, job)
    while some := list(itertools.islice(pairs, PAIRS_TOGETHER)):
        documents: dict[int, set[int]] = {}
        for line, number in some:
            known = documents.setdefault(line, set())
            if len(known) <= more_than:
                known.add(number)
        yield from ((line, tuple(numbers)) for line, numbers in documents.items())


def repeated_line(
    group: tuple[int, Iterable[tuple[int, ...]]], job: Job
) -> Iterator[tuple[None, int]]:
    """A line that stands in more documents than allowed, and NO_LINE."""
    more_than = job.dataset.config.max_line_repeats or 0
    documents: set[int] = set()
    for numbers in group[1]:
        documents.update(numbers)
        if len(documents) > more_than:
            break
    if group[0] == NO_LINE or len(documents) > more_than:
        yield None, group[0]


def keep_repeated(group: tuple[None, Iterable[int]], job: Job) -> Iterator[Chunk]:
    """The lines that go become a file, which every worker reads; the chunks again."""
    lines = (line for line in group[1] if line != NO_LINE)
    _write_numbers(lines, REPEATED_LINES, job)
    yield from job.chunks


def read_repeated(job: Job) -> frozenset[int]:
    """Which lines go."""
    if not job.dataset.config.max_line_repeats:
        return frozenset()
    return _read_numbers(job.shared_file(REPEATED_LINES))


def _write_numbers(numbers: Iterable[int], name: str, job: Job) -> None:
    with new_file(job.shared_file(name)) as file:
        np.save(file, np.array(sorted(numbers), np.uint64))


@functools.lru_cache(maxsize=3)
def _read_numbers(path: str) -> frozenset[int]:
    """What a file has, which a process reads once."""
    return frozenset(np.load(io.BytesIO(read_whole(path))).tolist())
