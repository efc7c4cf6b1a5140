"""Files to chunks, and a chunk to documents: blocks, lines or rows, and sentences.

Recognising a file (`pipeline.reading.inputs`) says its format; here a part of it is
read. Storage opens, decompresses and cuts it at the documents of its format; the lines
are decoded, and what is no text of the document is left out.
"""

import functools
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from pipeline.core.documents import (
    Document,
    Documents,
    Dropped,
    ReadingCounts,
    ShardDocument,
    held_out_id,
)
from pipeline.reading.formats import FORMATS, FilePart, InputFile, loaded
from pipeline.reading.plain_text import split_at_markers, with_characters
from pipeline.reading.refusals import is_unlike_text, odd_marks
from pipeline.reading.sentences import divide, split_sentences, unlike_language
from pipeline.storage import files
from pipeline.storage.lines import decode, read_blocks, read_documents, read_lines, read_raw_lines
from schemas.readable import counted, percent

# Text that a worker reads at a time: large files are read in parts of about this
# size, small ones together.
CHUNK_BYTES = 16 << 20


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


def plan_chunks(files: list[InputFile], *, chunk_bytes: int = CHUNK_BYTES) -> list[Chunk]:
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
    limit = chunk_bytes
    ends = [*itertools.accumulate(file.group_bytes, initial=0)]
    places: Sequence[int] = range(len(ends))
    if file.document_starts:
        places = ends = [*file.document_starts, file.bytes]
    elif not file.group_bytes:
        # Each part by itself, of about equal size.
        limit, most = 0, -(-file.text_bytes // chunk_bytes) if file.is_divisible else 1
        count = max(1, min(most, file.bytes))
        places, ends = (
            [size * number // count for number in range(count + 1)]
            for size in (file.bytes, file.text_bytes)
        )
    first = 0
    for number in range(1, len(ends) - 1):
        # Neighbours are joined up to a size.
        if ends[number + 1] - ends[first] > limit:
            yield FilePart(itself, places[first], places[number], ends[number] - ends[first])
            first = number
    yield FilePart(itself, places[first], None, ends[-1] - ends[first])


# Sentences of a document that are shown, and of a file that are looked at.
_SHOWN_SENTENCES, _SEEN_SENTENCES = 100, 2000
# Characters that tell in which script a document is.
_LOOKED_AT = 2000


def read_shard_documents(chunk: Chunk, *, counts: ReadingCounts) -> Iterator[ShardDocument]:
    """The documents of a chunk with their sentences, long ones divided."""
    for document, language in read_texts(chunk, counts=counts):
        yield from shard_documents(document, language=language)


def read_texts(chunk: Chunk, *, counts: ReadingCounts) -> Iterator[tuple[Document, str]]:
    """The documents of a chunk, each with the language whose rules divide it."""
    for part in chunk.parts:
        files.remember(part.file.path, size=part.file.bytes, sha256=part.file.sha256)
        for document in read_part(part, counts=counts):
            if isinstance(document, Dropped):
                counts.dropped[document.reason] += 1
                continue
            counts.documents += 1
            is_own = document.language and part.file.language_from != "flag"
            language = document.language if is_own else part.file.language
            if not document.is_segmented:
                is_default = not is_own and part.file.language_from == "default"
                text = " ".join(document.paragraphs)[:_LOOKED_AT]
                if said := unlike_language(text, language, is_default=is_default):
                    counts.changed[said] += 1
            yield document._replace(is_held_out=part.file.is_held_out), language


def show_sentences(file: InputFile, *, documents: int) -> Iterator[str]:
    """A look at a file for a person: its first documents, a line for each sentence.

    Above them stands how many sentences look unlike text, with the commonest marks.
    """
    whole = Chunk(0, (FilePart(file, 0, None, file.text_bytes),))
    shown: list[str] = []
    seen: list[str] = []
    for number, (document, language) in enumerate(read_texts(whole, counts=ReadingCounts()), 1):
        paragraphs = split_sentences(document, language=language)
        sentences = [*itertools.chain.from_iterable(paragraphs)]
        seen += sentences
        if number <= documents:
            shown.append(
                f"{file.path}, document {number}: {counted(len(paragraphs), 'paragraph')}, "
                f"{counted(len(sentences), 'sentence')}"
            )
            lines = [f"  {n}. {each}" for n, one in enumerate(paragraphs, 1) for each in one]
            shown += lines[:_SHOWN_SENTENCES]
            if (more := len(lines) - _SHOWN_SENTENCES) > 0:
                shown.append(f"  and {counted(more, 'more sentence')}")
        if number >= documents and len(seen) >= _SEEN_SENTENCES:
            break
    marks = Counter(mark for sentence in seen for mark in {*odd_marks(sentence)})
    unlike = sum(map(is_unlike_text, seen))
    most = ", ".join(f'"{mark:.40}" {counted(n, "time")}' for mark, n in marks.most_common(3))
    yield (
        f"{file.path}: {percent(unlike / max(1, len(seen)))} of {counted(len(seen), 'sentence')} "
        f"look unlike text{f'; marks that are no words: {most}' if most else ''}"
    )
    yield from shown


def shard_documents(
    document: Document, *, language: str, document_id: bytes = b""
) -> Iterator[ShardDocument]:
    """A document, or the parts of a long one, under ids that follow from its text."""
    document_id = document_id or hash_document(document)
    parts = divide(split_sentences(document, language=language))
    for number, sentences in enumerate(parts):
        # The first eight bytes stay those of the whole: they decide the split.
        tail = hashlib.blake2b(document_id + number.to_bytes(4, "big"), digest_size=8)
        part_id = document_id[:8] + (tail.digest() if number else document_id[8:])
        yield ShardDocument(part_id, "\n".join(sentences), is_first=number == 0)


def hash_document(document: Document) -> bytes:
    """The id of a whole document: the hash of its text, 16 bytes."""
    text = "\n".join(document.paragraphs).encode("utf-8", errors="replace")
    document_id = hashlib.blake2b(text, digest_size=16).digest()
    return held_out_id(document_id) if document.is_held_out else document_id


def _without_markers(lines: Iterable[str]) -> Iterator[str]:
    """Lines, with a blank one in the place of a marker of the end of a document."""
    for line in lines:
        if line[:1] not in ("<", "[") and "<|" not in line:
            yield with_characters(line)
            continue
        first, *others = split_at_markers(line.encode())
        yield decode(first).strip() if others else line
        for part in others:
            yield ""
            yield decode(part).strip()


def read_part(part: FilePart, *, counts: ReadingCounts) -> Documents:
    """The documents that belong to a part of a file; of one dropped, the reason."""
    file, start, end, _ = part
    row = FORMATS[file.format]
    if row.starts:
        starts = loaded(row.starts)
        if file.text_key:
            starts = functools.partial(starts, key=file.text_key)
        blocks = read_documents(file.path, starts, start=start, end=end, counts=counts)
    else:
        # The part is known to begin and end with its documents.
        blocks = read_blocks(file.path, start=start, end=end, counts=counts)
    read: Callable[..., Documents] = loaded(row.reader)
    if row.reads == "part":
        return read(part, blocks, counts=counts)
    if row.reads == "blocks":
        return read(blocks, counts=counts)
    if row.reads == "lines":
        return read(_without_markers(read_lines(blocks, counts=counts)))
    return read(read_raw_lines(blocks, counts=counts))
