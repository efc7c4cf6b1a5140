"""`albert finetune`: a trained encoder and labelled examples to a model of a task."""

import dataclasses
import functools
import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cli.support import output_folder
from cli.support.asked_model import (
    any_checkpoint_option,
    check_sizes,
    vocabulary_for_text,
)
from cli.support.console import Console, silent_stderr
from cli.support.footprints import FINETUNE
from cli.support.options import (
    UserPath,
    column_options,
    common_options,
    config_options,
    is_given,
    is_of_recipe,
    recipe_option,
    take_config,
)
from schemas.config import Initializer, ModelConfig, flag_name
from schemas.errors import SettingError
from schemas.finetune_config import OF_ANSWERS, FineTuneConfig
from schemas.json_file import read_json, write_json, write_text
from schemas.layout import (
    CONFIG,
    TASK,
    TASK_EVALUATION,
    TASK_RUNS,
    TEST_PREDICTIONS,
    vocabulary_file,
)
from schemas.presets import TASK_RECIPES
from schemas.report import text_lines
from schemas.task import Columns, Kind, TaskExample

if TYPE_CHECKING:
    from albert_tf.finetuning.baselines import Guesses
    from albert_tf.finetuning.repeated_runs import Variant
    from albert_tf.finetuning.tuned_model import TunedModel
    from albert_tf.finetuning.tuning_job import TaskRows, TuningJob
    from albert_tf.runs.checkpoints import Which
    from albert_tf.runs.tensor_files import Arrays
    from cli.support.task_data import TaskData, TaskPaths
    from pipeline.vocabulary.tokenizer import Tokenizer

_FILES: dict[str, Any] = {
    "multiple": True,
    "metavar": "FILE",
    "type": UserPath(readable=False),
}

Say = Callable[[str], None]

# Kinds of tasks whose labels may have weights in the loss, and those without labels.
WEIGHED: tuple[Kind, ...] = ("classify", "tag")
UNSMOOTHED: tuple[Kind, ...] = ("regress", "answer")


class Source(NamedTuple):
    """The model that fine-tuning starts from.

    Attributes:
        config: The architecture of its encoder.
        weights: By path; none for a start from scratch.
        max_seq_length: Tokens in the longest sequences it was trained on.
        initializer: The first weights that it began with.
    """

    config: ModelConfig
    weights: "Arrays"
    max_seq_length: int
    initializer: Initializer


@click.command(
    epilog="Example:  albert finetune run --task classify --train reviews.csv --output "
    "tuned"
)
@click.argument("model", type=UserPath(path_type=Path))
@click.option(
    "--task",
    required=True,
    metavar="KIND|NAME",
    help="classify, multilabel, regress, choose, answer or tag; or a task known by its "
    "name, such as sst-2, squad or c3, whose labels, measures and length are known.",
)
@click.option("--train", **_FILES, help="Examples to train on; repeatable.")
@click.option(
    "--eval",
    "evaluation",
    **_FILES,
    help="Examples to choose the best checkpoint by; repeatable  [default: a tenth of "
    "those to train on]",
)
@click.option("--test", **_FILES, help="Examples to predict at the end; repeatable.")
@click.option(
    "--data",
    type=UserPath(file_okay=False),
    help="Folder of a task, with files of all three kinds in it.",
)
@column_options("text", "pair", "label")
@click.option(
    "--from-scratch",
    is_flag=True,
    help="Take architecture and vocabulary of MODEL, but not its weights; begin with "
    "first weights as it began with: what pretraining is worth.",
)
@click.option(
    "--keep-head",
    is_flag=True,
    help="Take the head of MODEL along too, which is a fine-tuned model with the same "
    "labels.",
)
@click.option(
    "--runs",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Train so often, each time with the next seed, in folders run-1, run-2 and so "
    "on; tells median, least and most.",
)
@click.option(
    "--sweep",
    multiple=True,
    metavar="SETTING=A,B,..",
    help="Train with each of these values, as learning_rate=1e-5,3e-5; repeatable, "
    "then with all combinations.",
)
@any_checkpoint_option
@recipe_option(
    TASK_RECIPES, help="those of ALBERT's paper for a task (Table 14), for wide models."
)
@config_options(FineTuneConfig)
@common_options
def finetune(
    model: Path,
    task: str,
    train: tuple[str, ...],
    evaluation: tuple[str, ...],
    test: tuple[str, ...],
    data: str | None,
    text_column: str | None,
    pair_column: str | None,
    label_column: str | None,
    from_scratch: bool,
    keep_head: bool,
    runs: int,
    sweep: tuple[str, ...],
    checkpoint: "Which | None",
    output: Path,
    overwrite: bool,
    quiet: bool,
    debug: bool,
    **values: Any,
) -> None:
    """Teach a trained encoder a task.

    MODEL is a run, an import, an export or another fine-tuned model. Files are TSV,
    CSV, JSON lines or parquet, and what tasks are published as: SQuAD's JSON, RACE,
    C3, CoNLL. Columns are found by their names, and said. The checkpoint that is best
    on --eval is measured beside guessing and kept; the same command goes on where it
    was stopped.
    """
    from albert_tf.finetuning.repeated_runs import swept_field, variants
    from cli.support.task_data import TaskPaths, paths_of, read_task, with_columns
    from pipeline.tasks.named_tasks import task_called

    console = Console(quiet=quiet)
    if from_scratch:
        check_from_scratch(keep_head=keep_head, checkpoint=checkpoint)
    settings = taken_settings(values, swept=map(swept_field, sweep))
    planned = variants(settings, sweep, runs=runs)
    columns = Columns(text=text_column, pair=pair_column, label=label_column)
    files = TaskPaths(train, evaluation, test)
    spec = with_columns(task_called(task), columns)
    check_variants(planned, model=model, output=output, kind=spec.kind)
    paths = paths_of(files, folder=data, spec=spec)
    tokenizer = vocabulary_for_text(model)
    found = read_task(paths, spec, say=console.say)
    source = read_source(
        model, found, checkpoint=checkpoint, keep_head=keep_head, say=console.say
    )
    check_sizes(tokenizer, source.config, path=model)
    if from_scratch:
        source = source._replace(weights={})
    given = {
        "model": os.path.abspath(model),
        "task": task,
        **recorded_files(files, data, columns=columns),
        "from_scratch": from_scratch,
        "keep_head": keep_head,
        "checkpoint": checkpoint,
    }
    file = vocabulary_file(model)
    guesses = guesses_of(found, console=console)
    summary = output / TASK_RUNS if len(planned) > 1 else None
    work = Work(found, source, tokenizer, file, given, overwrite, guesses, summary)
    if len(planned) == 1:
        one_run(work, planned[0].config, run=output, console=console)
        say_next(output, console=console)
    else:
        many_runs(work, planned, folder=output, console=console)


def check_from_scratch(*, keep_head: bool, checkpoint: "Which | None") -> None:
    """Refuse flags about weights that are not taken.

    Raises:
        SettingError: Names the flag.
    """
    flag = "--keep-head" if keep_head else "--checkpoint" if checkpoint else ""
    if flag:
        raise SettingError(
            f"{flag} is about the weights of MODEL, and --from-scratch takes none; "
            "leave one of them out."
        )


def taken_settings(values: dict[str, Any], *, swept: Iterable[str]) -> FineTuneConfig:
    """The settings of training; epochs win over the steps that a recipe has.

    Args:
        values: Of all flags; those of settings are taken out.
        swept: The fields of --sweep.

    Raises:
        SettingError: A value breaks a rule.
    """
    if is_given("epochs") or "epochs" in swept:
        of_length = filter(is_of_recipe, ("steps", "warmup_steps"))
        values |= dict.fromkeys(of_length, None)
    return take_config(FineTuneConfig, values)


def check_variants(
    planned: "list[Variant]", *, model: Path, output: Path, kind: Kind
) -> None:
    """Refuse runs that cannot be, before anything is read.

    Raises:
        SettingError: Names the flag.
    """
    for variant in planned:
        folder = output / variant.folder if len(planned) > 1 else output
        output_folder.check_is_not(folder, model, what="the model to start from")
        check_settings_fit(variant.config, kind)


def check_settings_fit(settings: FineTuneConfig, kind: Kind) -> None:
    """Refuse settings that a kind of task has no use for.

    Raises:
        SettingError: Names the flag.
    """
    for name in OF_ANSWERS:
        value = getattr(settings, name)
        if kind != "answer" and value != getattr(FineTuneConfig, name):
            raise SettingError(
                f"{flag_name(name)} {value} is for answers in passages, and the task "
                f"is {kind}; leave it out."
            )
    if settings.class_weights != "none" and kind not in WEIGHED:
        raise SettingError(
            f"--class-weights {settings.class_weights} is for {' and '.join(WEIGHED)}, "
            f"and the task is {kind}; leave it out."
        )
    if settings.label_smoothing and kind in UNSMOOTHED:
        raise SettingError(
            f"--label-smoothing divides targets among labels, and the task is {kind}, "
            "which has none; leave it out."
        )


def recorded_files(
    files: "TaskPaths", folder: str | None, *, columns: Columns
) -> dict[str, Any]:
    """What was asked to be read, as the record of a run has it."""
    named = files._asdict().items()
    return {
        **{name: [*map(os.path.abspath, paths)] for name, paths in named},
        "data": os.path.abspath(folder) if folder else None,
        "text_column": columns.text,
        "pair_column": columns.pair,
        "label_column": columns.label,
    }


class Work(NamedTuple):
    """What all runs of a command have in common.

    Attributes:
        data: The examples.
        source: What is started from.
        tokenizer: Its vocabulary.
        vocabulary: The file of it.
        given: The flags that are no settings of training.
        overwrite: Whether earlier results are removed first.
        guesses: What guessing says of the held-out examples, measured once.
        summary: The file that tells what came out of all runs, if there are several.
    """

    data: "TaskData"
    source: Source
    tokenizer: "Tokenizer"
    vocabulary: Path
    given: dict[str, Any]
    overwrite: bool
    guesses: "Callable[[], Guesses]"
    summary: Path | None


def guesses_of(data: "TaskData", *, console: Console) -> "Callable[[], Guesses]":
    """What guessing says of the held-out examples, measured when first asked."""

    @functools.cache
    def measured() -> "Guesses":
        from albert_tf.finetuning.baselines import baselines_of

        console.say("Measuring what guessing and words alone give.")
        return baselines_of(data.spec, data.train, data.held_out)

    return measured


def one_run(
    work: Work, settings: FineTuneConfig, *, run: Path, console: Console
) -> None:
    """Train in a folder, or say that it is finished."""
    job = make_job(
        work.data,
        work.source,
        settings,
        tokenizer=work.tokenizer,
        run=run,
        console=console,
    )
    with output_folder.claim(
        run,
        FINETUNE,
        settings={**work.given, **dataclasses.asdict(settings)},
        identity=identity(job, tests=work.data.tests),
        overwrite=work.overwrite,
    ) as finished:
        if finished:
            console.say(f"{run} is finished already; nothing to do.")
            return
        if work.summary is not None:
            # It tells of runs that are no more, or not yet.
            work.summary.unlink(missing_ok=True)
        train_and_predict(job, work, console=console)


def many_runs(
    work: Work, planned: "list[Variant]", *, folder: Path, console: Console
) -> None:
    """Train each in a folder of its own, and write what came out of all.

    Raises:
        SettingError: The folder holds something else.
    """
    from albert_tf.finetuning.repeated_runs import settings_table, summary

    if (folder / CONFIG).exists() or (folder / TASK).exists():
        what = "a fine-tuned model" if (folder / TASK).exists() else "another output"
        raise SettingError(
            f"--output: {folder} holds {what}; give another folder for several models."
        )
    check_planned(work, planned)
    for number, variant in enumerate(planned, start=1):
        console.say(f"Run {number} of {len(planned)}: {variant.folder}")
        one_run(work, variant.config, run=folder / variant.folder, console=console)
    results = [read_json(folder / v.folder / TASK_EVALUATION) for v in planned]
    found = summary(planned, results)
    write_json(folder / TASK_RUNS, found)
    table = settings_table(found)
    console.say(f"{table.title}:")
    for line in text_lines(table):
        console.say(line)
    say_next(folder / found["settings"][0]["best"], console=console)


def check_planned(work: Work, planned: "list[Variant]") -> None:
    """Refuse several runs of which one could not begin, before the first one does.

    Raises:
        SettingError: Says what does not fit.
    """
    for variant in planned:
        silent = Console(quiet=True)
        length = sequence_length(work.data, work.source, variant.config, console=silent)
        if variant.config.steps is not None:
            variant.config.resolved(
                rows=len(work.data.train),
                width=work.source.config.hidden_size,
                max_seq_length=length,
            )


def read_source(
    path: Path,
    data: "TaskData",
    *,
    checkpoint: "Which | None",
    keep_head: bool,
    say: Say,
) -> Source:
    """The model to start from.

    Args:
        path: Of its folder.
        data: The task.
        checkpoint: Which to take; by default the best of a fine-tuned model, and the
            latest of others.
        keep_head: Whether the head for the task is kept too.
        say: Is told what is passed over.

    Raises:
        AlbertError: It cannot be read.
        SettingError: Its head is to be kept, and it has none for this task.
    """
    with silent_stderr():
        from albert_tf.model.parameters import is_of_encoder
        from albert_tf.runs.run_record import is_tuned
    if is_tuned(path):
        which = checkpoint or "best"
        source = tuned_source(
            path, data, checkpoint=which, keep_head=keep_head, say=say
        )
    elif keep_head:
        raise SettingError(
            f"--keep-head: {path} is not a fine-tuned model; leave it out."
        )
    else:
        source = encoder_source(path, checkpoint=checkpoint or "latest", say=say)
    if keep_head:
        return source
    weights = {name: w for name, w in source.weights.items() if is_of_encoder(name)}
    return source._replace(weights=weights)


def tuned_source(
    path: Path, data: "TaskData", *, checkpoint: "Which", keep_head: bool, say: Say
) -> Source:
    """A fine-tuned model to start from, with its head."""
    with silent_stderr():
        from albert_tf.finetuning.tuned_model import read_tuned
        from albert_tf.runs.run_record import recorded_initializer

    tuned = read_tuned(path, which=checkpoint, say=say)
    record, ours = tuned.record, data.spec
    if keep_head and (record.spec.kind, record.spec.labels) != (ours.kind, ours.labels):
        raise SettingError(
            f"--keep-head: {path} is for {record.spec.kind} with other labels than "
            f"{ours.name}; leave it out."
        )
    return Source(
        tuned.config, tuned.weights, record.max_seq_length, recorded_initializer(path)
    )


def encoder_source(path: Path, *, checkpoint: "Which", say: Say) -> Source:
    """A run, an import or an export to start from, with its heads."""
    with silent_stderr():
        from albert_tf.inference.trained_model import read_external
        from albert_tf.model.run_weights import read_run_weights
        from albert_tf.runs.run_record import recorded_initializer, trained_length

    external = read_external(path, which=checkpoint, needs_head=False)
    if external is not None:
        config, weights, _ = external
        return Source(config, weights, trained_length(path, config), "range")
    config, weights, _ = read_run_weights(path, which=checkpoint, say=say)
    length = trained_length(path, config)
    return Source(config, weights, length, recorded_initializer(path))


def make_job(
    data: "TaskData",
    source: Source,
    settings: FineTuneConfig,
    *,
    tokenizer: "Tokenizer",
    run: Path,
    console: Console,
) -> "TuningJob":
    """All that is to be done, with the examples encoded.

    Raises:
        SettingError: Sequences are longer than the model takes.
    """
    with silent_stderr():
        from albert_tf.finetuning.tuned_model import TaskRecord
        from albert_tf.finetuning.tuning_job import TuningJob
    from cli.support.task_data import encoded, say_divided, say_lost, with_targets

    length = sequence_length(data, source, settings, console=console)
    record = TaskRecord.of(data.spec, settings, max_seq_length=length)
    train, held_out = (
        encoded(examples, record, tokenizer=tokenizer)
        for examples in (data.train, data.held_out)
    )
    say_lost(train.rows, longest=length, say=console.say)
    if data.spec.kind == "answer":
        say_divided(train, stride=settings.doc_stride, say=console.say)
    train = with_targets(train)
    config = settings.resolved(
        rows=len(train.rows),
        width=source.config.hidden_size,
        max_seq_length=length,
        options=train.options,
    )
    console.say(
        f"{len(train.rows):,} rows, {config.steps:,} steps of {config.batch_size}, "
        f"learning rate {config.learning_rate:g}."
    )
    return TuningJob(
        spec=data.spec,
        config=config,
        model_config=source.config,
        source=source.weights,
        train=train,
        held_out=held_out,
        run=run,
        initializer=source.initializer,
    )


def sequence_length(
    data: "TaskData", source: Source, settings: FineTuneConfig, *, console: Console
) -> int:
    """Tokens in a sequence: as was asked for, else the task's, if the model reads them.

    Raises:
        SettingError: More were asked for than the model takes.
    """
    longest = source.config.max_position_embeddings
    asked = settings.max_seq_length
    if asked is None:
        return min(data.spec.max_seq_length, source.max_seq_length)
    if asked > longest:
        raise SettingError(
            f"--max-seq-length {asked} is more than the {longest} positions of the "
            "model; give less."
        )
    if asked > source.max_seq_length:
        console.say(
            f"The model was trained on sequences of at most {source.max_seq_length} "
            f"tokens: the positions from there to {asked} were never trained."
        )
    return asked


def identity(
    job: "TuningJob", *, tests: dict[str, list[TaskExample]]
) -> dict[str, Any]:
    """What decides the result: a run goes on only with the same."""
    from albert_tf.runs.checkpoints import arrays_sha256

    deciding = {
        field.name: getattr(job.config, field.name)
        for field in dataclasses.fields(job.config)
        if field.metadata["changes_result"]
    }
    return {
        **deciding,
        "initializer": job.initializer,
        "task": [job.spec.kind, *job.spec.metrics],
        "labels": list(job.spec.labels),
        "model": [
            arrays_sha256(job.source),
            parts_sha256(dataclasses.astuple(job.model_config)),
        ],
        "train": rows_sha256(job.train),
        "eval": rows_sha256(job.held_out),
        "test": {name: tests_sha256(examples) for name, examples in tests.items()},
    }


def rows_sha256(given: "TaskRows") -> str:
    """A hash of examples as they are read."""
    return parts_sha256((r.example, r.sequences, r.target) for r in given.rows)


def tests_sha256(examples: Iterable[TaskExample]) -> str:
    """A hash of examples to predict, wherever their file lies."""
    return parts_sha256(dataclasses.replace(each, place="") for each in examples)


def parts_sha256(parts: Iterable[object]) -> str:
    """A hash of values, each as Python writes it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def train_and_predict(job: "TuningJob", work: Work, *, console: Console) -> None:
    """Train in a folder that is claimed, predict the test files, say what came out."""
    with silent_stderr():
        from albert_tf.finetuning.finetune import finetune
    from albert_tf.finetuning.task_worth import measures_table, verdict

    def predict_tests(tuned: "TunedModel") -> None:
        for name, examples in work.data.tests.items():
            text = test_predictions(
                tuned, examples, name=name, tokenizer=work.tokenizer
            )
            write_text(job.run / TEST_PREDICTIONS / name, text)

    with console:
        result = finetune(
            job,
            vocabulary=work.vocabulary,
            progress=console,
            guesses=work.guesses,
            before_end=predict_tests,
        )
    console.say(f"On {result['examples']:,} held-out examples:")
    for line in (*text_lines(measures_table(result)), *verdict(result)):
        console.say(line)
    console.say(
        f"{job.run}: finished; its best checkpoint is of step {result['step']:,}"
    )


def say_next(run: Path, *, console: Console) -> None:
    """Say what a fine-tuned model is for."""
    console.say(f"Next:  albert predict {run} --input FILE")
    console.say(f"       albert export {run} --to hf --output {run}-hf")


def test_predictions(
    tuned: "TunedModel",
    examples: list[TaskExample],
    *,
    name: str,
    tokenizer: "Tokenizer",
) -> str:
    """Predictions as the site of a task takes them, else as JSON lines."""
    from albert_tf.finetuning.finetune import predicted, prediction_lines
    from albert_tf.finetuning.task_outputs import shown
    from cli.support.task_data import encoded
    from pipeline.tasks.submissions import submission_text

    record = tuned.record
    outputs = predicted(tuned, encoded(examples, record, tokenizer=tokenizer))
    if name not in record.spec.submissions:
        return prediction_lines(
            record.spec, examples, outputs, threshold=record.threshold
        )
    key = {"classify": "label", "regress": "score"}.get(record.spec.kind, "answer")
    values = [
        shown(record.spec, example, output, threshold=record.threshold)[key]
        for example, output in zip(examples, outputs, strict=True)
    ]
    return submission_text(record.spec, examples, values)
