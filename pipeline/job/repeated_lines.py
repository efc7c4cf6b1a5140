"""Lines that stand in more documents than allowed, counted exactly among all of a job.

Each chunk leaves pairs of a line and a document. A sixteenth of the lines at a time is
brought together, so that memory does not grow as fast as the text; on a cluster the
engine groups them. The lines that go are a file, which every worker reads.
"""

import functools
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from pipeline.core.documents import Document
from pipeline.core.draws import Keys
from pipeline.noise.filters import line_number
from pipeline.storage.files import join, new_file, read_whole
from schemas.files import whole_file
from schemas.layout import REPEATED_LINES, chunk_file

# Lines are counted in this many parts, by their first bits.
_PARTS_BITS = 4


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


@functools.lru_cache(maxsize=1)
def read_repeated(output: str, fingerprint: str) -> frozenset[int]:
    """Which lines go.

    Args:
        fingerprint: Of the job, of which a process reads them once.
    """
    del fingerprint
    data = read_whole(join(output, REPEATED_LINES))
    return frozenset(np.load(io.BytesIO(data)).tolist())
