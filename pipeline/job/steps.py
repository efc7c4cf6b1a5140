"""What the steps of a job do with one element, without Beam.

A worker process imports this module and not `make_data`, for Beam takes longer to
import than all the rest. Documents are shuffled, never examples: through files on one
machine (`spill_chunk`, `list_shards`, `build_shard`), by the engine's own grouping on a
cluster (`read_for_engine`, `build_group`). The bytes are the same either way.
"""

import json
from collections.abc import Iterable, Iterator, Set
from typing import Any

from pipeline.core.documents import (
    PASSED_OVER,
    Document,
    ReadingCounts,
    ShardDocument,
    number_of,
)
from pipeline.dataset.manifest import write_dataset
from pipeline.dataset.shard import NEAR_COPY, write_shard
from pipeline.job import repeats, spill
from pipeline.job.plan import COUNTS, SIGNED, Job
from pipeline.job.repeats import Signed, signed
from pipeline.job.spill import finished_sidecar
from pipeline.noise.describe import sum_up
from pipeline.noise.filters import (
    OTHER_LANGUAGE,
    Removed,
    clean,
    is_installed,
    language_of,
    removed_whole,
)
from pipeline.noise.look import Looker
from pipeline.reading.read import Chunk, hash_document, read_texts
from pipeline.storage.files import join, new_file, write_whole
from pipeline.vocabulary.tokenizer import load_tokenizer
from schemas.files import json_text, read_json, whole_file
from schemas.layout import chunk_file, removed_file, sidecar_file

# A line that there is not, and the first of the numbers of chunks.
NO_LINE = REMOVED = -3

Result = tuple[None, dict[str, Any]]


def spill_chunk(chunk: Chunk, job: Job) -> Iterator[tuple[None, int]]:
    """A chunk becomes a file of documents by shard, unless there is one already."""
    folder = job.waiting_folder
    fingerprint = f"{job.fingerprint} {chunk.fingerprint()}"
    if not spill.is_finished(chunk.number, output=folder, fingerprint=fingerprint):
        counts, found = ReadingCounts(), list[Signed]()
        looker = Looker(job.looked_at)
        documents = read_documents(chunk, job, found, counts=counts, looker=looker)
        file_bytes = spill.write_spill(
            documents, chunk.number, plan=job.shards, output=folder
        )
        with whole_file(folder / chunk_file(chunk.number, "look")) as file:
            file.write(json.dumps(looker.result()).encode())
        if job.near_duplicates:
            repeats.write_signatures(found, chunk.number, output=folder)
        spill.write_mark(
            chunk.number,
            output=folder,
            fingerprint=fingerprint,
            counts=counts,
            text_bytes=chunk.text_bytes,
            file_bytes=file_bytes,
        )
    yield None, chunk.number


def read_documents(
    chunk: Chunk,
    job: Job,
    found: list[Signed],
    *,
    counts: ReadingCounts,
    looker: Looker,
) -> Iterator[ShardDocument]:
    """The documents of a chunk, which are looked at and signed as they pass."""
    repeated = repeats.read_repeated(job)
    texts = read_clean(chunk, job, counts=counts, repeated=repeated)
    return signed(
        looker.watch(texts),
        found.append if job.near_duplicates else None,
        plan=job.shards,
        see_words=looker.see_words,
    )


def read_clean(
    chunk: Chunk, job: Job, *, counts: ReadingCounts, repeated: frozenset[int]
) -> Iterator[tuple[Document, str]]:
    """What is left of the documents of a chunk; what is removed is counted."""
    config = job.dataset.config
    for document, language in read_texts(chunk, counts=counts):
        left, removed = clean(document, config, repeated=repeated)
        for one in removed:
            if one.became is not None:
                counts.changed[one.reason] += 1
            elif one.reason != OTHER_LANGUAGE or one.paragraph == 0:
                counts.dropped[one.reason] += 1
        if left:
            yield left, language


def write_removed(chunk: Chunk, job: Job, *, gone: Set[int]) -> None:
    """Write the paragraphs of a chunk that the data set lacks or has otherwise."""
    config, lines = job.dataset.config, list[str]()
    repeated = repeats.read_repeated(job)
    for document, _ in read_texts(chunk, counts=ReadingCounts()):
        left, removed = clean(document, config, repeated=repeated)
        if left and job.near_duplicates and number_of(hash_document(left)) in gone:
            went = {one.paragraph for one in removed if one.became is None}
            rest = removed_whole(document, NEAR_COPY[job.near_duplicates])
            removed = tuple(one for one in removed if one.became is None)
            removed += tuple(one for one in rest if one.paragraph not in went)
        name = hash_document(document).hex()
        records = (one.record(name) for one in sorted(removed, key=by_paragraph))
        lines += (json.dumps(one, ensure_ascii=False) + "\n" for one in records)
    if lines:
        with new_file(join(job.removed, removed_file(chunk.number))) as file:
            file.write("".join(lines).encode("utf-8", "backslashreplace"))


def by_paragraph(removed: Removed) -> int:
    """The order of what is removed from a document."""
    return removed.paragraph


def _numbered(chunk: Chunk, job: Job) -> Iterator[tuple[int, Document]]:
    for document, _ in read_clean(
        chunk, job, counts=ReadingCounts(), repeated=frozenset()
    ):
        yield number_of(hash_document(document)), document


def write_lines(chunk: Chunk, job: Job) -> Iterator[tuple[None, int]]:
    """The lines of a chunk become a file, from which they are counted."""
    pairs = repeats.lines_of(_numbered(chunk, job))
    repeats.write_lines(pairs, chunk.number, output=job.waiting_folder)
    yield None, chunk.number


def find_repeated(group: tuple[None, Iterable[int]], job: Job) -> Iterator[Chunk]:
    """Once the lines of all chunks are there: which go, and the chunks again."""
    found = repeats.find_repeated(
        len(job.chunks),
        more_than=job.dataset.config.max_line_repeats or 0,
        output=job.waiting_folder,
    )
    repeats.write_repeated(found, output=job.output)
    yield from job.chunks


def lines_for_engine(chunk: Chunk, job: Job) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each line of a chunk with documents that have it, no more than are counted."""
    more_than = job.dataset.config.max_line_repeats or 0
    documents: dict[int, set[int]] = {}
    for line, number in repeats.lines_of(_numbered(chunk, job)):
        known = documents.setdefault(line, set())
        if len(known) <= more_than:
            known.add(number)
    # The chunks go on even if no line is repeated.
    yield NO_LINE, ()
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
    """Once all lines are counted: those that go become a file; the chunks again."""
    lines = (line for line in group[1] if line != NO_LINE)
    repeats.write_repeated(lines, output=job.output)
    yield from job.chunks


def list_shards(chunks: tuple[None, Iterable[int]], job: Job) -> Iterator[int]:
    """Once all chunks have been read: COUNTS, and the number of each shard.

    The documents that go are found before it. Numbers from REMOVED downwards are chunks
    of which what is removed is to be written.
    """
    if job.near_duplicates:
        repeats.write_gone(
            len(job.chunks),
            job.near_duplicates,
            plan=job.shards,
            output=job.waiting_folder,
        )
    yield COUNTS
    yield from job.shards.shard_numbers()
    if job.removed:
        yield from (REMOVED - chunk.number for chunk in job.chunks)


def build_shard(number: int, job: Job) -> Iterator[Result]:
    """The documents of a shard, from the files of all chunks, become its files."""
    folder = job.waiting_folder
    gone = set[int]()
    if job.near_duplicates:
        gone = repeats.read_gone(output=folder)
    if number == COUNTS:
        counts = spill.sum_counts(len(job.chunks), output=folder)
        looks = (
            read_json(folder / chunk_file(chunk, "look"))
            for chunk in range(len(job.chunks))
        )
        yield None, _counted(counts, looks, job, gone=gone)
        return
    if number <= REMOVED:
        write_removed(job.chunks[REMOVED - number], job, gone=gone)
        return
    documents = spill.read_spills(len(job.chunks), number, output=folder)
    yield None, finish_shard(documents, number, job, gone=gone)


def read_for_engine(chunk: Chunk, job: Job) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The documents of a chunk as (shard, (id, text)); (COUNTS, (counts, look))."""
    counts = ReadingCounts()
    if chunk.number == 0:
        # Every shard is written, even one without documents.
        yield from ((shard, ()) for shard in job.shards.shard_numbers())
    found, looker = list[Signed](), Looker(job.looked_at)
    documents = read_documents(chunk, job, found, counts=counts, looker=looker)
    for document in documents:
        yield job.shards.shard_of(document.id), tuple(document)
        yield from ((SIGNED, tuple(one)) for one in found)
        found.clear()
    yield from ((SIGNED, tuple(one)) for one in found)
    looks = looker.parts()
    yield COUNTS, (counts.to_dict(), next(looks))
    yield from ((COUNTS, (ReadingCounts().to_dict(), look)) for look in looks)
    # For the progress bar only: the documents are with the engine, not in files.
    mark = {"text_bytes": chunk.text_bytes, "counts": counts.to_dict()}
    write_whole(join(job.output, chunk_file(chunk.number, "json")), json_text(mark))


def build_group(
    group: tuple[int, Iterable[tuple[Any, ...]]], job: Job
) -> Iterator[Result]:
    """The documents of a shard, grouped by the engine, become its files."""
    number, values = group
    # Engines give what they grouped as often as it is asked for.
    gone = {value[0] for value in values if len(value) == 1}
    if number == COUNTS:
        counts = ReadingCounts()
        for value in values:
            if len(value) > 1:
                counts.add(ReadingCounts.from_dict(value[0]))
        looks = (value[1] for value in values if len(value) > 1)
        if job.removed:
            for chunk in job.chunks:
                write_removed(chunk, job, gone=gone)
        yield None, _counted(counts, looks, job, gone=gone)
        return
    documents = (ShardDocument(*value) for value in values if len(value) > 1)
    yield None, finish_shard(documents, number, job, gone=gone)


def _counted(
    counts: ReadingCounts, looks: Iterable[dict[str, Any]], job: Job, *, gone: set[int]
) -> dict[str, Any]:
    """What reading counted, and the look at the text."""
    can_tell = job.names_languages and is_installed()
    look = sum_up(
        looks,
        job.looked_at,
        is_held_out=job.shards.is_held_out,
        gone=gone,
        most_repeats=job.dataset.config.max_line_repeats,
        language_of=language_of if can_tell else None,
    )
    return {"read": counts.to_dict(), "look": look}


def finish_shard(
    documents: Iterable[ShardDocument], number: int, job: Job, *, gone: Set[int]
) -> dict[str, Any]:
    """The sidecar of a shard, which is made unless an earlier attempt left it."""
    shard = job.shards.shard(number)
    path = join(job.output, sidecar_file(shard.split, shard.index))
    sidecar = finished_sidecar(path, job.fingerprint)
    if sidecar is None:
        sidecar = {"fingerprint": job.fingerprint} | write_shard(
            documents,
            shard,
            tokenizer=load_tokenizer(job.model),
            config=job.dataset.config,
            output=job.output,
            gone=gone,
        )
        # Written last: where it is, the files of the shard are whole.
        write_whole(path, json_text(sidecar))
    return sidecar


def write_manifest(
    results: tuple[None, Iterable[dict[str, Any]]], job: Job
) -> Iterator[None]:
    """All sidecars become the manifest, the last file of the data set."""
    sidecars, counts, look = [], ReadingCounts(), {}
    counts.dropped[PASSED_OVER] = job.passed_over
    for result in results[1]:
        if "read" in result:
            counts.add(ReadingCounts.from_dict(result["read"]))
            look = result["look"]
        else:
            sidecars.append(result)
    write_dataset(job.dataset, sidecars, counts, look=look, output=job.output)
    yield
