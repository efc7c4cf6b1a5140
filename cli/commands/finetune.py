"""`albert finetune`: a trained encoder and labelled examples to a model of a task."""

import dataclasses
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support import output_folder
from cli.support.console import Console, silent_stderr
from cli.support.footprints import FINETUNE
from cli.support.options import (
    UserPath,
    column_options,
    common_options,
    config_options,
    from_anywhere,
    is_given,
    take_config,
)
from cli.support.recipes import is_of_recipe, recipe_option
from cli.support.task_identity import identity
from cli.support.trained_model import (
    Start,
    check_sizes,
    checkpoint_option,
    read_start,
    vocabulary_for_text,
)
from schemas.config import flag_name
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
    from albert_tf.finetuning.tuning_job import TuningJob
    from albert_tf.model.trained_model import TrainedModel
    from albert_tf.runs.checkpoints import Which
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for, before anything is read.

    Attributes:
        model: The folder of the model to start from.
        start: What of it is taken.
        task: A kind, or the name of a task.
        files: Those that are named.
        folder: Of a task, for files that are not named.
        columns: Those that are named.
        planned: The runs, one or several.
        output: The folder to write, of one run or of all.
        overwrite: Whether earlier results are removed first.
    """

    model: Path
    start: Start
    task: str
    files: "TaskPaths"
    folder: str | None
    columns: Columns
    planned: "list[Variant]"
    output: Path
    overwrite: bool

    @property
    def is_single(self) -> bool:
        """Whether one run is asked for, in a folder of no others."""
        return len(self.planned) == 1

    def folder_of(self, variant: "Variant") -> Path:
        """Where a run is written."""
        return self.output if self.is_single else self.output / variant.folder

    def recorded(self) -> dict[str, Any]:
        """The flags that are no settings of training, for the record of a run."""
        named = self.files._asdict().items()
        return {
            "model": os.path.abspath(self.model),
            "task": self.task,
            **{name: [*map(from_anywhere, paths)] for name, paths in named},
            "data": from_anywhere(self.folder) if self.folder else None,
            "text_column": self.columns.text,
            "pair_column": self.columns.pair,
            "label_column": self.columns.label,
            **dataclasses.asdict(self.start),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
    """What all runs of a request have in common.

    Attributes:
        request: What is asked for.
        data: The examples.
        source: What is started from.
        tokenizer: Its vocabulary.
        guesses: What guessing says of the held-out examples, measured once.
    """

    request: Request
    data: "TaskData"
    source: "TrainedModel"
    tokenizer: "Tokenizer"
    guesses: "Callable[[], Guesses]"


@click.command(
    epilog="Example:  albert finetune run --task classify --train reviews.csv --output "
    "tuned"
)
@click.argument("model", type=UserPath(path_type=Path))
@click.option(
    "--task",
    required=True,
    metavar="KIND|NAME",
    help="classify, multilabel, regress, choose, answer or tag; or a named task, such "
    "as sst-2, squad or c3, whose labels, measures and length are built in.",
)
@click.option("--train", **_FILES, help="Examples to train on; repeatable.")
@click.option(
    "--eval",
    "evaluation",
    **_FILES,
    help="Examples to choose the best checkpoint by; repeatable  [default: a tenth of "
    "the training examples]",
)
@click.option("--test", **_FILES, help="Examples to predict at the end; repeatable.")
@click.option(
    "--data",
    type=UserPath(file_okay=False),
    help="Folder with the training, evaluation and test files of a task.",
)
@column_options("text", "pair", "label")
@click.option(
    "--from-scratch",
    is_flag=True,
    help="Take the architecture and vocabulary of MODEL, but start from new weights, "
    "drawn as its first ones were: shows what pretraining is worth.",
)
@click.option(
    "--keep-head",
    is_flag=True,
    help="Keep the head of MODEL too, which must be a fine-tuned model with the same "
    "labels.",
)
@click.option(
    "--runs",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Train this many times, each time with the next seed, in folders run-1, run-2 "
    "and so on; reports median, least and most.",
)
@click.option(
    "--sweep",
    multiple=True,
    metavar="SETTING=A,B,..",
    help="Train with each of these values, such as learning_rate=1e-5,3e-5; if "
    "repeated, with all combinations.",
)
@checkpoint_option
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
    CSV, JSON lines or parquet, or in a format that tasks are published in: SQuAD's
    JSON, RACE, C3, CoNLL. Columns are recognised by their names and reported. The
    checkpoint that does best on --eval is kept and compared with guessing; the same
    command continues where it was stopped.
    """
    from cli.support.task_data import TaskPaths

    request = Request(
        model=model,
        start=Start(
            from_scratch=from_scratch, keep_head=keep_head, checkpoint=checkpoint
        ),
        task=task,
        files=TaskPaths(train, evaluation, test),
        folder=data,
        columns=Columns(text=text_column, pair=pair_column, label=label_column),
        planned=planned_runs(values, sweep, runs=runs),
        output=output,
        overwrite=overwrite,
    )
    console = Console(quiet=quiet)
    work = prepared(request, console=console)
    if request.is_single:
        best = one_run(work, request.planned[0], console=console)
    else:
        best = many_runs(work, console=console)
    say_next(best, console=console)


def planned_runs(
    values: dict[str, Any], sweep: tuple[str, ...], *, runs: int
) -> "list[Variant]":
    """The runs that are asked for; epochs win over the steps that a recipe has.

    Args:
        values: Of all flags; those of settings are taken out.
        sweep: Settings with several values.
        runs: How many seeds.

    Raises:
        SettingError: A value breaks a rule.
    """
    from albert_tf.finetuning.repeated_runs import swept_field, variants

    if is_given("epochs") or "epochs" in map(swept_field, sweep):
        of_length = filter(is_of_recipe, ("steps", "warmup_steps"))
        values |= dict.fromkeys(of_length, None)
    return variants(take_config(FineTuneConfig, values), sweep, runs=runs)


def prepared(request: Request, *, console: Console) -> Work:
    """What a request needs, read and checked.

    Raises:
        SettingError: Flags do not go together, or not with the task or the model.
        AlbertError: A file cannot be read.
    """
    from cli.support.task_data import paths_of, read_task, with_columns
    from pipeline.tasks.named_tasks import task_called

    model = request.model
    spec = with_columns(task_called(request.task), request.columns)
    check_request(request, kind=spec.kind)
    paths = paths_of(request.files, folder=request.folder, spec=spec)
    tokenizer = vocabulary_for_text(model, say=console.say)
    data = read_task(paths, spec, say=console.say)
    source = read_start(model, data.spec, start=request.start, say=console.say)
    check_sizes(tokenizer, source.config, path=model)
    return Work(
        request=request,
        data=data,
        source=source,
        tokenizer=tokenizer,
        guesses=guesses_of(data, console=console),
    )


def check_request(request: Request, *, kind: Kind) -> None:
    """Refuse runs that cannot work, before anything is read.

    Raises:
        SettingError: Names the flag.
    """
    for variant in request.planned:
        folder = request.folder_of(variant)
        output_folder.check_is_not(
            folder, request.model, what="the model to start from"
        )
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


def guesses_of(data: "TaskData", *, console: Console) -> "Callable[[], Guesses]":
    """What guessing says of the held-out examples, measured when first asked."""

    @functools.cache
    def measured() -> "Guesses":
        from albert_tf.finetuning.baselines import baselines_of

        console.say("Measuring what guessing and words alone give.")
        return baselines_of(data.spec, data.train, data.held_out)

    return measured


def many_runs(work: Work, *, console: Console) -> Path:
    """Train each in a folder of its own, and write what came out of all.

    Returns:
        The folder of the best.

    Raises:
        SettingError: The folder holds something else.
    """
    from albert_tf.finetuning.repeated_runs import settings_table, summary

    folder, planned = work.request.output, work.request.planned
    if (folder / CONFIG).exists() or (folder / TASK).exists():
        what = "a fine-tuned model" if (folder / TASK).exists() else "another output"
        raise SettingError(
            f"--output: {folder} holds {what}; give another folder for several models."
        )
    check_planned(work)
    for number, variant in enumerate(planned, start=1):
        console.say(f"Run {number} of {len(planned)}: {variant.folder}")
        one_run(work, variant, console=console)
    results = [read_json(folder / v.folder / TASK_EVALUATION) for v in planned]
    found = summary(planned, results)
    write_json(folder / TASK_RUNS, found)
    table = settings_table(found)
    console.say(f"{table.title}:")
    for line in text_lines(table):
        console.say(line)
    best: str = found["settings"][0]["best"]
    return folder / best


def check_planned(work: Work) -> None:
    """Refuse several runs if one of them could not begin, before the first does.

    Raises:
        SettingError: Says what does not fit.
    """
    for variant in work.request.planned:
        length = sequence_length(work, variant.config, say=lambda line: None)
        if variant.config.steps is not None:
            variant.config.resolved(
                rows=len(work.data.train),
                width=work.source.config.hidden_size,
                max_seq_length=length,
            )


def one_run(work: Work, variant: "Variant", *, console: Console) -> Path:
    """Train in the folder of a run, or say that it is finished; the folder."""
    request, run = work.request, work.request.folder_of(variant)
    job = make_job(work, variant.config, run=run, say=console.say)
    with output_folder.claim(
        run,
        FINETUNE,
        settings={**request.recorded(), **dataclasses.asdict(variant.config)},
        identity=identity(job, tests=work.data.tests),
        overwrite=request.overwrite,
    ) as finished:
        if finished:
            console.say(f"{run} is finished already; nothing to do.")
            return run
        if not request.is_single:
            # It describes runs that no longer exist, or do not exist yet.
            (request.output / TASK_RUNS).unlink(missing_ok=True)
        train_and_predict(job, work, console=console)
    return run


def make_job(
    work: Work, settings: FineTuneConfig, *, run: Path, say: Say
) -> "TuningJob":
    """All that is to be done, with the examples encoded.

    Raises:
        SettingError: Sequences are longer than the model takes.
    """
    with silent_stderr():
        from albert_tf.finetuning.tuning_job import TuningJob
        from albert_tf.runs.task_record import TaskRecord
    from cli.support.task_data import encoded, say_divided, say_lost, with_targets

    data, source = work.data, work.source
    length = sequence_length(work, settings, say=say)
    record = TaskRecord.of(data.spec, settings, max_seq_length=length)
    train, held_out = (
        encoded(examples, record, tokenizer=work.tokenizer)
        for examples in (data.train, data.held_out)
    )
    say_lost(train, record, say=say)
    if data.spec.kind == "answer":
        say_divided(train, stride=settings.doc_stride, say=say)
    train = with_targets(train)
    config = settings.resolved(
        rows=len(train.rows),
        width=source.config.hidden_size,
        max_seq_length=length,
        options=train.options,
    )
    say(
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
        trained_length=source.max_seq_length if source.weights else 0,
    )


def sequence_length(work: Work, settings: FineTuneConfig, *, say: Say) -> int:
    """Tokens in a sequence: as was asked for, else the task's, if the model reads them.

    Raises:
        SettingError: More were asked for than the model takes.
    """
    source, asked = work.source, settings.max_seq_length
    longest = source.config.max_position_embeddings
    if asked is None:
        return min(work.data.spec.max_seq_length, source.max_seq_length)
    if asked > longest:
        raise SettingError(
            f"--max-seq-length {asked} is more than the {longest} positions of the "
            "model; give less."
        )
    if asked > source.max_seq_length:
        say(
            f"The model was trained on sequences of at most {source.max_seq_length} "
            f"tokens: the positions from there to {asked} were never trained."
        )
    return asked


def train_and_predict(job: "TuningJob", work: Work, *, console: Console) -> None:
    """Train in a folder that is claimed, predict the test files, say what came out."""
    with silent_stderr():
        from albert_tf.finetuning.finetune import finetune
    from albert_tf.finetuning.task_worth import measures_table, verdict

    def predict_tests(tuned: "TrainedModel") -> None:
        for name, examples in work.data.tests.items():
            text = test_predictions(
                tuned, examples, name=name, tokenizer=work.tokenizer
            )
            write_text(job.run / TEST_PREDICTIONS / name, text)

    with console:
        result = finetune(
            job,
            vocabulary=vocabulary_file(work.request.model),
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
    tuned: "TrainedModel",
    examples: list[TaskExample],
    *,
    name: str,
    tokenizer: "Tokenizer",
) -> str:
    """Predictions as the site of a task takes them, else as JSON lines."""
    from albert_tf.finetuning.finetune import predicted, prediction_lines
    from albert_tf.tasks.kinds import task_of
    from cli.support.task_data import encoded
    from pipeline.tasks.named_tasks import submission_text

    record = tuned.record
    outputs = predicted(tuned, encoded(examples, record, tokenizer=tokenizer))
    if name not in record.spec.submissions:
        return prediction_lines(
            record.spec, examples, outputs, threshold=record.threshold
        )
    key = {"classify": "label", "regress": "score"}.get(record.spec.kind, "answer")
    task = task_of(record.spec)
    values = [
        task.shown(example, output, threshold=record.threshold)[key]
        for example, output in zip(examples, outputs, strict=True)
    ]
    return submission_text(record.spec, examples, values)
