"""A data set made of recognised text: folder taken, text read, shards built, all described.

The whole way is here but for Beam, which calls what is below (`pipeline.job.beam`):
worker processes import this module without it, for it takes longer to import than all
the rest. Documents are shuffled, never examples: through files on one machine
(`spill_chunk`, `list_items`, `do_item`), by the engine's own grouping on a cluster
(`read_on_cluster`, `by_item`, `do_group`). The bytes are the same either way.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.core.documents import PASSED_OVER, ReadingCounts, ShardDocument, number_of
from pipeline.core.worker_processes import WorkerProcesses
from pipeline.dataset.manifest import write_dataset
from pipeline.dataset.shard import write_shard
from pipeline.job import repeats, resume, spill
from pipeline.job.plan import Job, WorkItem
from pipeline.job.repeats import Counted, Signed
from pipeline.noise.decontamination import kept_runs, runs_of
from pipeline.noise.filters import OTHER_LANGUAGE, clean, language_of, removed_whole
from pipeline.noise.look import Looker, bounds_for, sum_up
from pipeline.noise.near_copies import signature, word_hashes
from pipeline.reading.formats import InputFile
from pipeline.reading.inputs import refuse_changed
from pipeline.reading.read import Chunk, hash_document, read_texts, shard_documents
from pipeline.storage import files, output_folder
from pipeline.vocabulary.tokenizer import load_tokenizer
from schemas.errors import AlbertError
from schemas.files import TEMPORARY, json_text, write_json
from schemas.layout import EVAL, SPM_MODEL, TRAIN, chunk_file, removed_file, sidecar_file
from schemas.locks import lock
from schemas.manifest import DatasetManifest

if TYPE_CHECKING:
    from apache_beam.runners.runner import PipelineResult

    from pipeline.job.runners import Runner

Result = tuple[None, dict[str, Any]]


@contextlib.contextmanager
def claimed_output(
    job: Job,
    inputs: Iterable[InputFile],
    *,
    settings: dict[str, Any],
    runner: "Runner | None",
    overwrite: bool,
) -> Iterator[bool]:
    """Take the folder of a job, for `make_data`; yields whether it is finished there already.

    Args:
        inputs: The recognised ones, in the order given.
        settings: As config.json records them, without those that follow from others.
        runner: The cluster, or None for this machine.
    """
    output, cache = job.output, job.waiting_folder
    is_apart = files.is_remote(output)
    with contextlib.ExitStack() as held:
        if is_apart and runner is None:
            held.enter_context(lock(cache, chosen_by="XDG_CACHE_HOME"))
        claim = output_folder.claim(
            output if is_apart else Path(output),
            resume.MAKE_DATA,
            settings=settings,
            identity={
                **dataclasses.asdict(job.dataset.config),
                "vocab": job.dataset.vocabulary["sha256"],
                "inputs": [file.describe() for file in inputs],
            },
            overwrite=overwrite,
            goes_on_elsewhere=runner is not None,
        )
        is_finished = held.enter_context(claim)
        if is_finished:
            # The job may have been killed after its manifest, before its end.
            resume.forget_work(output, is_here=runner is None)
        yield is_finished
        if runner is not None and is_apart and not is_finished:
            forget_cache(cache)


def forget_cache(folder: Path) -> None:
    """Remove what a job of this machine has left, unless one is at work there."""
    if folder.exists():
        with contextlib.suppress(AlbertError), lock(folder):
            files.remove(str(folder))


def make_data(
    job: Job,
    *,
    workers: int = 1,
    runner: "Runner | None" = None,
    shown: Callable[[Job], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
) -> DatasetManifest:
    """Make a data set in its folder, or finish one that was interrupted: what is finished is kept.

    Of one without a document to train on (`NothingToTrainOn`) nothing is left.

    Args:
        workers: Processes, where they run on this machine; this one works itself if 1.
        runner: The cluster, whose engine shuffles; None for this machine.
        shown: What shows how far the job is, once what is of no use to it is gone.
    """
    with contextlib.ExitStack() as held:
        submit = None
        if runner is None and workers > 1:
            # Before Beam is imported, so that they start meanwhile.
            processes = held.enter_context(
                WorkerProcesses(
                    workers,
                    take_job,
                    job,
                    remedy="what is finished is kept: run the same command again",
                    if_killed=", with fewer --workers if memory is short",
                )
            )
            submit = functools.partial(processes.submit, work)
        from pipeline.job import beam

        if runner:
            job = dataclasses.replace(
                job, shuffle="engine", mark=resume.mark_of(job, goes_on_alone=runner.goes_on_alone)
            )
        resume.forget_useless(job)
        files.write_whole(files.join(job.output, SPM_MODEL), job.model)
        manifest: DatasetManifest | None = None
        with shown(job):
            if runner:
                resume.write_mark(job.output, job.mark)
                beam.run_there(cluster_chain(job), job, runner)
            else:
                with resume.nothing_left_of_nothing(job):
                    if job.shuffle == "engine":
                        beam.run_chain(cluster_chain(job), job)
                    else:
                        results = beam.run_here(
                            job, submit, read=spill_chunk, items=list_items, do=do_item
                        )
                        manifest = write_manifest(results, job)
    if manifest is None:
        # An engine wrote it.
        manifest = resume.manifest_of(job.output)
    # The files of a command that was run meanwhile are not for this one to remove.
    if resume.is_own(job):
        resume.forget_work(job.output, is_here=not job.mark)
        # What killed workers were writing, and on storage shards of a job with other settings.
        shards = {shard.name for shard in manifest.shards}
        for name in files.sizes_below(job.output):
            is_shard = name.startswith((f"{TRAIN}/", f"{EVAL}/")) and name.endswith(".tfrecord")
            if TEMPORARY in name.rpartition("/")[2] or (is_shard and name not in shards):
                files.remove(files.join(job.output, name))
    return manifest


# In a worker process, what it works for.
_job: Job


def take_job(job: Job) -> None:
    """Have this process work for a job."""
    global _job
    _job = job


def work(compute: Callable[[Any, Job], Iterable[Any]], element: Any) -> list[Any]:
    """What a step makes of an element, in a worker process."""
    return list(compute(element, _job))


def dry_run(job: Job, runner: "Runner") -> "PipelineResult":
    """Have Beam check a job for a cluster, which does not get it."""
    from pipeline.job import beam
    from pipeline.job.runners import engine_of

    job = dataclasses.replace(job, shuffle="engine")
    with engine_of(runner) as engine:
        return beam.submit(cluster_chain(job), job, runner, engine)


def cluster_chain(job: Job) -> Any:
    """The chain of Beam's that does the same with an engine's shuffle."""
    from pipeline.job.beam import chain_for_engine

    return chain_for_engine(
        job, read=read_on_cluster, by_item=by_item, do=do_group, finish=finish_on_cluster
    )


def read_chunk(chunk: Chunk, job: Job) -> Iterator[ShardDocument | Signed | Counted]:
    """The documents of a chunk, dropped or cleaned, divided, looked at and signed.

    A document comes in parts if it is long. Of many documents in a row a text that comes
    again is signed once; what has been counted comes last.
    """
    config, repeated = job.dataset.config, repeats.read_repeated(job)
    is_held_out, counts = job.shards.is_held_out, ReadingCounts()
    looker = Looker(bounds_for(job.text_bytes))
    signed = set[int]()
    with contextlib.ExitStack() as held:
        write_runs = None
        # With what is held out, text is compared if any is.
        if job.near_duplicates and job.shards.eval_bound:
            write_runs = held.enter_context(repeats.new_runs(chunk.number, job))
        for document, language in read_texts(chunk, counts=counts):
            left, removed = clean(document, config, repeated=repeated)
            for one in removed:
                if one.became is not None:
                    counts.changed[one.reason] += 1
                elif one.reason != OTHER_LANGUAGE or one.paragraph == 0:
                    counts.dropped[one.reason] += 1
            if left is None:
                continue
            document_id = hash_document(left)
            number = number_of(document_id)
            looker.see(number, left)
            parts = list(shard_documents(left, language=language, document_id=document_id))
            yield from parts
            text = "\n".join(part.text for part in parts)
            words = word_hashes(text)
            of_eight = runs_of(words, text)
            looker.see_runs(number, of_eight)
            if job.near_duplicates and number not in signed and (made := signature(words)):
                if len(signed) >= repeats.TOGETHER:
                    signed.clear()
                signed.add(number)
                if write_runs:
                    write_runs(kept_runs(number, of_eight, is_held_out=is_held_out(number)))
                yield Signed(number, made)
        refuse_changed((part.file for part in chunk.parts), since=job.since)
    # Files, not elements: engines join what has one key, and Flink refuses a record that is
    # larger than one of its buffers, as a look may be.
    look = json.dumps(looker.result())
    files.write_whole(job.shared_file(chunk_file(chunk.number, "look")), look)
    yield Counted(chunk.number, counts.to_dict())


def spill_chunk(chunk: Chunk, job: Job) -> Iterator[tuple[None, int]]:
    """A chunk becomes a file of documents by shard, unless there is one already."""
    folder, number = job.waiting_folder, chunk.number
    if not resume.is_finished(chunk, job):
        counts = dict[str, Any]()
        with (
            repeats.new_signatures(number, output=folder) as write_signature,
            spill.new_spill(number, plan=job.shards, output=folder) as waiting,
        ):
            for found in read_chunk(chunk, job):
                match found:
                    case ShardDocument():
                        waiting.add(found)
                    case Signed():
                        write_signature(found)
                    case Counted():
                        counts = found.counts
        mark = {
            "fingerprint": job.fingerprint_of(chunk),
            "text_bytes": chunk.text_bytes,
            "file_bytes": waiting.bytes,
            "counts": counts,
        }
        write_json(folder / chunk_file(number, "json"), mark)
    yield None, number


def read_on_cluster(
    chunk: Chunk, job: Job
) -> Iterator[ShardDocument | Signed | Counted | Chunk | WorkItem]:
    """What is in a chunk, for the engine to bring together, and a mark for the bar.

    The chunk itself comes first where what is removed of it is written.
    """
    if job.removed:
        yield chunk
    if chunk.number == 0:
        # Every shard is written, even one without documents.
        yield from (WorkItem("shard", shard) for shard in job.shards.shard_numbers())
    for found in read_chunk(chunk, job):
        yield found
        if isinstance(found, Counted):
            mark = {"text_bytes": chunk.text_bytes, "counts": found.counts}
            path = files.join(job.output, chunk_file(chunk.number, "json"))
            files.write_whole(path, json_text(mark))


def list_items(chunks: tuple[None, Iterable[int]], job: Job) -> Iterator[WorkItem]:
    """What is to be done once all chunks have been read, and it is known what goes."""
    if job.near_duplicates:
        repeats.write_gone(repeats.near_pairs(job), chunks[1], job)
    yield WorkItem("counts")
    yield from (WorkItem("shard", number) for number in job.shards.shard_numbers())
    if job.removed:
        yield from (WorkItem("removed", chunk.number) for chunk in job.chunks)


def by_item(
    found: ShardDocument | Signed | Counted | Chunk | WorkItem, job: Job
) -> Iterator[tuple[tuple[str, int], tuple[Any, ...]]]:
    """What was read under what is to be done with it, as plain tuples."""
    match found:
        case ShardDocument():
            yield ("shard", job.shards.shard_of(found.id)), tuple(found)
        case Counted():
            yield ("counts", 0), tuple(found)
        case Chunk():
            yield ("removed", found.number), (found,)
        case WorkItem():
            # It only makes a group of its own, or waits.
            yield (found.kind, found.number), ()


def do_item(item: WorkItem, job: Job) -> Iterator[Result]:
    """Do what is to be done with what waits in the files of all chunks."""
    folder = job.waiting_folder
    match item.kind:
        case "shard":
            documents = spill.read_spills(len(job.chunks), item.number, output=folder)
            yield None, build_shard(documents, item.number, job)
        case "counts":
            marks = [str(folder / chunk_file(chunk.number, "json")) for chunk in job.chunks]
            counts = (mark["counts"] for mark in map(files.read_whole_json, marks))
            yield None, add_up(dict(enumerate(counts)), job)
        case "removed":
            write_removed(job.chunks[item.number], job)


def do_group(
    group: tuple[tuple[str, int], Iterable[tuple[Any, ...]]], job: Job
) -> Iterator[Result]:
    """Build a shard of its documents, add up what was counted, or write what is removed."""
    (kind, number), values = group
    found = filter(None, values)
    if kind == "shard":
        yield None, build_shard(itertools.starmap(ShardDocument, found), number, job)
    elif kind == "removed":
        for (chunk,) in found:
            write_removed(chunk, job)
    else:
        yield None, add_up(dict(found), job)


def build_shard(documents: Iterable[ShardDocument], number: int, job: Job) -> dict[str, Any]:
    """The sidecar of a shard, which is made unless an earlier attempt left it."""
    shard = job.shards.shard(number)
    path = files.join(job.output, sidecar_file(shard.split, shard.index))
    sidecar: dict[str, Any] = {}
    with contextlib.suppress(AlbertError):
        sidecar = files.read_whole_json(path)
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
        files.write_whole(path, json_text(sidecar))
    return sidecar


def add_up(by_chunk: dict[int, dict[str, Any]], job: Job) -> dict[str, Any]:
    """What reading the chunks counted, and the look at the text."""
    counts = ReadingCounts()
    for counted in by_chunk.values():
        counts.add(ReadingCounts.from_dict(counted))
    looks = (job.shared_file(chunk_file(chunk, "look")) for chunk in by_chunk)
    look = sum_up(
        files.each_of(files.read_whole_json, looks),
        bounds_for(job.text_bytes),
        is_held_out=job.shards.is_held_out,
        gone=repeats.read_gone(job),
        most_repeats=job.dataset.config.max_line_repeats,
        language_of=language_of if "py3langid" in job.versions else None,
    )
    return {"read": counts.to_dict(), "look": look}


def write_removed(chunk: Chunk, job: Job) -> None:
    """Write the paragraphs of a chunk that the data set lacks or has otherwise, if any."""
    records = find_removed(chunk, job)
    if first := next(records, None):
        with files.new_file(files.join(job.removed, removed_file(chunk.number))) as file:
            for record in itertools.chain([first], records):
                line = json.dumps(record, ensure_ascii=False) + "\n"
                file.write(line.encode("utf-8", "backslashreplace"))


def find_removed(chunk: Chunk, job: Job) -> Iterator[dict[str, Any]]:
    """What went of a chunk or became another, paragraph by paragraph."""
    config = job.dataset.config
    repeated, gone = repeats.read_repeated(job), repeats.read_gone(job)
    for document, _ in read_texts(chunk, counts=ReadingCounts()):
        left, removed = clean(document, config, repeated=repeated)
        if left and (why := gone.get(number_of(hash_document(left)))):
            removed = tuple(one for one in removed if one.became is None)
            went = {one.paragraph for one in removed}
            rest = removed_whole(document, why)
            removed += tuple(one for one in rest if one.paragraph not in went)
        name = hash_document(document).hex()
        yield from (one.record(name) for one in sorted(removed, key=lambda one: one.paragraph))


def finish_on_cluster(results: tuple[None, Iterable[dict[str, Any]]], job: Job) -> Iterator[None]:
    """On a cluster: all sidecars become the manifest."""
    write_manifest(results[1], job)
    yield


def write_manifest(results: Iterable[dict[str, Any]], job: Job) -> DatasetManifest:
    """All sidecars and counts become the manifest, the last file of the data set."""
    inputs = {part.file.path: part.file for chunk in job.chunks for part in chunk.parts}
    refuse_changed(inputs.values(), since=job.since)
    sidecars, counts, look = [], ReadingCounts(), {}
    counts.dropped[PASSED_OVER] = job.passed_over
    for result in results:
        if "read" in result:
            counts.add(ReadingCounts.from_dict(result["read"]))
            look = result["look"]
        else:
            sidecars.append(result)
    return write_dataset(job.dataset, sidecars, counts, look=look, output=job.output)
