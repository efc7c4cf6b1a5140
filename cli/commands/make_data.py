"""`albert make-data`: raw text and a vocabulary to TFRecords."""

import bisect
import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import click

from cli.support import output_folder
from cli.support.budget import next_pretrain
from cli.support.console import (
    Bar,
    Console,
    hearing_interrupts,
    silent_logging,
    watching,
)
from cli.support.inputs import (
    find_given_inputs,
    input_options,
    input_settings,
    refuse_stray,
)
from cli.support.options import (
    ByTopic,
    Folder,
    TextPath,
    UserPath,
    common_options,
    config_options,
    from_anywhere,
    is_given,
    is_typed,
    settings_line,
    take_config,
)
from cli.support.output_folder import Footprint, Identity
from pipeline.core.machine import check_address_space, usable_cores
from pipeline.reading.formats import KINDS
from pipeline.storage import files
from schemas.config import DataConfig, ResolvedDataConfig
from schemas.errors import SettingError
from schemas.files import parse_json
from schemas.layout import (
    CHUNK_MARKS,
    DATA_CARD,
    EVAL,
    MANIFEST,
    REMOVED_FILES,
    SIDECAR_FILES,
    SIDECARS,
    SPM_MODEL,
    TRAIN,
    WORK,
)
from schemas.manifest import DatasetManifest, parse_manifest
from schemas.readable import counted, duration, prefixed

if TYPE_CHECKING:
    from pipeline.job.estimate import Estimate
    from pipeline.job.runners import Runner
    from pipeline.job.steps import Job
    from pipeline.reading.recognise import InputFile

# This machine, which opens no port.
LOCAL_RUNNER = "FnApiRunner"

# Beam and its libraries take this much, or abort.
LEAST_MEMORY = 700_000_000

# With fewer held-out examples, accuracies are uncertain by more than 7 points.
ENOUGH_HELD_OUT = 200
# A measure on fewer is one of these documents; of few documents an eighth is enough.
ENOUGH_DOCUMENTS, ENOUGH_OF_FEW = 5, 1 / 8
# How often a share that is advised may hold out fewer.
MAY_FAIL = 0.02
# The largest share of the documents that is ever advised to be held out.
GREATEST_SHARE = 0.5


def has_all_shards(folder: Path | str, identity: Identity) -> bool:
    """Whether a data set is there with all its files."""
    from pipeline.job.spill import is_whole_dataset

    return is_whole_dataset(folder)


MAKE_DATA = Footprint(
    "make-data",
    writes=(
        SPM_MODEL,
        MANIFEST,
        DATA_CARD,
        SIDECARS,
        TRAIN,
        EVAL,
        WORK,
    ),
    progress=(MANIFEST, SIDECAR_FILES, CHUNK_MARKS),
    is_finished=has_all_shards,
    defaults={
        "examples": "stored",
        "max_line_repeats": None,
        "keep_languages": None,
        "repair_text": False,
    },
)

# The flags by topic, in the order of a person's questions.
TOPICS = {
    "What is read and written": (
        *("wikipedia", "books", "text", "vocab", "output", "overwrite", "config"),
    ),
    "How text is read": ("language", "input_format", "text_key"),
    "Size and held-out text": (
        *("plan", "eval_fraction", "eval_text", "examples", "dupe_factor"),
    ),
    "What is left out": (
        *("near_duplicates", "max_line_repeats", "keep_languages", "repair_text"),
        "removed",
    ),
    "Examples": (
        *("max_seq_length", "masked_lm_prob", "max_predictions_per_seq"),
        *("max_ngram", "short_seq_prob", "sentence_task", "seed"),
    ),
    "Files": ("num_shards", "record_layout"),
    "Where it runs": ("workers", "runner"),
}


@click.command(
    "make-data",
    cls=ByTopic,
    topics=TOPICS,
    epilog="Example:  albert make-data --wikipedia enwiki.xml.bz2 --books novels/ "
    "--vocab vocab --output data",
)
@input_options
@click.option(
    "--vocab",
    required=True,
    type=UserPath(readable=False),
    metavar="DIR|FILE",
    help="Vocabulary made by albert vocab, or its spiece.model.",
)
@click.option(
    "--eval-text",
    multiple=True,
    metavar="PATH",
    type=TextPath(readable=False),
    help="Text that is only held out, to measure on: the files of a task, say, as "
    "PATH:KEY, or novels of your own. Near-copies of it leave the training text. "
    "Without --eval-fraction nothing else is held out. Files, folders, globs; "
    "repeatable.",
)
@config_options(DataConfig)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    show_default="as many as the text keeps busy, up to all cores",
    help="Worker processes; never changes the result.",
)
@click.option(
    "--runner",
    default=LOCAL_RUNNER,
    show_default=True,
    metavar="NAME",
    help=f"Where the job runs: {LOCAL_RUNNER} on this machine, where nothing needs a "
    "port; DataflowRunner, FlinkRunner, SparkRunner and PortableRunner take Beam's own "
    "options after --.",
)
@click.option(
    "--removed",
    type=Folder(may_be_remote=True),
    metavar="DIR",
    help="Folder for the paragraphs that the flags on what is left out removed or "
    "mended, with the reason, as JSON lines.",
)
@click.option(
    "--plan",
    is_flag=True,
    help="Print what would be made, how large it is and how long it takes, and make "
    "nothing.",
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

    Runs as an Apache Beam job. Writes TFRecord files, a copy of the vocabulary, a data
    card and, last, manifest.json. The same inputs and settings give the same bytes
    wherever it runs.
    """
    start = time.monotonic()
    check_address_space(LEAST_MEMORY)
    console, debug = Console(quiet=quiet), values.pop("debug")
    refuse_stray(values["beam_options"])
    if values["eval_text"] and not is_given("eval_fraction"):
        values["eval_fraction"] = 0.0
    config = take_config(DataConfig, values)
    if config.examples == "on-the-fly" and is_typed("dupe_factor"):
        raise SettingError(
            "--dupe-factor says how many copies are stored, and --examples on-the-fly "
            "stores none; leave one of them out."
        )
    with contextlib.nullcontext() if debug else silent_logging():
        if plan:
            print_plan(values, config, output=output, console=console)
            return
        if output is None:
            raise SettingError("--output: name the folder to write.")
        runner = take_runner(values, output=output)
        check_output(output, values["vocab"], overwrite=overwrite)
        check_removed(values["removed"], output)
        task = gather(values, config, output=output, console=console)
        with claim(task, output, runner=runner, overwrite=overwrite) as finished:
            if finished:
                forget_leftovers(output)
                console.say(f"{output} is finished already; nothing to do.")
                return
            run_job(task, runner=runner, console=console)
    if runner and runner.is_dry:
        console.say("Beam has checked the job; nothing was submitted (--dry_run).")
        return
    path = files.join(output, MANIFEST)
    manifest = parse_manifest(parse_json(files.read_whole(path), path), output)
    for line in closing_lines(manifest, output, time.monotonic() - start):
        console.say(line)


def check_output(output: Path | str, vocab: str, *, overwrite: bool) -> None:
    """Refuse a folder on this machine that cannot be written, before text is read.

    Raises:
        SettingError: It holds something else, or the vocabulary, which --overwrite
            would remove.
    """
    if isinstance(output, str):
        return
    output_folder.check_recognised(output, MAKE_DATA)
    if overwrite and not files.is_remote(vocab):
        path = Path(vocab)
        folder = path if path.is_dir() else path.parent
        output_folder.check_is_not(output, folder, what="the folder of --vocab")


def check_removed(removed: Path | str | None, output: Path | str) -> None:
    """Refuse a folder for removed text that has others' files or that workers miss."""
    if removed is None:
        return
    if isinstance(output, str) and isinstance(removed, Path):
        raise SettingError(
            f"--removed: {removed} is on this machine and --output is not; give a "
            "folder on storage too."
        )
    if isinstance(removed, str):
        check_can_write(removed, flag="--removed")
        return
    if isinstance(output, Path):
        folder, data = removed.resolve(), output.resolve()
        if folder == data or data in folder.parents or folder in data.parents:
            raise SettingError(
                f"--removed: {removed} must lie neither in --output nor around it."
            )
    names = [path.name for path in removed.iterdir()] if removed.is_dir() else []
    if others := [name for name in names if not fnmatch(name, REMOVED_FILES)]:
        raise SettingError(
            f"--removed: {removed} holds {others[0]}, which this command did not "
            "write; give a new folder."
        )


class Task(NamedTuple):
    """What is to be made.

    Attributes:
        job: All that decides what is made, and where.
        files: The recognised inputs, in the order given.
        given: The settings as config.json records them, without those that follow
            from others.
        workers: Processes, where they run on this machine.
    """

    job: "Job"
    files: "list[InputFile]"
    given: dict[str, Any]
    workers: int


def gather(
    values: dict[str, Any],
    config: DataConfig,
    *,
    output: Path | str | None,
    console: Console,
) -> Task:
    """Read the vocabulary, find the inputs, derive what was left to be derived."""
    from pipeline.job.estimate import busy_workers
    from pipeline.job.steps import plan_job
    from pipeline.noise.filters import check_filters

    check_filters(config)
    model = read_vocabulary(values["vocab"], console)
    files, passed_over = find_given_inputs(values, console)
    text_bytes = sum(file.text_bytes for file in files)
    read_bytes = sum(file.text_bytes for file in files if not file.is_held_out)
    resolved = config.resolved(input_bytes=read_bytes)
    settings = dataclasses.asdict(config)
    filled = {n: getattr(resolved, n) for n, v in settings.items() if v is None}
    derived = {name: value for name, value in filled.items() if value is not None}
    if derived:
        console.say(f"derived: {settings_line(derived)}")
    vocab = from_anywhere(values["vocab"])
    job = plan_job(
        files, resolved, model=model, output=output or "", passed_over=passed_over
    )
    given = {**input_settings(values), "vocab": vocab, **settings}
    if values["eval_text"]:
        given["eval_text"] = list(map(from_anywhere, values["eval_text"]))
    return Task(
        dataclasses.replace(job, removed=str(values["removed"] or "")),
        files,
        given=given,
        workers=values["workers"]
        or min(usable_cores(), busy_workers(text_bytes, copies=resolved.stored_copies)),
    )


def read_vocabulary(vocab: str, console: Console) -> bytes:
    """The checked model of --vocab; says if it is not whole without its program."""
    from pipeline.vocabulary.tokenizer import normalization_warning, read_model

    try:
        model = read_model(vocab)
    except SettingError as error:
        raise SettingError(f"--vocab: {error}") from None
    if warning := normalization_warning(model, vocab=vocab):
        console.say(f"Warning: {warning}")
    return model


def take_runner(
    values: dict[str, Any], *, output: Path | str | None
) -> "Runner | None":
    """The cluster that runs the job, or None for this machine.

    Args:
        values: Of the flags.
        output: The data set; None where it is only planned and not named.
    """
    if output is not None and files.is_remote(str(output)):
        check_can_write(str(output))
    name, flags = values["runner"], values["beam_options"]
    if name == LOCAL_RUNNER:
        if flags:
            raise SettingError(
                f"{flags[0]}: options after -- are Beam's, for a cluster; "
                f"{LOCAL_RUNNER} takes albert's own, such as --workers, before the --."
            )
        return None
    if name in ("DirectRunner", "SwitchingDirectRunner"):
        raise SettingError(
            f"--runner: {name} first downloads a program from the network; give "
            f"{LOCAL_RUNNER}, which is the default."
        )
    from pipeline.job.runners import WORKERS_OPTION, check_places, choose_runner

    if name not in WORKERS_OPTION:
        names = ", ".join((LOCAL_RUNNER, *WORKERS_OPTION))
        raise SettingError(f"--runner must be one of {names}, not {name}.")
    runner = choose_runner(name, flags)
    if output is not None:
        check_places(
            runner,
            output=str(output),
            inputs=[path for name in (*KINDS, "eval_text") for path in values[name]],
            workers=values["workers"],
        )
    return runner


def check_can_write(output: str, *, flag: str = "--output") -> None:
    """Refuse storage that can only be read."""
    from pipeline.storage.remote import scheme_of

    if not scheme_of(output).can_write:
        raise SettingError(
            f"{flag}: {output} can only be read; give a folder here or one such as "
            "s3://bucket/folder."
        )


@contextlib.contextmanager
def claim(
    task: Task, output: Path | str, *, runner: "Runner | None", overwrite: bool
) -> Iterator[bool]:
    """Take the output, wherever it is; gives whether it is finished already."""
    from pipeline.job.spill import chunks_folder

    if runner and runner.is_dry:
        yield False
        return
    record: dict[str, Any] = {
        "settings": task.given,
        "identity": {
            **dataclasses.asdict(task.job.dataset.config),
            "vocab": task.job.dataset.vocabulary["sha256"],
            "inputs": [file.describe() for file in task.files],
        },
        "overwrite": overwrite,
    }
    if isinstance(output, str):
        with contextlib.ExitStack() as held:
            if runner is None:
                cache = chunks_folder(output)
                held.enter_context(
                    output_folder.lock(cache, chosen_by="XDG_CACHE_HOME")
                )
            yield output_folder.claim_remote(output, MAKE_DATA, **record)
        return
    with output_folder.claim(
        output,
        MAKE_DATA,
        goes_on_elsewhere=runner is not None,
        **record,
    ) as finished:
        yield finished


def forget_leftovers(output: Path | str) -> None:
    """Remove what a job left that was killed after its manifest, before its end."""
    from pipeline.job.spill import forget_chunks

    forget_chunks(output)


def run_job(task: Task, *, runner: "Runner | None", console: Console) -> None:
    """Run the job with a progress bar for reading and then one for writing."""
    from pipeline.job.worker_processes import WorkerProcesses

    if removed := task.job.removed:
        for path in files.find_below(removed, REMOVED_FILES):
            files.remove(path)
    with contextlib.ExitStack() as held:
        workers = None
        if runner is None and task.workers > 1:
            # Before Beam is imported, so that they start meanwhile.
            workers = held.enter_context(WorkerProcesses(task.workers))
        from pipeline.job.make_data import make_dataset

        if runner is None or not runner.is_dry:
            bars = held.enter_context(JobBars(task.job, console))
            held.enter_context(watching(bars.look))
            held.enter_context(hearing_interrupts(console))
        make_dataset(task.job, workers=workers, runner=runner)


class JobBars:
    """A bar for reading and, once that has ended, one for writing."""

    def __init__(self, job: "Job", console: Console) -> None:
        from pipeline.job.spill import ProgressReader

        self._progress = ProgressReader(job.output)
        self._console = console
        self._shards = len(job.shards.shard_numbers())
        self._total = job.text_bytes
        self._reading = console.bar("reading", total=self._total, unit="B")
        self._writing: Bar | None = None

    def look(self) -> None:
        """Show how far the job is."""
        progress = self._progress.poll()
        if self._writing is None:
            note = counted(progress.documents, "document")
            self._reading.to(min(progress.read_bytes, self._total), note=note)
            if progress.read_bytes < self._total:
                return
            # Only now, so that the time left is that of writing.
            self._writing = self._console.bar(
                "writing", total=self._shards, unit="shard"
            )
        examples = counted(progress.examples, "example")
        size = prefixed(progress.written_bytes, "B")
        self._writing.to(progress.shards, note=f"{examples}, {size}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for bar in (self._reading, self._writing):
            if bar is not None:
                bar.close()


def print_plan(
    values: dict[str, Any],
    config: DataConfig,
    *,
    output: Path | str | None,
    console: Console,
) -> None:
    """Print what a job would make, which is all that is asked for.

    Raises:
        AlbertError: The job would be refused.
    """
    take_runner(values, output=output)
    for line in plan_lines(gather(values, config, output=output, console=console)):
        click.echo(line)


def plan_lines(task: Task) -> list[str]:
    """What is to be expected of a job, measured on a sample of its inputs."""
    from pipeline.job.estimate import estimate
    from pipeline.noise.describe import look_lines
    from pipeline.vocabulary.tokenizer import load_tokenizer

    job, config, shards = task.job, task.job.dataset.config, task.job.shards
    training = [file for file in task.files if not file.is_held_out]
    expected = estimate(training, config, tokenizer=load_tokenizer(job.model))
    return [
        f"plan: {counted(len(job.chunks), 'chunk')} to read, "
        f"{counted(shards.train_shards, 'shard')} to train on and "
        f"{shards.eval_shards:,} held out, "
        + (
            "as documents"
            if shards.has_documents
            else counted(shards.copies, "copy", "copies")
        ),
        _sizes_line(expected, config),
        f"about {duration(expected.seconds(task.workers))} with "
        f"{counted(task.workers, 'worker')} on this machine, "
        f"{duration(expected.cpu_seconds)} of a core, judging by "
        f"{prefixed(expected.sample_bytes, 'B')} of the text",
        *look_lines(expected.look, job.dataset.inputs),
    ]


def _sizes_line(expected: "Estimate", config: ResolvedDataConfig) -> str:
    """What a data set would take on disk, and what it would take the other way."""
    stored, documents, waiting = (
        prefixed(size, "B")
        for size in (
            expected.stored_bytes,
            expected.document_bytes,
            expected.waiting_bytes,
        )
    )
    examples = counted(expected.examples, "example")
    copies = counted(config.dupe_factor, "stored copy", "stored copies")
    made = f"about {examples} in {stored} ({documents} with --examples on-the-fly)"
    if config.examples == "on-the-fly":
        made = (
            f"about {examples} an epoch, made of documents in {documents} ({copies} "
            f"would take {stored})"
        )
    return f"{made}, and {waiting} of disk while it runs"


def closing_lines(
    manifest: DatasetManifest, output: Path | str, seconds: float
) -> Iterator[str]:
    """What is said at the end of the job."""
    from pipeline.core.documents import describe_counts
    from pipeline.noise.describe import look_lines

    yield summary(manifest, output, seconds)
    yield from describe_counts(manifest.dropped, manifest.changed)
    yield from look_lines(manifest.text, manifest.inputs)
    if advice := eval_advice(manifest):
        yield advice
    yield from next_pretrain(output, manifest)


def summary(manifest: DatasetManifest, output: Path | str, seconds: float) -> str:
    """The line at the end of the job."""
    train = manifest.splits[TRAIN]
    eval_split = manifest.splits[EVAL]
    examples = sum(copy["examples"] for copy in train["copies"])
    tokens = sum(copy["tokens"] for copy in train["copies"])
    held_out = sum(copy["examples"] for copy in eval_split["copies"])
    copies = f"in {counted(len(train['copies']), 'copy', 'copies')}"
    if manifest.has_documents:
        copies = "to make examples of, in the first epoch"
    return (
        f"{output}: {counted(train['documents'], 'document')} {copies}, "
        f"{counted(examples, 'example')}, {counted(tokens, 'token')}; "
        f"{counted(held_out, 'held-out example')} of "
        f"{counted(eval_split['documents'], 'document')}; {duration(seconds)}"
    )


def eval_advice(manifest: DatasetManifest) -> str:
    """What to say of a held-out split too small to measure on; empty if it is not."""
    fraction, split = manifest.config.eval_fraction, manifest.splits[EVAL]
    has_text = any(one.get("split") == EVAL for one in manifest.inputs)
    held_out = sum(copy["examples"] for copy in split["copies"])
    documents = sum(split["documents"] for split in manifest.splits.values())
    wanted = min(ENOUGH_DOCUMENTS, int(documents * ENOUGH_OF_FEW))
    is_enough = held_out >= ENOUGH_HELD_OUT and split["documents"] >= wanted
    if has_text and held_out < ENOUGH_HELD_OUT:
        return (
            f"Only {counted(held_out, 'held-out example')}, few to measure on; more "
            "--eval-text would give more."
        )
    if not fraction or is_enough:
        return ""
    examples = manifest.splits[TRAIN]["copies"][0]["examples"] + held_out
    needed = max(wanted, math.ceil(ENOUGH_HELD_OUT * documents / examples))
    share = enough_held_out(documents, needed=needed)
    said = (
        f"Only {counted(held_out, 'held-out example')} of "
        f"{counted(split['documents'], 'document')}, few to measure on"
    )
    if share is None or share <= fraction:
        return f"{said}; more text, or shorter documents, would give more."
    return (
        f"{said}; --eval-fraction {share:g} would hold out about "
        f"{counted(round(share * documents), 'document')} with "
        f"{counted(round(share * examples), 'example')}."
    )


def enough_held_out(documents: int, *, needed: int) -> float | None:
    """The share of the documents that holds out as many as needed; None if too large.

    Each document is held out with the probability of this share. It is the smallest
    with which fewer than needed are hardly ever held out.

    >>> enough_held_out(10_000, needed=40), enough_held_out(9, needed=1)
    (0.0054, 0.3526)
    >>> enough_held_out(3, needed=1) is None
    True
    """
    shares = [place / 10_000 for place in range(1, int(GREATEST_SHARE * 10_000) + 1)]
    place = bisect.bisect_left(
        shares,
        -MAY_FAIL,
        key=lambda share: -_probability_below(needed, documents, share=share),
    )
    return shares[place] if place < len(shares) else None


def _probability_below(needed: int, documents: int, *, share: float) -> float:
    """The probability that fewer documents than needed are held out (binomial)."""
    return math.fsum(
        math.exp(
            math.lgamma(documents + 1)
            - math.lgamma(held_out + 1)
            - math.lgamma(documents - held_out + 1)
            + held_out * math.log(share)
            + (documents - held_out) * math.log1p(-share)
        )
        for held_out in range(min(needed, documents + 1))
    )
