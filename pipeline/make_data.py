"""The job from text to data set, on one screen."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipeline.dataset import NOTHING_TO_TRAIN_ON, plan_dataset
from pipeline.inputs import InputFile
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
from schemas.whole_file import whole_file


def make_data(  # noqa: PLR0913 - what is made, of what, where and how
    files: list[InputFile],
    config: DataConfig,
    *,
    model: bytes,
    output: Path,
    workers: int,
    split_bytes: int = SPLIT_BYTES,
    shuffle: Shuffle = "files",
) -> None:
    """Make a data set from recognised inputs, or finish one that was interrupted.

    Args:
        files: See `pipeline.inputs.find_inputs`.
        config: Settings as resolved.
        model: The SentencePiece model, checked.
        output: An existing folder; finished splits and shards there are kept.
        workers: Processes.
        split_bytes: Text that one worker reads at a time.
        shuffle: Whether documents wait in files or in the engine; the bytes are the
            same, but only files survive an interruption.

    Raises:
        AlbertError: There is no document, a file cannot be read or written, or a
            worker was killed.
    """
    tokenizer = load_tokenizer(model)
    dataset = plan_dataset(
        config, files, vocab_sha256=tokenizer.sha256, vocab_size=tokenizer.vocab_size
    )
    splits = plan_splits(files, split_bytes=split_bytes)
    job = Job(
        dataset=dataset,
        shards=plan_shards(config),
        model=model,
        num_splits=len(splits),
        output=output,
        fingerprint=dataset.fingerprint(),
    )
    with whole_file(output / SPM_MODEL) as file:
        file.write(model)
    try:
        run(chain(splits, job, shuffle=shuffle), job, workers=workers)
    except AlbertError as error:
        if str(error).startswith(NOTHING_TO_TRAIN_ON):
            for name in (TRAIN, EVAL, SIDECARS, WORK):
                shutil.rmtree(output / name, ignore_errors=True)
        raise
    shutil.rmtree(output / WORK, ignore_errors=True)


def chain(splits: list[Split], job: Job, *, shuffle: Shuffle) -> beam.PTransform:
    """The whole job: splits -> documents by shard -> files -> manifest."""
    start = "Splits" >> beam.Create(splits) | "Spread" >> beam.Reshuffle()
    if shuffle == "files":
        sidecars = (
            start
            | "SpillSplit" >> beam.ParDo(SpillSplit(job))
            | "AllSplits" >> beam.GroupByKey()
            | "ListShards" >> beam.ParDo(ListShards(job))
            | "SpreadShards" >> beam.Reshuffle()
            | "BuildShard" >> beam.ParDo(BuildShard(job))
        )
    else:
        sidecars = (
            start
            | "ReadSplit" >> beam.ParDo(ReadSplit(job))
            | "ByShard" >> beam.GroupByKey()
            | "BuildGroup" >> beam.ParDo(BuildGroup(job))
        )
    return (
        sidecars
        | "AllShards" >> beam.GroupByKey()
        | "WriteManifest" >> beam.ParDo(WriteManifest(job))
    )


def run(transform: beam.PTransform, job: Job, *, workers: int) -> None:
    """Run a job on this machine until it ends."""
    options = PipelineOptions([], direct_num_workers=workers)
    runner = local_runner(workers, watch=job.output / WORK)
    pipeline = beam.Pipeline(runner=runner, options=options)
    _ = pipeline | transform
    watch = WorkerWatch(job.output / WORK)
    try:
        with watch:
            pipeline.run().wait_until_finish()
    except KeyboardInterrupt:
        if not watch.killed:
            raise
        raise AlbertError(WORKER_KILLED) from None
    except Exception as error:
        raise AlbertError(explain_failure(error)) from error


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
