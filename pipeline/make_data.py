"""The job from text to data set, on one screen."""

import os
import re
import shutil
import sys
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from pipeline.dataset import DatasetPlan, plan_dataset
from pipeline.inputs import InputFile
from pipeline.progress import WORK
from pipeline.shard_plan import EVAL, TRAIN, ShardPlan, plan_shards
from pipeline.splits import SPLIT_BYTES, Split, plan_splits
from pipeline.tokenizer import load_tokenizer
from pipeline.transforms import ReadSplit, WriteManifest, WriteShard
from schemas.config import DataConfig
from schemas.errors import AlbertError
from schemas.layout import SIDECARS, SPM_MODEL
from schemas.whole_file import whole_file


def make_data(
    files: list[InputFile],
    config: DataConfig,
    *,
    model: bytes,
    output: Path,
    workers: int,
    split_bytes: int = SPLIT_BYTES,
) -> None:
    """Make a data set from recognised inputs.

    Args:
        files: See `pipeline.inputs.find_inputs`.
        config: Settings as resolved.
        model: The SentencePiece model, checked.
        output: An existing folder; what an unfinished job left there is removed.
        workers: Processes.
        split_bytes: Text that one worker reads at a time.

    Raises:
        AlbertError: There is no document, a file cannot be read or written, or a
            worker was killed.
    """
    tokenizer = load_tokenizer(model)
    plan = plan_dataset(
        config, files, vocab_sha256=tokenizer.sha256, vocab_size=tokenizer.vocab_size
    )
    splits = plan_splits(files, split_bytes=split_bytes)
    remove_unfinished(output)
    with whole_file(output / SPM_MODEL) as file:
        file.write(model)
    try:
        run(
            splits,
            plan_shards(config),
            plan,
            model=model,
            output=output,
            workers=workers,
        )
    finally:
        shutil.rmtree(output / WORK, ignore_errors=True)


def remove_unfinished(output: Path) -> None:
    """Remove what an unfinished job left."""
    for name in (TRAIN, EVAL, SIDECARS, WORK):
        shutil.rmtree(output / name, ignore_errors=True)


def run(
    splits: list[Split],
    shards: ShardPlan,
    plan: DatasetPlan,
    *,
    model: bytes,
    output: Path,
    workers: int,
) -> None:
    """Run the chain: splits -> documents by shard -> files -> manifest."""
    options = PipelineOptions([], direct_num_workers=workers)
    pipeline = beam.Pipeline(runner=local_runner(workers), options=options)
    _ = (
        pipeline
        | "Splits" >> beam.Create(splits)
        | "Spread" >> beam.Reshuffle()
        | "ReadSplit" >> beam.ParDo(ReadSplit(shards, output=output))
        | "ByShard" >> beam.GroupByKey()
        | "WriteShard"
        >> beam.ParDo(WriteShard(shards, plan.config, model=model, output=output))
        | "Together" >> beam.GroupByKey()
        | "WriteManifest" >> beam.ParDo(WriteManifest(plan, output=output))
    )
    try:
        pipeline.run().wait_until_finish()
    except Exception as error:
        raise AlbertError(explain_failure(error)) from error


def local_runner(workers: int) -> FnApiRunner:
    """Beam's runner for this machine, with worker processes of ours.

    Never the DirectRunner, which would first download another from the network.
    """
    if workers == 1:
        return FnApiRunner()
    command = f"exec {sys.executable} -m pipeline.local_worker {os.getpid()}"
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
