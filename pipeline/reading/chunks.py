"""The work of reading, divided into chunks that do not depend on the workers."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.reading.recognise import InputFile

# Text that a worker reads at a time: large files are read in parts of about this
# size, small ones together.
CHUNK_BYTES = 16 << 20


class FilePart(NamedTuple):
    """A part of a file.

    Attributes:
        file: The file, with `group_bytes` and `document_starts` cleared.
        start: Its first byte, or row group of a parquet file.
        end: The first one after it; None for the end of the file.
        text_bytes: Estimated size of the text in it.
    """

    file: InputFile
    start: int
    end: int | None
    text_bytes: int


class Chunk(NamedTuple):
    """Parts of files that one worker reads, one after the other."""

    number: int
    parts: tuple[FilePart, ...]

    @property
    def text_bytes(self) -> int:
        """Estimated size of the text to read."""
        return sum(part.text_bytes for part in self.parts)

    def fingerprint(self) -> str:
        """Hash of what is read, whatever the paths."""
        parts = [(p.file.describe(), p.start, p.end) for p in self.parts]
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def plan_chunks(
    files: list[InputFile], *, chunk_bytes: int = CHUNK_BYTES
) -> list[Chunk]:
    """Divide large files and group small ones, into chunks with the largest first.

    Runners give chunks to their workers in turn, so this order lets all workers end at
    about the same time. Neither chunk size nor order changes the documents read.
    """
    groups: list[list[FilePart]] = []
    room = 0
    parts = [part for file in files for part in divide_file(file, chunk_bytes)]
    for part in sorted(parts, key=lambda part: -part.text_bytes):
        if not groups or part.text_bytes > room:
            groups.append([])
            room = chunk_bytes
        groups[-1].append(part)
        room -= part.text_bytes
    groups.sort(key=lambda group: -sum(part.text_bytes for part in group))
    return [Chunk(number, tuple(group)) for number, group in enumerate(groups)]


def divide_file(file: InputFile, chunk_bytes: int) -> Iterator[FilePart]:
    """The parts of a file, of about equal size."""
    # With the table in each of its parts, a job would grow with the square of the file.
    itself = file._replace(group_bytes=(), document_starts=())
    if file.group_bytes:
        for first, end, size in _join(file.group_bytes, chunk_bytes):
            is_last = end == len(file.group_bytes)
            yield FilePart(itself, first, None if is_last else end, size)
        return
    if file.document_starts:
        ends = (*file.document_starts[1:], file.bytes)
        sizes = [
            end - start for start, end in zip(file.document_starts, ends, strict=True)
        ]
        for first, end, size in _join(sizes, chunk_bytes):
            stop = None if end == len(sizes) else ends[end - 1]
            yield FilePart(itself, file.document_starts[first], stop, size)
        return
    count = 1
    if file.is_divisible:
        count = min(-(-file.text_bytes // chunk_bytes), file.bytes) or 1
    for number in range(count):
        is_last = number == count - 1
        yield FilePart(
            file=itself,
            start=file.bytes * number // count,
            end=None if is_last else file.bytes * (number + 1) // count,
            text_bytes=file.text_bytes * (number + 1) // count
            - file.text_bytes * number // count,
        )


def _join(sizes: Sequence[int], limit: int) -> Iterator[tuple[int, int, int]]:
    """Neighbours joined up to a size: the first, the end of them, and their size.

    >>> list(_join([3, 4, 2, 9, 1], 6))
    [(0, 1, 3), (1, 3, 6), (3, 4, 9), (4, 5, 1)]
    """
    first, total = 0, 0
    for number, size in enumerate(sizes):
        if number > first and total + size > limit:
            yield first, number, total
            first, total = number, 0
        total += size
    yield first, len(sizes), total
