"""`albert make-data`: raw text and a vocabulary to TFRecords."""

import dataclasses
import logging
import os
import time
from pathlib import Path
from typing import Any

import click

from cli import output_folder
from cli.console import Console, watching
from cli.options import (
    common_options,
    config_options,
    find_given_inputs,
    input_options,
    input_settings,
    settings_line,
    take_config,
    workers_option,
)
from schemas.config import DataConfig
from schemas.layout import EVAL, TRAIN
from schemas.manifest import DatasetManifest, read_manifest

# With fewer held-out examples, accuracies are uncertain by more than 7 points.
ENOUGH_HELD_OUT = 200


@click.command(
    "make-data",
    epilog="Example:  albert make-data --wikipedia enwiki.xml.bz2 --books novels/ "
    "--vocab vocab --output data",
)
@input_options
@click.option(
    "--vocab",
    required=True,
    metavar="DIR|FILE",
    help="Vocabulary made by albert vocab, or its spiece.model.",
)
@config_options(DataConfig)
@workers_option
@common_options
def make_data(
    vocab: str, output: Path, workers: int, overwrite: bool, quiet: bool, **values: Any
) -> None:
    """Make masked sentence pairs from raw text, as an Apache Beam job.

    Writes TFRecord files, a copy of the vocabulary, a data card and, as the last file,
    manifest.json. The same inputs and settings give the same bytes.
    """
    from pipeline.tokenizer import load_tokenizer, read_model

    start = time.monotonic()
    console = Console(quiet=quiet)
    values.pop("debug")
    config = take_config(DataConfig, values)
    model = read_model(vocab)
    files = find_given_inputs(values, console)
    resolved = config.resolved(input_bytes=sum(file.text_bytes for file in files))
    derived = {
        name: value
        for name, value in dataclasses.asdict(resolved).items()
        if getattr(config, name) is None
    }
    if derived:
        console.say(f"derived: {settings_line(derived)}")
    settings = {
        **input_settings(values),
        "vocab": os.path.abspath(vocab),
        **dataclasses.asdict(resolved),
    }
    identity = {
        **dataclasses.asdict(resolved),
        "vocab": load_tokenizer(model).sha256,
        "inputs": [file.describe() for file in files],
    }
    with output_folder.claim(
        output,
        output_folder.MAKE_DATA,
        settings=settings,
        identity=identity,
        overwrite=overwrite,
    ) as finished:
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return
        _make(files, resolved, model, output=output, workers=workers, console=console)
    manifest = read_manifest(output)
    console.say(summary(manifest, output, time.monotonic() - start))
    if advice := eval_advice(manifest):
        console.say(advice)


def _make(
    files: list[Any],
    config: DataConfig,
    model: bytes,
    *,
    output: Path,
    workers: int,
    console: Console,
) -> None:
    """Run the job with a progress bar for reading and one for writing."""
    # Beam warns of parts that are not installed and not used.
    logging.disable(logging.WARNING)
    from pipeline.make_data import make_data as run_job
    from pipeline.progress import ProgressReader
    from pipeline.shard_plan import plan_shards

    total = sum(file.text_bytes for file in files)
    shards = len(plan_shards(config).shard_numbers())
    reader = ProgressReader(output)
    with (
        console.bar("reading", total=total, unit="B") as reading,
        console.bar("writing", total=shards, unit="shard") as writing,
    ):

        def look() -> None:
            progress = reader.poll()
            if reading.done < total:
                reading.to(
                    progress.read_bytes, note=f"{progress.documents:,} documents"
                )
            if progress.shards:
                writing.to(progress.shards, note=f"{progress.examples:,} examples")

        with watching(look):
            run_job(files, config, model=model, output=output, workers=workers)


def summary(manifest: DatasetManifest, output: Path, seconds: float) -> str:
    """The line at the end of the job."""
    train = manifest.splits[TRAIN]
    eval_split = manifest.splits[EVAL]
    examples = sum(copy["examples"] for copy in train["copies"])
    tokens = sum(copy["tokens"] for copy in train["copies"])
    held_out = sum(copy["examples"] for copy in eval_split["copies"])
    return (
        f"{output}: {train['documents']:,} documents in {len(train['copies'])} copies, "
        f"{examples:,} examples, {tokens:,} tokens; {held_out:,} held-out examples of "
        f"{eval_split['documents']:,} documents; {seconds:.0f} s"
    )


def eval_advice(manifest: DatasetManifest) -> str:
    """What to say of a held-out split too small to measure on; empty if it is not."""
    fraction = manifest.config.eval_fraction
    train, held_out = (manifest.splits[split]["copies"] for split in (TRAIN, EVAL))
    count = sum(copy["examples"] for copy in held_out)
    if not fraction or count >= ENOUGH_HELD_OUT:
        return ""
    enough = min(0.9, ENOUGH_HELD_OUT / (train[0]["examples"] + count))
    return (
        f"Only {count} held-out examples, few to measure on; --eval-fraction "
        f"{enough:.2g} would give about {ENOUGH_HELD_OUT}."
    )
