"""The job from text to data set, on one screen."""

import os
import re
import shlex
import sys
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import DirectOptions, GoogleCloudOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineResult, PipelineState
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipeline import files as storage
from pipeline.dataset import NOTHING_TO_TRAIN_ON, plan_dataset, tool_versions
from pipeline.inputs import InputFile
from pipeline.runners import LOCAL_RUNNER, Runner, choose_runner
from pipeline.shard_plan import plan_shards
from pipeline.spill import WORK
from pipeline.splits import SPLIT_BYTES, Split, plan_splits
from pipeline.tokenizer import load_tokenizer
from pipeline.transforms import (
    BuildGroup,
    BuildShard,
    Job,
    ListShards,
    ReadSplit,
    Shuffle,
    SpillSplit,
    WriteManifest,
)
from pipeline.worker_watch import WORKER_KILLED, WorkerWatch
from schemas.config import DataConfig
from schemas.errors import AlbertError
from schemas.layout import EVAL, SIDECARS, SPM_MODEL, TRAIN
from schemas.whole_file import TEMPORARY


def make_data(  # noqa: PLR0913 - what is made, of what, where and how
    files: list[InputFile],
    config: DataConfig,
    *,
    model: bytes,
    output: str | Path,
    workers: int = 1,
    runner: Runner | None = None,
    split_bytes: int = SPLIT_BYTES,
    shuffle: Shuffle | None = None,
) -> PipelineResult:
    """Make a data set from recognised inputs, or finish one that was interrupted.

    Args:
        files: See `pipeline.inputs.find_inputs`.
        config: Settings as resolved.
        model: The SentencePiece model, checked.
        output: A folder that the workers reach; finished parts there are kept.
        workers: Processes, where they run on this machine.
        runner: Where the work is done; on this machine if there is none.
        split_bytes: Text that one worker reads at a time.
        shuffle: Whether documents wait in files or in the engine; the bytes are the
            same, but only files keep memory constant here and survive an interruption.

    Raises:
        AlbertError: There is no document, a file cannot be read or written, or a
            worker was killed.
    """
    runner = runner or choose_runner(LOCAL_RUNNER, [])
    shuffle = shuffle or ("files" if runner.is_local else "engine")
    splits = plan_splits(files, split_bytes=split_bytes)
    job = plan_job(files, config, model=model, output=output, num_splits=len(splits))
    transform = chain(splits, job, model=model, shuffle=shuffle)
    if runner.is_dry:
        return submit(transform, job, runner)
    if shuffle == "engine":
        storage.remove(storage.join(output, WORK))
    with storage.new_file(storage.join(output, SPM_MODEL)) as file:
        file.write(model)
    try:
        if runner.is_local:
            result = run_here(transform, job, workers=workers, runner=runner)
        else:
            result = run_there(transform, job, runner)
    except AlbertError as error:
        if str(error).startswith(NOTHING_TO_TRAIN_ON):
            for name in (TRAIN, EVAL, SIDECARS, WORK):
                storage.remove(storage.join(output, name))
        raise
    # Documents that waited, and what workers were at when they were killed.
    unfinished = storage.find_below(output, f"**/*{TEMPORARY}*")
    for path in (storage.join(output, WORK), *unfinished):
        storage.remove(path)
    return result


def plan_job(
    files: list[InputFile],
    config: DataConfig,
    *,
    model: bytes,
    output: str | Path,
    num_splits: int,
) -> Job:
    """What every step has to know, wherever it runs."""
    tokenizer = load_tokenizer(model)
    dataset = plan_dataset(
        config, files, vocab_sha256=tokenizer.sha256, vocab_size=tokenizer.vocab_size
    )
    return Job(
        dataset=dataset,
        shards=plan_shards(config),
        num_splits=num_splits,
        output=str(output),
        fingerprint=dataset.fingerprint(),
        versions=tool_versions(),
    )


def chain(
    splits: list[Split], job: Job, *, model: bytes, shuffle: Shuffle
) -> beam.PTransform:
    """The whole job: splits -> documents by shard -> files -> manifest."""
    start = "Splits" >> beam.Create(splits) | "Spread" >> beam.Reshuffle()
    if shuffle == "files":
        sidecars = (
            start
            | "SpillSplit" >> beam.ParDo(SpillSplit(job))
            | "AllSplits" >> beam.GroupByKey()
            | "ListShards" >> beam.ParDo(ListShards(job))
            | "SpreadShards" >> beam.Reshuffle()
            | "BuildShard" >> beam.ParDo(BuildShard(job, model))
        )
    else:
        sidecars = (
            start
            | "ReadSplit" >> beam.ParDo(ReadSplit(job))
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
    """Run a job on this machine until it ends."""
    work = Path(job.output) / WORK
    runner.options.view_as(DirectOptions).direct_num_workers = workers
    pipeline = beam.Pipeline(
        runner=local_runner(workers, watch=work), options=runner.options
    )
    _ = pipeline | "MakeData" >> transform
    watch = WorkerWatch(work)
    try:
        with watch:
            return pipeline.run()
    except KeyboardInterrupt:
        if not watch.killed:
            raise
        raise AlbertError(WORKER_KILLED) from None
    except Exception as error:
        raise AlbertError(explain_failure(error)) from error


def submit(transform: beam.PTransform, job: Job, runner: Runner) -> PipelineResult:
    """Hand a job to a cluster, which may take it or find fault with its options."""
    cloud = runner.options.view_as(GoogleCloudOptions)
    # Dataflow refuses a second job of the name of a running one, so that what a person
    # no longer waits for is not started again.
    cloud.job_name = cloud.job_name or f"albert-make-data-{job.fingerprint[:12]}"
    try:
        pipeline = beam.Pipeline(options=runner.options)
        _ = pipeline | "MakeData" >> transform
        return pipeline.run()
    except Exception as error:
        raise AlbertError(explain_failure(error)) from error


def run_there(transform: beam.PTransform, job: Job, runner: Runner) -> PipelineResult:
    """Run a job on a cluster and wait for its end.

    Raises:
        AlbertError: It could not be started, or it failed.
        KeyboardInterrupt: The person stopped waiting; the message says what goes on.
    """
    result = submit(transform, job, runner)
    try:
        result.wait_until_finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"The job goes on at {runner.name}; stop it there, and run the same "
            "command again when it has ended."
        ) from None
    except Exception as error:
        raise AlbertError(explain_failure(error)) from error
    if result.state != PipelineState.DONE:
        raise AlbertError(f"The job ended as {result.state} at {runner.name}.")
    return result


def local_runner(workers: int, *, watch: Path) -> FnApiRunner:
    """Beam's runner for this machine, with worker processes of ours.

    Never the DirectRunner, which would first download another from the network.
    """
    if workers == 1:
        return FnApiRunner()
    # -P: what lies in the current folder must not stand in for our modules.
    worker = [sys.executable, "-P", "-m", "pipeline.local_worker"]
    arguments = [str(watch.resolve()), str(os.getpid())]
    command = f"exec {shlex.join([*worker, *arguments])}"
    return FnApiRunner(
        default_environment=SubprocessSDKEnvironment.from_command_string(command)
    )


def explain_failure(error: Exception) -> str:
    """The sentence of an error of ours that Beam has wrapped, or Beam's last line.

    >>> explain_failure(AlbertError("x is empty. [while running 'ReadSplit']"))
    'x is empty.'
    >>> explain_failure(RuntimeError(
    ...     "Traceback ... AlbertError: x is empty. [while running 'ReadSplit']"))
    'x is empty.'
    """
    # In this process Beam keeps the type; from a worker it passes on the traceback.
    prefix = "" if isinstance(error, AlbertError) else r"(?:AlbertError|SettingError): "
    found = re.findall(prefix + r"(.+?) ?\[while running", str(error))
    if found:
        return str(found[-1])
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"The job failed: {lines[-1].strip() if lines else repr(error)}"
