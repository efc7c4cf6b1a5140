"""`albert inspect`: what a data set is and whether it is whole; where a run stands."""

import itertools
import shlex
from pathlib import Path
from typing import Any

import click

from cli.support.console import Console
from cli.support.inputs import data_here, find_given_inputs, input_options, kind_of
from cli.support.options import UserPath, column_options, debug_option
from pipeline.reading.formats import KINDS
from schemas.errors import AlbertError, SettingError
from schemas.layout import EVAL, TRAIN
from schemas.manifest import DatasetManifest, ShardFile, read_manifest
from schemas.readable import counted


@click.command(epilog="Example:  albert inspect data --examples 2 --verify")
@click.argument(
    "paths", metavar="[DATA|RUN|FILE...]", type=UserPath(storage=True, path_type=Path), nargs=-1
)
@input_options
@click.option(
    "--task",
    metavar="KIND|NAME",
    help="Show what a model would learn of the files of a task, which are named as for finetune.",
)
@column_options("text", "pair", "label", "option")
@click.option(
    "--documents",
    default=1,
    show_default=True,
    type=click.IntRange(min=1, max=1_000_000),
    help="Documents to show of each file of raw text.",
)
@click.option(
    "--examples",
    default=3,
    show_default=True,
    type=click.IntRange(min=0, max=1_000_000),
    help="Examples to show.",
)
@click.option(
    "--split",
    default=TRAIN,
    show_default=True,
    type=click.Choice([TRAIN, EVAL]),
    help="Where the examples are taken from.",
)
@click.option(
    "--epoch",
    default=0,
    show_default=True,
    type=click.IntRange(min=0, max=1_000_000_000),
    help="Epoch of the training split to take them from: the copy made for it, or the "
    "stored copy whose turn it is.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Hash every file again and check every record against the feature table.",
)
@debug_option
def inspect(
    paths: tuple[Path | str, ...],
    task: str | None,
    examples: int,
    split: str,
    epoch: int,
    verify: bool,
    documents: int,
    debug: bool,
    **values: Any,
) -> None:
    """Show what a data set holds, where a run stands, or how raw text or a task is read.

    Of a run it says how far it is, what comes next and when, and what the same command
    would do. Of a data set it shows examples. Of files given with --wikipedia, --books
    or --text it shows the first documents: a line for each sentence, with the number of
    its paragraph before it. Of the files of a task, given with --task, it shows columns,
    labels, what is left out and why, and three examples as they would be learned.

    Masked tokens are in brackets, as [MASK] or whatever replaced them; below, the text
    is restored, with the masked tokens in guillemets.
    """
    if task is not None:
        from cli.support.task_data import show_task, with_columns
        from pipeline.tasks.named_tasks import task_called

        spec = with_columns(task_called(task), values)
        if not paths:
            raise SettingError(f"Give the files of the task {task}, or its folder.")
        show_task([*map(str, paths)], spec, say=click.echo)
        return
    if len(paths) > 1:
        raise SettingError("Give one data set or run; several files are those of a --task.")
    data = paths[0] if paths else None
    if any(values[kind] for kind in KINDS):
        show_raw_text(values, data=data, documents=documents)
    elif data is None:
        raise SettingError(
            "Give a data set, a run, or raw text with --wikipedia, --books or --text."
        )
    elif isinstance(data, Path) and kind_of(data) == "tuned":
        quoted = shlex.quote(str(data))
        click.echo(f"{data}: a fine-tuned model; albert report {quoted} shows its measures.")
    elif isinstance(data, Path) and kind_of(data) == "run":
        from albert_tf.runs.run_record import standing

        click.echo("\n".join(standing(data)))
    else:
        show_data_set(data, examples=examples, split=split, epoch=epoch, is_verified=verify)


def show_raw_text(values: dict[str, Any], *, data: Path | str | None, documents: int) -> None:
    """Print the sentences of the first documents of files of raw text."""
    from pipeline.reading.read import show_sentences

    if data is not None:
        raise SettingError(f"Give the data set {data} or raw text, not both.")
    for file in find_given_inputs(values, Console(quiet=False)).files:
        for line in show_sentences(file, documents=documents):
            click.echo(line)


def show_data_set(
    data: Path | str, *, examples: int, split: str, epoch: int, is_verified: bool
) -> None:
    """Print the card of a data set and some of its examples."""
    from pipeline.dataset.local_copy import all_files, first_files
    from pipeline.dataset.manifest import data_card, load_vocabulary, read_examples, show_example

    def choose(manifest: DatasetManifest) -> tuple[ShardFile, ...]:
        copy = copy_of_epoch(epoch, split, manifest)
        return first_files(split, copy=copy, examples=examples)(manifest)

    console = Console(quiet=False)
    is_copy = isinstance(data, str)
    data = data_here(data, console, choose=all_files if is_verified else choose)
    manifest = read_manifest(data)
    copy = copy_of_epoch(epoch, split, manifest)
    if is_verified:
        check_files(data, manifest, is_copy=is_copy)
    tokenizer = load_vocabulary(data, manifest)
    click.echo(data_card(manifest))
    if examples and not any(f.examples for f in manifest.shard_files(split, 0)):
        click.echo(f"{data} has no examples in its {split} split.")
    records = read_examples(data, manifest, split=split, copy=copy)
    for features in itertools.islice(records, examples):
        task = manifest.config.sentence_task
        click.echo(show_example(features, tokenizer.piece, task=task) + "\n")
    if is_verified:
        click.echo(f"{data} is whole: {counted(len(manifest.shards), 'file')} verified.")


def copy_of_epoch(epoch: int, split: str, manifest: DatasetManifest) -> int:
    """The number of the copy that an epoch reads."""
    if split == EVAL:
        if epoch:
            raise SettingError(
                f"--epoch {epoch}: held-out examples are the same in every epoch; leave it out."
            )
        return 0
    return epoch if manifest.has_documents else epoch % manifest.num_copies(TRAIN)


def check_files(data: Path, manifest: DatasetManifest, *, is_copy: bool) -> None:
    """Hash and read every file of a data set, and say what is wrong with each.

    Of a copy of a data set on storage nothing damaged is kept.
    """
    from pipeline.dataset.local_copy import remove_damaged
    from pipeline.dataset.manifest import verify

    total = sum(shard.bytes for shard in manifest.shards)
    with Console(quiet=False).start("verifying", total=total, unit="B") as bar:
        problems = list(verify(data, manifest, progress=bar.to))
    for problem in problems:
        click.echo(problem)
    if not problems:
        return
    if is_copy and remove_damaged(data, manifest):
        raise AlbertError(
            f"{data} was damaged; what does not match is removed from the copy; the "
            "next command copies it again."
        )
    raise AlbertError(f"{data} is damaged; make it again with --overwrite.")
