"""`albert make-data`: raw text and a vocabulary to TFRecords."""

import contextlib
import dataclasses
import functools
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import click
from click.core import ParameterSource

from cli import output_folder, remote_output
from cli.console import Bar, Console, watching
from cli.options import (
    Folder,
    common_options,
    config_options,
    find_given_inputs,
    input_options,
    input_settings,
    settings_line,
    take_config,
    workers_option,
)
from pipeline import files
from pipeline.formats import KINDS
from schemas.config import DataConfig
from schemas.errors import SettingError
from schemas.layout import EVAL, MANIFEST, TRAIN
from schemas.manifest import DatasetManifest, parse_manifest

if TYPE_CHECKING:
    from pipeline.input_file import InputFile
    from pipeline.runners import Runner

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
@click.option(
    "--runner",
    default="FnApiRunner",
    show_default=True,
    metavar="NAME",
    help="Where the job runs: FnApiRunner here; DataflowRunner, FlinkRunner, "
    "SparkRunner and PortableRunner take Beam's own options behind --.",
)
@click.option(
    "--plan",
    is_flag=True,
    help="Print what would be made, how large and how long, and make nothing.",
)
@click.argument("beam_options", nargs=-1, metavar="[-- BEAM OPTIONS]")
@functools.partial(
    common_options,
    output=click.option(
        "--output",
        type=Folder(may_be_remote=True),
        help="Folder to write, here or on storage such as gs://bucket/folder.",
    ),
)
def make_data(
    output: Path | str | None, plan: bool, overwrite: bool, quiet: bool, **values: Any
) -> None:
    """Make masked sentence pairs from raw text.

    An Apache Beam job. Writes TFRecord files, a copy of the vocabulary, a data card
    and, as the last file, manifest.json. The same inputs and settings give the same
    bytes, wherever it runs.
    """
    start = time.monotonic()
    console = Console(quiet=quiet)
    if not values.pop("debug"):
        # Beam tells of parts that are not installed and not used, and its servers of
        # every worker that goes; what matters comes as an exception.
        logging.disable(logging.CRITICAL)
    workers = values.pop("workers")
    config = take_config(DataConfig, values)
    if plan:
        task = gather(values, config, console)
        for line in plan_lines(task, workers=workers):
            console.say(line)
        return
    if output is None:
        raise SettingError("--output: name the folder to write.")
    runner = take_runner(values, output=str(output), workers=workers)
    task = gather(values, config, console)
    with claim(task, output, runner=runner, overwrite=overwrite) as finished:
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return
        run_job(task, output, workers=workers, runner=runner, console=console)
    if runner.is_dry:
        console.say("Beam has checked the job; nothing was submitted (--dry_run).")
        return
    manifest = parse_manifest(files.read_json(files.join(output, MANIFEST)), output)
    console.say(summary(manifest, output, time.monotonic() - start))
    if advice := eval_advice(manifest):
        console.say(advice)


class Task(NamedTuple):
    """All that decides what is made.

    Attributes:
        inputs: The recognised files.
        config: Settings as resolved.
        model: The SentencePiece model.
        given: The settings as config.json records them.
    """

    inputs: "list[InputFile]"
    config: DataConfig
    model: bytes
    given: dict[str, Any]


def gather(values: dict[str, Any], config: DataConfig, console: Console) -> Task:
    """Read the vocabulary, find the inputs, derive what was left to be derived."""
    from pipeline.imported_vocabulary import normalization_warning
    from pipeline.tokenizer import load_tokenizer, read_model

    model = read_model(values["vocab"])
    if warning := normalization_warning(load_tokenizer(model), vocab=values["vocab"]):
        console.say(f"Warning: {warning}")
    inputs = find_given_inputs(values, console)
    resolved = config.resolved(input_bytes=sum(file.text_bytes for file in inputs))
    settings = dataclasses.asdict(resolved)
    derived = {n: v for n, v in settings.items() if getattr(config, n) is None}
    if derived:
        console.say(f"derived: {settings_line(derived)}")
    vocab = os.path.abspath(values["vocab"])
    given = {**input_settings(values), "vocab": vocab, **settings}
    return Task(inputs, resolved, model, given)


def take_runner(values: dict[str, Any], *, output: str, workers: int) -> "Runner":
    """Where the job runs, refused at once where it could not end well."""
    from pipeline.runners import check_places, choose_runner

    runner = choose_runner(values["runner"], values["beam_options"])
    source = click.get_current_context().get_parameter_source("workers")
    check_places(
        runner,
        output=output,
        inputs=[path for kind in KINDS for path in values[kind]],
        workers=None if source is ParameterSource.DEFAULT else workers,
    )
    return runner


@contextlib.contextmanager
def claim(
    task: Task, output: Path | str, *, runner: "Runner", overwrite: bool
) -> Iterator[bool]:
    """Take the output, wherever it is; gives whether it is finished already."""
    from pipeline.tokenizer import load_tokenizer

    if runner.is_dry:
        yield False
        return
    record: dict[str, Any] = {
        "settings": task.given,
        "identity": {
            **dataclasses.asdict(task.config),
            "vocab": load_tokenizer(task.model).sha256,
            "inputs": [file.describe() for file in task.inputs],
        },
        "overwrite": overwrite,
    }
    if isinstance(output, str):
        yield remote_output.claim(output, output_folder.MAKE_DATA, **record)
        return
    with output_folder.claim(output, output_folder.MAKE_DATA, **record) as finished:
        yield finished


def run_job(
    task: Task,
    output: Path | str,
    *,
    workers: int,
    runner: "Runner",
    console: Console,
) -> None:
    """Run the job with a progress bar for reading and then one for writing."""
    from pipeline.make_data import make_data as make

    run = functools.partial(
        make,
        task.inputs,
        task.config,
        model=task.model,
        output=output,
        workers=workers,
        runner=runner,
    )
    if runner.is_dry:
        run()
        return
    with JobBars(task, output, console) as bars, watching(bars.look):
        run()


class JobBars:
    """A bar for reading and, once that has ended, one for writing."""

    def __init__(self, task: Task, output: Path | str, console: Console) -> None:
        from pipeline.progress import ProgressReader
        from pipeline.shard_plan import plan_shards

        self._progress = ProgressReader(output)
        self._console = console
        self._shards = len(plan_shards(task.config).shard_numbers())
        self._total = sum(file.text_bytes for file in task.inputs)
        self._reading = console.bar("reading", total=self._total, unit="B")
        self._writing: Bar | None = None

    def look(self) -> None:
        """Show how far the job is."""
        progress = self._progress.poll()
        if self._writing is None:
            note = f"{progress.documents:,} documents"
            self._reading.to(min(progress.read_bytes, self._total), note=note)
            if progress.read_bytes < self._total:
                return
            # Only now, so that the time left is that of writing.
            self._writing = self._console.bar(
                "writing", total=self._shards, unit="shard"
            )
        size = f"{progress.written_bytes / 1e6:,.0f} MB"
        self._writing.to(
            progress.shards, note=f"{progress.examples:,} examples, {size}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for bar in (self._reading, self._writing):
            if bar is not None:
                bar.close()


def plan_lines(task: Task, *, workers: int) -> list[str]:
    """What is to be expected of a job, measured on a sample of its inputs."""
    from pipeline.estimate import estimate
    from pipeline.shard_plan import plan_shards
    from pipeline.splits import plan_splits
    from pipeline.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(task.model)
    expected = estimate(task.inputs, task.config, tokenizer=tokenizer)
    shards = plan_shards(task.config)
    splits = counted(len(plan_splits(task.inputs)), "split")
    return [
        f"plan: {splits} to read, {counted(shards.train_shards, 'shard')} to train on "
        f"and {shards.eval_shards:,} held out, {shards.copies} copies",
        f"about {expected.examples:,} examples in {expected.output_bytes / 1e6:,.0f} "
        f"MB, and {expected.waiting_bytes / 1e6:,.0f} MB of disk while it runs",
        f"about {expected.seconds(workers):,.0f} s with {counted(workers, 'worker')} "
        f"on this machine, {expected.cpu_seconds:,.0f} s of a core, judging by "
        f"{expected.sample_bytes / 1e6:.1f} MB of the inputs",
    ]


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "split"), counted(1200, "split")
    ('1 split', '1,200 splits')
    """
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def summary(manifest: DatasetManifest, output: Path | str, seconds: float) -> str:
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
