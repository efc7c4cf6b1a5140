"""`albert make-data`: raw text and a vocabulary to TFRecords."""

import contextlib
import dataclasses
import functools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import Console, is_debugging, silent_logging
from cli.support.data_summary import closing_lines, plan_lines, shown_progress
from cli.support.inputs import find_given_inputs, input_options, input_settings, refuse_stray
from cli.support.options import (
    ANY_NAME,
    COUNT,
    FOLDER_ANYWHERE,
    UNCHECKED,
    ByTopic,
    common_options,
    config_options,
    derived_settings,
    from_anywhere,
    is_given,
    is_typed,
    take_config,
)
from pipeline.core.machine import check_address_space, usable_cores
from pipeline.reading.formats import KINDS
from pipeline.storage import files, output_folder
from schemas.config import DataConfig
from schemas.errors import SettingError
from schemas.files import Values
from schemas.layout import REMOVED_FILES

if TYPE_CHECKING:
    from pipeline.job.runners import Runner

# This machine, which opens no port.
LOCAL_RUNNER = "FnApiRunner"

# Beam and its libraries take this much, or abort.
LEAST_MEMORY = 700_000_000


# The flags by topic, in the order of a person's questions.
TOPICS = {
    "What is read and written": "wikipedia books text vocab output overwrite config",
    "How text is read": "language input_format text_key",
    "Size and held-out text": "plan eval_fraction eval_text examples dupe_factor",
    "What is left out": "near_duplicates max_line_repeats keep_languages repair_text removed",
    "Examples": "max_seq_length masked_lm_prob max_predictions_per_seq kept_share "
    "masked_words max_ngram short_seq_prob sentence_task seed",
    "Files": "num_shards record_layout",
    "Where it runs": "workers runner",
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
    type=UNCHECKED,
    metavar="DIR|FILE",
    help="Vocabulary made by albert vocab, or its spiece.model.",
)
@click.option(
    "--eval-text",
    multiple=True,
    metavar="PATH",
    type=ANY_NAME,
    help="Text that is only held out, to measure on: the files of a task, say, as "
    "PATH:KEY, or novels of your own. Near-copies of it leave the training text. "
    "Without --eval-fraction nothing else is held out. Files, folders, globs; "
    "repeatable.",
)
@config_options(DataConfig)
@click.option(
    "--workers",
    type=COUNT,
    show_default="as many as the text keeps busy, up to all cores",
    help="Worker processes; never changes the result.",
)
@click.option(
    "--runner",
    default=LOCAL_RUNNER,
    metavar="NAME",
    help=f"Where the job runs: {LOCAL_RUNNER} on this machine, where nothing needs a "
    "port; DataflowRunner, FlinkRunner, SparkRunner, PrismRunner and PortableRunner "
    "take Beam's own options after --.",
)
@click.option(
    "--removed",
    type=FOLDER_ANYWHERE,
    metavar="DIR",
    help="Folder for the paragraphs that --near-duplicates, --max-line-repeats, "
    "--keep-languages and --repair-text removed or mended, with the reason, as JSON "
    "lines.",
)
@click.option(
    "--plan",
    is_flag=True,
    help="Print what would be made, how large it is and how long it takes, and make nothing.",
)
@click.argument("beam_options", nargs=-1, metavar="[-- BEAM OPTIONS]")
@functools.partial(
    common_options,
    output=click.option(
        "--output",
        type=FOLDER_ANYWHERE,
        help="Folder to write, here or on storage such as gs://bucket/folder.",
    ),
)
def make_data_command(
    output: Path | str | None, plan: bool, overwrite: bool, console: Console, **values: Any
) -> None:
    """Make masked sentence pairs from raw text.

    Runs as an Apache Beam job. Writes TFRecord files, a copy of the vocabulary, a data
    card and, last, manifest.json. The same inputs and settings give the same bytes
    wherever it runs.
    """
    start = time.monotonic()
    check_address_space(LEAST_MEMORY)
    refuse_stray(values["beam_options"])
    if values["eval_text"] and not is_given("eval_fraction"):
        values["eval_fraction"] = 0.0
    config = take_config(DataConfig, values)
    if config.examples == "on-the-fly" and is_typed("dupe_factor"):
        raise SettingError(
            "--dupe-factor says how many copies are stored, and --examples on-the-fly "
            "stores none; leave one of them out."
        )
    with contextlib.nullcontext() if is_debugging() else silent_logging():
        runner = take_runner(values, output=output)
        if not plan:
            check_folders(values, output, overwrite=overwrite)
        from pipeline.job import make_data as making
        from pipeline.job.estimate import busy_workers
        from pipeline.job.plan import plan_job
        from pipeline.noise.filters import check_filters
        from pipeline.vocabulary.normalization import normalization_warning
        from pipeline.vocabulary.tokenizer import read_spm_model

        check_filters(config)
        try:
            model = read_spm_model(values["vocab"])
        except SettingError as error:
            raise SettingError(f"--vocab: {error}") from None
        if warning := normalization_warning(model, vocab=values["vocab"]):
            console.say(f"Warning: {warning}")
        since = time.time()
        found, passed_over = find_given_inputs(values, console, outputs=[output, values["removed"]])
        read_bytes = sum(file.text_bytes for file in found if not file.is_held_out)
        resolved = config.resolved(input_bytes=read_bytes)
        console.say(*derived_settings(config, resolved))
        job = plan_job(
            found,
            resolved,
            model=model,
            output=output or "",
            passed_over=passed_over,
            since=since,
            removed=values["removed"],
        )
        busy = busy_workers(job.text_bytes, copies=resolved.stored_copies)
        workers = values["workers"] or min(usable_cores(), busy)
        if plan:
            for line in plan_lines(job, found, workers=workers):
                click.echo(line)
            return
        if runner and runner.is_dry:
            making.dry_run(job, runner)
            console.say("Beam has checked the job; nothing was submitted (--dry_run).")
            return
        # Without those that follow from others.
        settings = {
            **input_settings(values),
            "vocab": from_anywhere(values["vocab"]),
            **dataclasses.asdict(config),
        }
        if values["eval_text"]:
            settings["eval_text"] = list(map(from_anywhere, values["eval_text"]))
        with making.claimed_output(
            job, found, settings=settings, runner=runner, overwrite=overwrite
        ) as is_finished:
            if not is_finished:
                manifest = making.make_data(
                    job,
                    workers=workers,
                    runner=runner,
                    shown=lambda job: shown_progress(job, console),
                )
    if is_finished:
        if values["removed"] is not None:
            check_has_removed(values["removed"], job.output)
        console.say(f"{output} is finished already; nothing to do.")
        return
    console.say(*closing_lines(manifest, job.output, time.monotonic() - start))


def take_runner(values: Values, *, output: Path | str | None) -> "Runner | None":
    """The cluster that runs the job, or None for this machine."""
    if output is not None and files.is_remote(str(output)):
        output_folder.check_can_write(str(output))
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


def check_folders(values: Values, output: Path | str | None, *, overwrite: bool) -> None:
    """Refuse folders that cannot be written, before text is read."""
    if output is None:
        raise SettingError("--output: name the folder to write.")
    if isinstance(output, Path):
        from pipeline.job.resume import MAKE_DATA

        output_folder.check_recognised(output, MAKE_DATA)
        vocab = Path(values["vocab"])
        if overwrite and not files.is_remote(values["vocab"]):
            folder = vocab if vocab.is_dir() else vocab.parent
            output_folder.check_is_not(output, folder, what="the folder of --vocab")
    if values["removed"] is not None:
        output_folder.check_removed(values["removed"], output)


def check_has_removed(removed: Path | str, output: str) -> None:
    """Refuse a folder that lacks what was removed from a data set that is finished."""
    from pipeline.dataset.shard import NEAR_COPY
    from pipeline.job.resume import manifest_of
    from pipeline.noise.filters import OTHER_LANGUAGE, REPAIRED, REPEATED

    manifest = manifest_of(output)
    reasons = {OTHER_LANGUAGE, REPAIRED, REPEATED, *NEAR_COPY.values()}
    was_removed = reasons & {*manifest.dropped, *manifest.changed}
    if was_removed and not files.find_below(removed, REMOVED_FILES):
        raise SettingError(
            f"--removed: {output} is finished already, and what is removed is written while it "
            "is made; give --overwrite to make it again."
        )
