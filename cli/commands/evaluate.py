"""`albert evaluate`: how good a run is on held-out text, beside what counting gives."""

import contextlib
import dataclasses
import hashlib
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from cli.support.asked import take_jax
from cli.support.console import Console, silent_stderr, tell
from cli.support.inputs import data_here, describe_inputs
from cli.support.options import (
    ANY_NAME,
    ANYWHERE,
    COUNT,
    PATH,
    UserPath,
    column_options,
    debug_option,
    is_given,
    json_option,
    quiet_option,
    refuse_given,
)
from cli.support.trained_model import (
    checkpoint_option,
    data_of,
    open_model,
    plain_vocabulary,
    untrained_positions,
)
from pipeline.reading.formats import FORMATS
from pipeline.reading.inputs import expand, find_held_out
from pipeline.storage.files import file_name
from schemas.config import EVALUATED_WORDS, DataConfig, Precision, flag_name
from schemas.errors import AlbertError, SettingError
from schemas.files import Values, scratch_folder
from schemas.layout import EVAL
from schemas.manifest import DatasetManifest, read_manifest
from schemas.readable import listed
from schemas.report import Section, as_text

if TYPE_CHECKING:
    from albert_tf.evaluation.minimal_pairs import MinimalPair
    from albert_tf.model.trained_model import TrainedModel
    from albert_tf.runs.metrics import Metrics

_PAIRS_FLAG = "--minimal-pairs"

# Tokens in the examples of a text, where nothing says what a model was trained on.
LONGEST = 512

# Flags for runs alone.
_OF_RUNS = (
    "text",
    "language",
    "input_format",
    "eval_examples",
    "words",
    "minimal_pairs",
    "pairs_per_paradigm",
    "precision",
)


@click.command(epilog="Example:  albert evaluate run --data data")
@click.argument("run", type=PATH)
@click.option(
    "--data",
    type=ANYWHERE,
    help="Data set made with the same vocabulary, here or on storage such as "
    "s3://bucket/data; its held-out split is measured on, and the tokens of its "
    "training split are counted. For a fine-tuned model, a file of examples.",
)
@click.option(
    "--text",
    multiple=True,
    metavar="PATH",
    type=ANY_NAME,
    help="Any text to measure on instead of the held-out split, read as make-data "
    "reads --eval-text, rows as PATH:KEY. The tokens of --data are counted  [default: "
    "of the data set that the run was trained on]. Files, folders, globs; repeatable.",
)
@click.option("--language", metavar="CODE", help="Language of --text.")
@click.option(
    "--input-format",
    type=click.Choice(list(FORMATS)),
    metavar="FORMAT",
    help="How --text is read, as for make-data.",
)
@click.option(
    "--eval-examples", type=COUNT, help="Maximum number of examples to evaluate on  [default: all]"
)
@click.option(
    "--words",
    default=EVALUATED_WORDS,
    type=click.IntRange(min=0),
    help="Maximum number of held-out words to measure bits per character on; 0 skips "
    "both the words and the counting.",
)
@click.option(
    _PAIRS_FLAG,
    multiple=True,
    metavar="PATH",
    type=UserPath(storage=False, readable=False),
    help="Pairs of a grammatical and an ungrammatical sentence to tell apart: files of "
    "BLiMP (.jsonl) or Zorro (.txt). Files, folders, globs; repeatable.",
)
@click.option(
    "--pairs-per-paradigm",
    type=COUNT,
    help="Maximum number of pairs per paradigm, from its first on  [default: all]",
)
@click.option(
    "--precision",
    type=click.Choice(get_args(Precision)),
    help="Number format of the computation  [default: that of the run and its own evaluations]",
)
@column_options("text", "pair", "label")
@checkpoint_option
@json_option()
@quiet_option("Show no progress.")
@debug_option
def evaluate_command(run: Path, as_json: bool, console: Console, **values: Any) -> None:
    """Measure a run on held-out text, or on any text of yours.

    The masks of a held-out split are fixed, so that results on the same data set are
    comparable. Bits per character, of held-out words that are each masked alone, are
    comparable across vocabularies too. Next to them is what counting tokens and their
    neighbours gives, which a model has to beat. The run keeps a result for each text;
    albert report compares runs by them, and the model card of albert export shows them.
    A fine-tuned model is measured by the measures of its task.
    """
    take_jax(console)
    from albert_tf.runs.run_record import is_tuned, recorded_settings
    from albert_tf.runs.task_record import labels_table, measures_table, task_verdict

    is_task = is_tuned(run)
    # Flags that mean nothing for what is measured are refused.
    if not is_given("data") and (is_task or not is_given("text")):
        if is_task:
            raise SettingError("--data: give a file of examples to measure on.")
        data = recorded_settings(run).get("data")
        known = f"; {run} was trained on {shlex.quote(data)}" if data else ""
        raise SettingError(
            f"--data: give a data set to measure on, or --text with text of yours{known}."
        )
    if not is_given("text"):
        refuse_given("language", "input_format", why="reads --text; give it too.")
    what = "a fine-tuned model" if is_task else "not a fine-tuned model"
    columns = ("text_column", "pair_column", "label_column")
    for name in _OF_RUNS if is_task else columns:
        if is_given(name):
            raise SettingError(f"{run} is {what}; leave {flag_name(name)} out.")
    if not is_given("minimal_pairs"):
        refuse_given("pairs_per_paradigm", why=f"limits {_PAIRS_FLAG}; give {_PAIRS_FLAG} too.")
    if is_task:
        measured = evaluate_task(run, values, console)
        heading = (
            f"Step {measured['step']:,}, {measured['examples']:,} examples of {values['data']}"
        )
        said = "\n".join(task_verdict(measured))
        section = Section(parts=(heading, measures_table(measured), said, labels_table(measured)))
    else:
        measured = evaluate_run(run, values, console)
        section = run_section(measured)
    click.echo(json.dumps(measured) if as_json else as_text(section))


def run_section(measured: "Metrics") -> Section:
    """An evaluation of a run."""
    from albert_tf.runs.metrics import comparison, heading, minimal_pairs, sentences

    said = "\n".join(sentences(measured))
    parts = (heading(measured), comparison(measured), said, minimal_pairs(measured))
    return Section(parts=parts)


def evaluate_run(run: Path, values: Values, console: Console) -> "Metrics":
    """What a run is worth on held-out text, which is kept in the run."""
    from pipeline.dataset.manifest import write_held_out
    from pipeline.vocabulary.importing import read_vocabulary

    # Before libraries are loaded for some seconds.
    tokenizer, data = read_vocabulary(run), values["data"]
    found = None
    if data is not None:
        data = data_here(data, console)
        found = read_manifest(data)
    with silent_stderr():
        from albert_tf.data.input_pipeline import Records
        from albert_tf.evaluation.evaluate import Scope, Text
        from albert_tf.evaluation.evaluate import evaluate as measure
        from albert_tf.model.trained_model import read_trained
    from albert_tf.runs.metrics import WORD_LOSSES, write_evaluation
    from albert_tf.runs.run_record import recorded_manifest

    pairs = find_pairs(values["minimal_pairs"], maximum=values["pairs_per_paradigm"])
    words = values["words"]
    if data is None and words and (data := data_of(run)) is None:
        console.say(
            f"The data set that {run} was trained on is not here, so nothing is counted "
            "beside the model; --data gives one."
        )
    model = read_trained(run, which=values["checkpoint"], say=console.say)
    console.say(*model.notes)
    scope = Scope(
        examples=values["eval_examples"],
        words=words,
        pairs=pairs,
        sentences=tokenizer.encode([s for p in pairs for s in (p.good, p.bad)]),
        vocabulary=plain_vocabulary(tokenizer),
    )
    text, trained = None, recorded_manifest(run)
    with contextlib.ExitStack() as held, console:
        if values["text"]:
            # A data set of held-out documents, made as that of the model was.
            folder = held.enter_context(scratch_folder("evaluate"))
            files = find_held_out(
                values["text"],
                flag="--text",
                language=values["language"],
                input_format=values["input_format"],
                on_passed_over=lambda note: console.say(f"passed over: {note}"),
            )
            console.say(*describe_inputs(files))
            length = min(model.config.max_position_embeddings, LONGEST)
            config = (
                trained.config
                if trained is not None
                else DataConfig(max_seq_length=length).resolved(input_bytes=0)
            )
            manifest = write_held_out(files, config, tokenizer=tokenizer, output=folder)
            name = listed(map(file_name, values["text"]), most=1)
            described = json.dumps([file.describe() for file in files], sort_keys=True)
            hash_of = hashlib.sha256(described.encode()).hexdigest()
            text = Text(name, hash_of, Records(folder, manifest))
        if text:
            found = text.records.manifest
        elif found:
            say_of_data(model, found, data=data, console=console)
        measured = measure(
            model,
            data=data,
            text=text,
            scope=scope,
            precision=values["precision"],
            progress=console,
        )
        if found and (names := trained_files(found, trained)):
            measured["trained_on"] = names
    try:
        write_evaluation(run, measured)
    except AlbertError as error:
        # It is shown all the same; a failure, which --quiet does not hide.
        tell(f"{error} The result is not kept.")
    return {name: measured[name] for name in measured if name != WORD_LOSSES}


def trained_files(measured: DatasetManifest, trained: DatasetManifest | None) -> list[str]:
    """The files whose held-out documents a run was trained on, all or some.

    Which documents are held out depends on their text alone, so that a smaller share of
    the same files is a part of a larger one.

    Args:
        trained: Of the data set of the run, if it has one.
    """
    if trained is None:
        return []
    of_training = {one["sha256"] for one in trained.inputs if one.get("split") != EVAL}
    held_out = trained.config.eval_fraction
    return [
        one["name"]
        for one in measured.inputs
        if one["sha256"] in of_training
        and (one.get("split") == EVAL or measured.config.eval_fraction > held_out)
    ]


def say_of_data(
    model: "TrainedModel", manifest: DatasetManifest, *, data: Path, console: Console
) -> None:
    """Say where a model was trained on shorter or other examples than the data's."""
    console.say(*untrained_positions(model, manifest, data=data))
    task, of_data = model.config.sentence_task, manifest.config.sentence_task
    if "none" not in (task, of_data) and task != of_data:
        console.say(
            f"The sentence task of {model.folder} is {task} and the labels of {data} "
            f"are of {of_data}: sentence_loss and sentence_accuracy say little."
        )


def evaluate_task(model: Path, values: Values, console: Console) -> "Metrics":
    """What a fine-tuned model is worth on a file of examples."""
    with silent_stderr():
        from albert_tf.finetuning.predictor import evaluate_tuned
    from cli.support.task_data import read_labelled, say_lost

    found = open_model(model, which=values["checkpoint"], say=console.say)
    record, path = found.tuned.record, str(values["data"])
    examples, spec = read_labelled(path, record.spec, say=console.say, flags=values)
    record = dataclasses.replace(record, spec=spec)
    given = found.encoded(examples, record)
    say_lost(given, record, say=console.say)
    return evaluate_tuned(dataclasses.replace(found.tuned, task=record), given)


def find_pairs(patterns: tuple[str, ...], *, maximum: int | None) -> "list[MinimalPair]":
    """The pairs in all files at some paths, `maximum` of each paradigm or all."""
    with silent_stderr():
        from albert_tf.evaluation.minimal_pairs import (
            SUFFIXES,
            first_of_paradigms,
            read_minimal_pairs,
        )

    pairs: list[MinimalPair] = []
    for pattern in patterns:
        paths = [Path(path) for path in expand(pattern, flag=_PAIRS_FLAG)]
        files = [path for path in paths if path.suffix in SUFFIXES]
        if not files:
            raise SettingError(
                f"{_PAIRS_FLAG}: {pattern} has no files that end with {' or '.join(SUFFIXES)}."
            )
        for path in files:
            pairs += read_minimal_pairs(path)
    return list(first_of_paradigms(pairs, maximum=maximum))
