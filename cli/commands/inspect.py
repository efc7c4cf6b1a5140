"""`albert inspect`: what a data set, run, export or vocabulary is; how a text is divided."""

import itertools
import json
import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import Console
from cli.support.inputs import data_here, find_given_inputs, input_options, kind_of_input
from cli.support.options import ANYWHERE, column_options, debug_option, json_option, refuse_given
from pipeline.reading.formats import KINDS
from schemas.errors import AlbertError, SettingError
from schemas.example import SPACE
from schemas.files import Values, read_json
from schemas.layout import EVAL, EXPORT_RECORD, MODEL_CARD, TRAIN
from schemas.manifest import DatasetManifest, ShardFile, read_manifest
from schemas.readable import counted

if TYPE_CHECKING:
    from pipeline.vocabulary.tokenizer import Tokenizer


# What flags are for, and which.
_FLAGS = {
    ("a task",): ("pair_column", "label_column", "option_columns"),
    ("raw text",): (*KINDS, "language", "input_format", "documents"),
    ("raw text", "a task"): ("text_key",),
    ("a data set",): ("examples", "split", "epoch", "verify"),
}


@click.command(epilog="Example:  albert inspect data --examples 2 --verify")
@click.argument("paths", metavar="[FOLDER [TEXT]|FILE...]", nargs=-1)
@input_options
@click.option(
    "--task",
    metavar="KIND|NAME",
    help="Show what a model would learn of the files of a task, which are named as for finetune.",
)
@column_options("pair", "label", "option")
@click.option(
    "--documents",
    default=3,
    type=click.IntRange(min=1, max=1_000_000),
    help="Documents to show of each file of raw text.",
)
@click.option(
    "--examples", default=3, type=click.IntRange(min=0, max=1_000_000), help="Examples to show."
)
@click.option(
    "--split",
    default=TRAIN,
    type=click.Choice([TRAIN, EVAL]),
    help="Where the examples are taken from.",
)
@click.option(
    "--epoch",
    default=0,
    type=click.IntRange(min=0, max=1_000_000_000),
    help="Epoch of the training split to take them from: the copy made for it, or the "
    "stored copy whose turn it is.",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Hash every file again and check every record against the feature table.",
)
@json_option()
@debug_option
def inspect_command(
    paths: tuple[str, ...],
    task: str | None,
    examples: int,
    split: str,
    epoch: int,
    verify: bool,
    documents: int,
    as_json: bool,
    **values: Any,
) -> None:
    """Show what a data set holds, where a run stands, or how text or a task is read.

    FOLDER is a data set, whose examples are shown, or a run, an export or a vocabulary.
    Of a run it says how far it is, what comes next and when, and what the same command
    would do. With TEXT it shows how the vocabulary in FOLDER divides that: a line for
    each word, whose pieces are masked together. Of files given with --wikipedia,
    --books or --text it says which share of their sentences looks unlike text, with the
    commonest marks there, and shows the first documents: a line for each sentence, with
    the number of its paragraph before it. Of the files of a task, given with --task, it
    shows columns, labels, what is left out and why, and three examples as they would be
    learned.

    Masked tokens are in brackets, as [MASK] or whatever replaced them; below, the text
    is restored, with the masked tokens in guillemets.
    """
    console, facts = Console(quiet=False), Values()
    lines: Iterable[str]
    if task is None and (len(paths) > 2 or (paths[1:] and os.path.exists(paths[1]))):
        raise SettingError("Give one data set or run; several files are those of a --task.")
    data: Any = ANYWHERE(paths[0]) if paths else None
    if task is not None:
        from cli.support.task_data import show_task, with_columns
        from pipeline.tasks.named_tasks import task_called

        if not paths:
            raise SettingError(f"Give the files of the task {task}, or its folder.")
        check_flags_of_kind("a task")
        spec = with_columns(task_called(task), values | {"text_column": values["text_key"]})
        said: list[str] = []
        files = [os.path.expanduser(path) for path in paths]
        show_task(files, spec, say=said.append if as_json else click.echo)
        kind, lines = "task", said
    elif any(values[kind] for kind in KINDS):
        from pipeline.reading.read import show_sentences

        if data is not None:
            raise SettingError(f"Give the data set {data} or raw text, not both.")
        check_flags_of_kind("raw text")
        inputs, _ = find_given_inputs(values, console)
        shown = (show_sentences(file, documents=documents) for file in inputs)
        kind, lines = "text", itertools.chain.from_iterable(shown)
    elif data is None:
        raise SettingError(
            "Give a data set, a run, or raw text with --wikipedia, --books or --text."
        )
    elif paths[1:]:
        check_flags_of_kind("a vocabulary")
        kind = "text"
        facts = divided_text(data_here(data, console, choose=lambda _: ()), paths[1])
        words = [" ".join(word["pieces"]) for word in facts["words"]]
        lines = [
            f"read as: {facts['read_as']}",
            *(f"  {word}" for word in words),
            "Each line is masked as a whole, alone or with its neighbours (--max-ngram).",
        ]
    else:
        kind = kind_of_input(data) if isinstance(data, Path) else "data"
        check_flags_of_kind("a data set" if kind == "data" else kind)
        if kind == "data":
            lines = data_lines(
                data, facts, examples=examples, split=split, epoch=epoch, is_verified=verify
            )
        else:
            lines = folder_lines(Path(data), kind, facts)
    if as_json:
        lines = list(lines)
        click.echo(json.dumps({"kind": kind, **facts, "lines": lines}, ensure_ascii=False))
    else:
        for line in lines:
            click.echo(line)


def check_flags_of_kind(kind: str) -> None:
    """Refuse flags that are for something else than what is inspected."""
    for kinds, names in _FLAGS.items():
        if kind not in kinds:
            refuse_given(*names, why=f"is for {' and '.join(kinds)}; leave it out.")


def divided_text(path: Path, text: str) -> Values:
    """How a vocabulary divides a text: what it reads, and the pieces of each word."""
    import numpy as np

    from pipeline.encoding.queries import check_text
    from pipeline.vocabulary.importing import read_vocabulary

    check_text(text)
    tokenizer = read_vocabulary(path.parent if path.is_file() else path)
    ids = np.array(tokenizer.encode([text])[0], np.int32)
    places = np.flatnonzero(tokenizer.starts(ids)[1:]) + 1
    words = [word.tolist() for word in np.split(ids, places)]
    return {
        "text": text,
        "read_as": read_as(text, tokenizer),
        "words": [{"pieces": [*map(tokenizer.piece, word)], "ids": word} for word in words if word],
    }


def read_as(text: str, tokenizer: "Tokenizer") -> str:
    """A text as the model sees it."""
    return tokenizer.normalize(text).replace(SPACE, " ").strip()


def folder_lines(folder: Path, kind: str, facts: Values) -> Iterator[str]:
    """What a run, an export or a vocabulary is.

    Args:
        facts: Gets what is known of it, for programs.
    """
    quoted = shlex.quote(str(folder))
    if kind == "tuned":
        from albert_tf.runs.task_record import unmeasured

        measured = f"{folder}: a fine-tuned model; albert report {quoted} shows its measures."
        yield unmeasured(folder) or measured
    elif kind == "run":
        from albert_tf.runs.metrics import read_metrics
        from albert_tf.runs.standing import standing

        facts["newest"] = {line["split"]: line for line in read_metrics(folder)}
        yield from standing(folder)
    elif kind == "export":
        facts |= read_json(folder / EXPORT_RECORD)
        yield f"{folder}: an export for {facts.get('to')}; {MODEL_CARD} there says more."
    else:
        from pipeline.vocabulary.importing import read_vocabulary

        tokenizer = read_vocabulary(folder.parent if folder.is_file() else folder)
        facts["size"] = tokenizer.vocab_size
        yield (
            f"{folder}: a vocabulary of {tokenizer.vocab_size:,} pieces, which reads Café as "
            f"{read_as('Café', tokenizer)}; albert inspect {quoted} TEXT shows how it divides "
            "a text."
        )


def data_lines(
    data: Path | str, facts: Values, *, examples: int, split: str, epoch: int, is_verified: bool
) -> Iterator[str]:
    """The card of a data set and some of its examples; `facts` as in `folder_lines`."""
    from pipeline.dataset.local_copy import all_files, first_files, remove_damaged
    from pipeline.dataset.manifest import (
        data_card,
        load_vocabulary,
        read_examples,
        show_example,
        verify,
    )

    def choose(manifest: DatasetManifest) -> tuple[ShardFile, ...]:
        copy = copy_of_epoch(epoch, split, manifest)
        return first_files(split, copy=copy, examples=examples)(manifest)

    console = Console(quiet=False)
    is_copy = isinstance(data, str)
    data = data_here(data, console, choose=all_files if is_verified else choose)
    manifest = read_manifest(data)
    copy = copy_of_epoch(epoch, split, manifest)
    if is_verified:
        total = sum(shard.bytes for shard in manifest.shards)
        with console.start("verifying", total=total, unit="B") as bar:
            problems = list(verify(data, manifest, progress=bar.to))
        yield from problems
        # Of a copy of a data set on storage nothing damaged is kept.
        if problems and is_copy and remove_damaged(data, manifest):
            raise AlbertError(
                f"{data} was damaged; what does not match is removed from the copy; the "
                "next command copies it again."
            )
        if problems:
            raise AlbertError(f"{data} is damaged; make it again with --overwrite.")
    tokenizer = load_vocabulary(data, manifest)
    facts["manifest"] = manifest.to_dict()
    yield data_card(manifest)
    if examples and not any(f.examples for f in manifest.shard_files(split, 0)):
        yield f"{data} has no examples in its {split} split."
    records = read_examples(data, manifest, split=split, copy=copy)
    for features in itertools.islice(records, examples):
        task = manifest.config.sentence_task
        yield show_example(features, tokenizer.piece, task=task) + "\n"
    if is_verified:
        yield f"{data} is whole: {counted(len(manifest.shards), 'file')} verified."


def copy_of_epoch(epoch: int, split: str, manifest: DatasetManifest) -> int:
    """The number of the copy that an epoch reads."""
    if split == EVAL:
        if epoch:
            raise SettingError(
                f"--epoch {epoch}: held-out examples are the same in every epoch; leave it out."
            )
        return 0
    return epoch if manifest.has_documents else epoch % manifest.num_copies(TRAIN)
