"""The job from text to data set, from beginning to end."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, GoogleCloudOptions
from apache_beam.runners.runner import PipelineResult, PipelineState

from pipeline.dataset.dataset import NothingToTrainOn
from pipeline.dataset.fingerprint import plan_dataset, tool_versions
from pipeline.dataset.shard_plan import plan_shards
from pipeline.job import spill
from pipeline.job.failures import explain
from pipeline.job.local_runner import LocalWorkers, local_runner
from pipeline.job.places import ends_with_command
from pipeline.job.resuming import forget_incomplete
from pipeline.job.runners import LOCAL_RUNNER, Runner, choose_runner
from pipeline.job.transforms import (
    BuildGroup,
    BuildShard,
    Job,
    ListShards,
    ReadChunk,
    Shuffle,
    SpillChunk,
    WriteManifest,
)
from pipeline.reading.chunks import CHUNK_BYTES, Chunk, plan_chunks
from pipeline.reading.recognise import InputFile
from pipeline.storage import files as storage
from pipeline.vocabulary.tokenizer import load_tokenizer
from schemas.config import ResolvedDataConfig
from schemas.errors import AlbertError
from schemas.layout import EVAL, SIDECARS, SPM_MODEL, TRAIN
from schemas.whole_file import TEMPORARY


def make_data(  # noqa: PLR0913 - what is made, of what, where and how
    files: list[InputFile],
    config: ResolvedDataConfig,
    *,
    model: bytes,
    output: str | Path,
    workers: int = 1,
    runner: Runner | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    shuffle: Shuffle | None = None,
    passed_over: int = 0,
) -> PipelineResult:
    """Make a data set from recognised inputs, or finish one that was interrupted.

    Args:
        files: See `pipeline.reading.inputs.find_inputs`.
        config: Settings as resolved.
        model: The SentencePiece model, checked.
        output: A folder that the workers reach, here or on storage; what is finished
            there is kept.
        workers: Processes, where they run on this machine.
        runner: Where the work is done, by default on this machine.
        chunk_bytes: Text that one worker reads at a time.
        shuffle: Whether documents wait in files or in the engine; the bytes are the
            same, but only files keep memory constant here and survive an interruption.
        passed_over: Files that were found and are not among `files`, to be counted.

    Raises:
        NothingToTrainOn: There is no document to train on; nothing of a data set is
            left.
        AlbertError: A file cannot be read or written, or a worker was killed.
    """
    runner = runner or choose_runner(LOCAL_RUNNER, [])
    shuffle = shuffle or ("files" if runner.is_local else "engine")
    chunks = plan_chunks(files, chunk_bytes=chunk_bytes)
    job = plan_job(files, config, model=model, output=output, num_chunks=len(chunks))
    job = dataclasses.replace(job, passed_over=passed_over)
    transform = chain(chunks, job, model=model, shuffle=shuffle)
    if runner.is_dry:
        return submit(transform, job, runner)
    forget_incomplete(output)
    if shuffle == "engine":
        spill.forget_chunks(output)
    with storage.new_file(storage.join(output, SPM_MODEL)) as file:
        file.write(model)
    if runner.is_local:
        result = run_here(transform, job, workers=workers, runner=runner)
    else:
        result = run_there(transform, job, runner)
    spill.forget_chunks(output)
    # What killed workers were writing.
    for path in storage.find_below(output, f"**/*{TEMPORARY}*"):
        storage.remove(path)
    return result


def plan_job(
    files: list[InputFile],
    config: ResolvedDataConfig,
    *,
    model: bytes,
    output: str | Path,
    num_chunks: int,
) -> Job:
    """What every step has to know, wherever it runs."""
    tokenizer = load_tokenizer(model)
    dataset = plan_dataset(
        config, files, vocab_sha256=tokenizer.sha256, vocab_size=tokenizer.vocab_size
    )
    return Job(
        dataset=dataset,
        shards=plan_shards(config),
        num_chunks=num_chunks,
        output=str(output),
        fingerprint=dataset.fingerprint(),
        versions=tool_versions(),
    )


def chain(
    chunks: list[Chunk], job: Job, *, model: bytes, shuffle: Shuffle
) -> beam.PTransform:
    """The whole job: chunks -> documents by shard -> files -> manifest."""
    start = "Chunks" >> beam.Create(chunks) | "Spread" >> beam.Reshuffle()
    if shuffle == "files":
        sidecars = (
            start
            | "SpillChunk" >> beam.ParDo(SpillChunk(job))
            | "AllChunks" >> beam.GroupByKey()
            | "ListShards" >> beam.ParDo(ListShards(job))
            | "SpreadShards" >> beam.Reshuffle()
            | "BuildShard" >> beam.ParDo(BuildShard(job, model))
        )
    else:
        sidecars = (
            start
            | "ReadChunk" >> beam.ParDo(ReadChunk(job))
            | "ByShard" >> beam.GroupByKey()
            | "BuildGroup" >> beam.ParDo(BuildGroup(job, model))
        )
    return (
        sidecars
        | "AllShards" >> beam.GroupByKey()
        | "WriteManifest" >> beam.ParDo(WriteManifest(job))
    )


def run_here(
    transform: beam.PTransform, job: Job, *, workers: int, runner: Runner
) -> PipelineResult:
    """Run a job on this machine until it ends, in this process if one is to work.

    Raises:
        AlbertError: It failed.
        BaseException: What interrupted it, such as KeyboardInterrupt.
    """
    pool = LocalWorkers() if workers > 1 else None
    runner.options.view_as(DirectOptions).direct_num_workers = workers
    pipeline = beam.Pipeline(runner=local_runner(pool), options=runner.options)
    _ = pipeline | "MakeData" >> transform
    with explained_errors(job):
        return pool.run(pipeline.run) if pool else pipeline.run()


@contextlib.contextmanager
def explained_errors(job: Job) -> Iterator[None]:
    """Raise errors of Beam as what they stand for; empty data sets leave nothing.

    Raises:
        NothingToTrainOn: There is no document to train on.
        AlbertError: The job failed otherwise.
    """
    try:
        yield
    except Exception as error:
        explained = explain(error)
        if isinstance(explained, NothingToTrainOn):
            spill.forget_chunks(job.output)
            for name in (TRAIN, EVAL, SIDECARS):
                storage.remove(storage.join(job.output, name))
        raise explained from error


def submit(transform: beam.PTransform, job: Job, runner: Runner) -> PipelineResult:
    """Hand a job to a cluster.

    Raises:
        AlbertError: Beam or the cluster refused it.
    """
    cloud = runner.options.view_as(GoogleCloudOptions)
    # Dataflow refuses a second job with the name of a running one, so that a job that
    # nobody waits for any more is not started twice.
    cloud.job_name = cloud.job_name or f"albert-make-data-{job.fingerprint[:12]}"
    with explained_errors(job):
        pipeline = beam.Pipeline(options=runner.options)
        _ = pipeline | "MakeData" >> transform
        return pipeline.run()


def after_interrupt(runner: Runner) -> str:
    """What becomes of a job at Ctrl-C, which ends the waiting for it."""
    if ends_with_command(runner.name, runner.options):
        return "Interrupted, and the job with it; run the same command again."
    return (
        f"The job goes on at {runner.name}; to end it, stop it there. Run the same "
        "command again when it has ended."
    )


def run_there(transform: beam.PTransform, job: Job, runner: Runner) -> PipelineResult:
    """Run a job on a cluster and wait for its end.

    Raises:
        AlbertError: It could not be started, or it failed.
        KeyboardInterrupt: The person stopped waiting; the message says what goes on.
    """
    result = submit(transform, job, runner)
    try:
        with explained_errors(job):
            result.wait_until_finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(after_interrupt(runner)) from None
    if result.state != PipelineState.DONE:
        raise AlbertError(f"The job ended as {result.state} at {runner.name}.")
    return result
