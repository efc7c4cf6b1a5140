"""What the steps of a job do with one element, without Beam.

A worker process imports this module and not `make_data`, for Beam takes longer to
import than all the rest. Documents are shuffled, never examples: through files on one
machine (`spill_chunk`, `list_shards`, `build_shard`), by the engine's own grouping on a
cluster (`read_for_engine`, `build_group`). The bytes are the same either way.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from pipeline.core.documents import PASSED_OVER, ReadingCounts, ShardDocument, number_of
from pipeline.dataset.manifest import write_dataset
from pipeline.dataset.shard import NEAR_COPY, write_shard
from pipeline.job import repeats, spill
from pipeline.job.plan import COUNTS, SIGNED, Job
from pipeline.job.repeats import Signed, read_repeated
from pipeline.noise.filters import clean, language_of, read_clean, removed_whole
from pipeline.noise.look import Looker, bounds_for, sum_up
from pipeline.noise.near_copies import signature, word_hashes
from pipeline.reading.read import Chunk, hash_document, read_texts
from pipeline.storage.files import each_of, join, new_file, read_whole, write_whole
from pipeline.vocabulary.tokenizer import load_tokenizer
from schemas.errors import AlbertError
from schemas.files import json_text, parse_json, read_json, write_json
from schemas.layout import chunk_file, removed_file, sidecar_file

# The first of the numbers that stand for chunks.
REMOVED = -3

Result = tuple[None, dict[str, Any]]


def read_documents(
    chunk: Chunk, job: Job, found: list[Signed], *, counts: ReadingCounts, looker: Looker
) -> Iterator[ShardDocument]:
    """The documents of a chunk, which are looked at and signed as they pass.

    Where near-copies go, `found` receives each document once all its parts have passed.
    """
    parts: list[ShardDocument] = []
    # So that a text that comes a million times is grouped once for each chunk.
    signed = set[int]()

    def sign() -> None:
        if not parts:
            return
        number = number_of(parts[0].id)
        words = word_hashes("\n".join(part.text for part in parts))
        looker.see_words(number, words)
        if not job.near_duplicates or number in signed:
            return
        if made := signature(words):
            signed.add(number)
            found.append(Signed(number, made))

    repeated = read_repeated(job)
    texts = read_clean(chunk, job.dataset.config, counts=counts, repeated=repeated)
    for document in looker.watch(texts):
        if document.is_first:
            sign()
            parts.clear()
        parts.append(document)
        yield document
    sign()


def spill_chunk(chunk: Chunk, job: Job) -> Iterator[tuple[None, int]]:
    """A chunk becomes a file of documents by shard, unless there is one already."""
    folder, number = job.waiting_folder, chunk.number
    fingerprint = job.fingerprint_of(chunk)
    if not spill.is_finished(number, output=folder, fingerprint=fingerprint):
        counts, found = ReadingCounts(), list[Signed]()
        looker = Looker(bounds_for(job.text_bytes))
        documents = read_documents(chunk, job, found, counts=counts, looker=looker)
        size = spill.write_spill(documents, number, plan=job.shards, output=folder)
        _write_look(looker, number, job)
        if job.near_duplicates:
            repeats.write_signatures(found, number, output=folder)
        mark = {
            "fingerprint": fingerprint,
            "text_bytes": chunk.text_bytes,
            "file_bytes": size,
            "counts": counts.to_dict(),
        }
        write_json(folder / chunk_file(number, "json"), mark)
    yield None, number


def write_removed(chunk: Chunk, job: Job) -> None:
    """Write the paragraphs of a chunk that the data set lacks or has otherwise."""
    config, lines = job.dataset.config, list[str]()
    repeated, gone = read_repeated(job), repeats.read_gone(job)
    for document, _ in read_texts(chunk, counts=ReadingCounts()):
        left, removed = clean(document, config, repeated=repeated)
        if left and job.near_duplicates and number_of(hash_document(left)) in gone:
            went = {one.paragraph for one in removed if one.became is None}
            rest = removed_whole(document, NEAR_COPY[job.near_duplicates])
            removed = tuple(one for one in removed if one.became is None)
            removed += tuple(one for one in rest if one.paragraph not in went)
        name = hash_document(document).hex()
        in_order = sorted(removed, key=lambda one: one.paragraph)
        records = (one.record(name) for one in in_order)
        lines += (json.dumps(one, ensure_ascii=False) + "\n" for one in records)
    if lines:
        with new_file(join(job.removed, removed_file(chunk.number))) as file:
            file.write("".join(lines).encode("utf-8", "backslashreplace"))


def list_shards(chunks: tuple[None, Iterable[int]], job: Job) -> Iterator[int]:
    """Once all chunks have been read: COUNTS, and the number of each shard.

    Numbers from REMOVED downwards are chunks of which what is removed is written.
    """
    if job.near_duplicates:
        repeats.write_gone(job.near_duplicates, job)
    yield COUNTS
    yield from job.shards.shard_numbers()
    if job.removed:
        yield from (REMOVED - chunk.number for chunk in job.chunks)


def build_shard(number: int, job: Job) -> Iterator[Result]:
    """The documents of a shard, from the files of all chunks, become its files."""
    folder = job.waiting_folder
    if number == COUNTS:
        counts = {
            chunk.number: read_json(folder / chunk_file(chunk.number, "json"))["counts"]
            for chunk in job.chunks
        }
        yield None, _counted(counts, job)
        return
    if number <= REMOVED:
        write_removed(job.chunks[REMOVED - number], job)
        return
    documents = spill.read_spills(len(job.chunks), number, output=folder)
    yield None, finish_shard(documents, number, job)


def read_for_engine(chunk: Chunk, job: Job) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The documents of a chunk as (shard, (id, text)); (COUNTS, (chunk, counts)).

    The chunk itself has a number of its own where what is removed of it is written.
    The look, which may have megabytes, is a file: engines join what has one key, and
    Flink refuses a record that is larger than one of its buffers.
    """
    counts = ReadingCounts()
    if job.removed:
        yield REMOVED - chunk.number, (chunk,)
    if chunk.number == 0:
        # Every shard is written, even one without documents.
        yield from ((shard, ()) for shard in job.shards.shard_numbers())
    found, looker = list[Signed](), Looker(bounds_for(job.text_bytes))
    for document in read_documents(chunk, job, found, counts=counts, looker=looker):
        yield job.shards.shard_of(document.id), tuple(document)
        yield from ((SIGNED, tuple(one)) for one in found)
        found.clear()
    yield from ((SIGNED, tuple(one)) for one in found)
    _write_look(looker, chunk.number, job)
    yield COUNTS, (chunk.number, counts.to_dict())
    # For the progress bar only: the documents are with the engine, not in files.
    mark = {"text_bytes": chunk.text_bytes, "counts": counts.to_dict()}
    write_whole(join(job.output, chunk_file(chunk.number, "json")), json_text(mark))


def build_group(group: tuple[int, Iterable[tuple[Any, ...]]], job: Job) -> Iterator[Result]:
    """The documents of a shard, grouped by the engine, become its files."""
    number, values = group
    # What is empty only makes a group of its own, or wait.
    found = (value for value in values if value)
    if number == COUNTS:
        yield None, _counted(dict(found), job)
        return
    if number <= REMOVED:
        for (chunk,) in found:
            write_removed(chunk, job)
        return
    documents = (ShardDocument(*value) for value in found)
    yield None, finish_shard(documents, number, job)


def _look_file(chunk: int, job: Job) -> str:
    return job.shared_file(chunk_file(chunk, "look"))


def _write_look(looker: Looker, chunk: int, job: Job) -> None:
    with new_file(_look_file(chunk, job)) as file:
        file.write(json.dumps(looker.result()).encode())


def _read_look(path: str) -> dict[str, Any]:
    return parse_json(read_whole(path), path)


def _counted(by_chunk: dict[int, dict[str, Any]], job: Job) -> dict[str, Any]:
    """What reading the chunks counted, and the look at the text."""
    counts = ReadingCounts()
    for counted in by_chunk.values():
        counts.add(ReadingCounts.from_dict(counted))
    look = sum_up(
        each_of(_read_look, (_look_file(chunk, job) for chunk in by_chunk)),
        bounds_for(job.text_bytes),
        is_held_out=job.shards.is_held_out,
        gone=repeats.read_gone(job),
        most_repeats=job.dataset.config.max_line_repeats,
        language_of=language_of if "py3langid" in job.versions else None,
    )
    return {"read": counts.to_dict(), "look": look}


def finish_shard(documents: Iterable[ShardDocument], number: int, job: Job) -> dict[str, Any]:
    """The sidecar of a shard, which is made unless an earlier attempt left it."""
    shard = job.shards.shard(number)
    path = join(job.output, sidecar_file(shard.split, shard.index))
    sidecar: dict[str, Any] = {}
    with suppress(AlbertError):
        sidecar = parse_json(read_whole(path), path)
    if sidecar.get("fingerprint") != job.fingerprint:
        sidecar = {"fingerprint": job.fingerprint} | write_shard(
            documents,
            shard,
            tokenizer=load_tokenizer(job.model),
            config=job.dataset.config,
            output=job.output,
            gone=repeats.read_gone(job),
        )
        # Written last: where it is, the files of the shard are whole.
        write_whole(path, json_text(sidecar))
    return sidecar


def write_manifest(results: tuple[None, Iterable[dict[str, Any]]], job: Job) -> Iterator[None]:
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
