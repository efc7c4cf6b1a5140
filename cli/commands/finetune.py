"""`albert finetune`: a trained encoder and labelled examples to a model of a task."""

import os
import shlex
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.asked import apply_recipe, recipe_option, take_jax
from cli.support.console import Console, Say, silent_stderr
from cli.support.options import (
    PATH,
    UNCHECKED,
    UserPath,
    column_options,
    common_options,
    config_options,
    from_anywhere,
    max_time_option,
    offered,
    take_config,
)
from cli.support.trained_model import Start, checkpoint_option, read_start
from pipeline.storage import output_folder
from pipeline.storage.output_folder import Footprint, Identity
from pipeline.tasks.named_tasks import NAMED_TASKS, submission_text, task_called
from schemas.config import flag_name
from schemas.errors import SettingError
from schemas.files import Values, write_json, write_text
from schemas.finetune_config import OF_ANSWERS, TASK_RECIPES, FineTuneConfig
from schemas.layout import (
    CHECKPOINT_DIRECTORIES,
    CHECKPOINTS,
    HF_TOKENIZER_CONFIG,
    METRICS,
    MODEL_CARD,
    MODEL_CONFIG,
    SPM_MODEL,
    TASK,
    TASK_EVALUATION,
    TASK_PREDICTIONS,
    TENSORBOARD,
    TEST_PREDICTIONS,
    WORDPIECE,
    vocabulary_file,
)
from schemas.report import text_lines
from schemas.task import KINDS, EncodedExample, Kind, TaskExample, TaskRecord, TaskSpec

if TYPE_CHECKING:
    from albert_tf.finetuning.job import TuningJob
    from albert_tf.model.trained_model import TrainedModel
    from cli.support.task_data import TaskData
    from pipeline.vocabulary.tokenizer import Tokenizer

_FILES: Values = {"multiple": True, "metavar": "FILE", "type": UNCHECKED}


def is_measured(folder: Path | str, identity: Identity) -> bool:
    """Whether a fine-tuned model is there, with all predictions it was asked for."""
    tests = (f"{TEST_PREDICTIONS}/{name}" for name in identity["test"])
    names = (TASK_EVALUATION, *tests)
    return all((Path(folder) / name).exists() for name in names)


FINETUNE = Footprint(
    "finetune",
    what="a fine-tuned model",
    writes=(
        SPM_MODEL,
        WORDPIECE,
        HF_TOKENIZER_CONFIG,
        MODEL_CONFIG,
        TASK,
        METRICS,
        TENSORBOARD,
        CHECKPOINTS,
        TASK_EVALUATION,
        TASK_PREDICTIONS,
        TEST_PREDICTIONS,
        MODEL_CARD,
    ),
    progress=(CHECKPOINT_DIRECTORIES,),
    is_finished=is_measured,
    evidence=(METRICS,),
)

# Texts of a batch from which each is told apart, where --batch-size is not given.
EMBED_BATCH = 128

# Kinds of tasks whose labels may have weights in the loss.
WEIGHED: tuple[Kind, ...] = ("classify", "tag")


@click.command(
    epilog="Example:  albert finetune run --task classify --train reviews.csv --output tuned"
)
@click.argument("model", type=PATH)
@click.option(
    "--task",
    required=True,
    shell_complete=offered(*KINDS, *NAMED_TASKS),
    metavar="KIND|NAME",
    help="classify, multilabel, regress, choose, answer, tag or embed; or a named task, "
    "such as sst-2, squad or c3, whose labels, measures and length are built in.",
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
    help="Folder with the training, evaluation and test files of a task; of embed a data "
    "set, whose documents are cut into pairs of texts.",
)
@column_options("text", "pair", "label", "option")
@click.option(
    "--from-scratch",
    is_flag=True,
    help="Take the architecture and vocabulary of MODEL, but start from new weights, "
    "drawn as its first ones were: shows what pretraining is worth.",
)
@click.option(
    "--keep-head",
    is_flag=True,
    help="Keep the head of MODEL too, which must be a fine-tuned model with the same labels.",
)
@checkpoint_option
@max_time_option
@recipe_option(TASK_RECIPES, help="those of ALBERT's paper for a task (Table 14), for wide models.")
@config_options(FineTuneConfig)
@common_options
def finetune_command(
    model: Path, output: Path, overwrite: bool, console: Console, **values: Any
) -> None:
    """Teach a trained encoder a task.

    MODEL is a run, an import, an export or another fine-tuned model. Files are TSV,
    CSV, JSON lines or parquet, or in a format that tasks are published in: SQuAD's
    JSON, RACE, C3, CoNLL. Columns are recognised by their names and reported. The
    checkpoint that does best on --eval is kept and compared with guessing; the same
    command continues where it was stopped.

    embed learns vectors for texts: from the documents of a data set, or from a table of
    texts that belong together (text, positive, perhaps negative), or of pairs with a
    score.
    """
    started = time.monotonic()
    take_jax(console)
    from cli.support.task_data import identity, read_crops, read_task, task_paths, with_columns
    from pipeline.vocabulary.importing import notes_on, read_vocabulary

    say = console.say
    start, recipe = take_config(Start, values), TASK_RECIPES.get(values.pop("recipe"), {})
    given, task = apply_recipe(FineTuneConfig, values, recipe=recipe), task_called(values["task"])
    if task.kind == "embed" and "batch_size" not in given:
        values["batch_size"] = EMBED_BATCH
    if "epochs" in given:
        # They win over the steps of a recipe.
        values |= dict.fromkeys({"steps", "warmup_steps"} - given)
    settings = take_config(FineTuneConfig, values)
    output_folder.check_is_not(output, model, what="the model to start from")
    spec = with_columns(task, values)
    check_fits_task(settings, spec.kind)
    paths = task_paths(values, spec)
    tokenizer = read_vocabulary(model)
    say(*notes_on(model))
    if paths.train:
        data = read_task(paths, spec, say=say)
    else:
        data = read_crops(Path(values["data"]), spec, length=settings.max_seq_length, say=say)
    with silent_stderr():
        from albert_tf.inference import fitted

    source = fitted(read_start(model, data.spec, start=start, say=say), tokenizer)
    say(*source.notes)
    max_time = values["max_time"]
    max_seconds = None if max_time is None else max_time - (time.monotonic() - started)
    job = make_job(data, settings, source=source, tokenizer=tokenizer, output=output, say=say)
    # The flags that are no settings, good from any folder.
    files = {name: [*map(from_anywhere, values[name])] for name in ("train", "evaluation", "test")}
    folder = values["data"] and from_anywhere(values["data"])
    recorded = {"model": os.path.abspath(model), **values, **files, "data": folder}
    with output_folder.claim(
        output,
        FINETUNE,
        settings=recorded | asdict(start) | asdict(settings),
        identity=identity(job, tests=data.tests),
        overwrite=overwrite,
    ) as finished:
        if finished:
            say(f"{output} is finished already; nothing to do.")
        else:
            is_done = train_and_predict(
                job, data.tests, tokenizer, model=model, max_seconds=max_seconds, console=console
            )
            if not is_done:
                return
    names = (str(output), output_folder.unused(f"{output}-hf"))
    tuned, export = map(shlex.quote, names)
    if spec.kind == "embed":
        say(
            f"Next:  albert embed {tuned} FILE --similar TEXT",
            f"       albert export {tuned} --to sentence-transformers",
        )
        return
    say(
        f"Next:  albert evaluate {tuned} --data FILE",
        f"       albert predict {tuned} --input FILE",
        f"       albert export {tuned} --to hf --output {export}",
    )


def check_fits_task(settings: FineTuneConfig, kind: Kind) -> None:
    """Refuse settings that a kind of task has no use for."""
    for name in OF_ANSWERS:
        value = getattr(settings, name)
        if kind != "answer" and value != getattr(FineTuneConfig, name):
            raise SettingError(
                f"{flag_name(name)} {value} is for answers in passages, and the task "
                f"is {kind}; leave it out."
            )
    if settings.dropout and kind == "embed":
        raise SettingError(
            f"--dropout {settings.dropout} is for other tasks: the vectors of a batch are "
            "computed twice and have to be the same; leave it out."
        )
    if settings.class_weights != "none" and kind not in WEIGHED:
        raise SettingError(
            f"--class-weights {settings.class_weights} is for {' and '.join(WEIGHED)}, "
            f"and the task is {kind}; leave it out."
        )
    if settings.label_smoothing and kind in ("regress", "answer", "embed"):
        raise SettingError(
            f"--label-smoothing divides targets among labels, and the task is {kind}, "
            "which has none; leave it out."
        )


def make_job(
    data: "TaskData",
    settings: FineTuneConfig,
    *,
    source: "TrainedModel",
    tokenizer: "Tokenizer",
    output: Path,
    say: Say,
) -> "TuningJob":
    """All that is to be done, with the examples encoded."""
    with silent_stderr():
        from albert_tf.finetuning.job import TuningJob
    from cli.support.task_data import rows_to_train
    from pipeline.encoding.task_rows import encode_examples

    length = sequence_length(data.spec, source, settings.max_seq_length, say=say)
    trained_length = source.max_seq_length if source.weights else 0
    record = TaskRecord(
        spec=data.spec,
        max_seq_length=length,
        trained_length=max(length, trained_length),
        **{name: getattr(settings, name) for name in OF_ANSWERS},
    )
    held_out = encode_examples(data.held_out, record, tokenizer=tokenizer)
    train = rows_to_train(data.train, record, tokenizer=tokenizer, say=say)
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

    def redraw(number: int, epoch: int) -> EncodedExample:
        assert data.redraw is not None
        drawn = encode_examples([data.redraw(number, epoch)], record, tokenizer=tokenizer)
        return drawn.rows[0]

    return TuningJob(
        record=record,
        config=config,
        source=source,
        train=train,
        held_out=held_out,
        run=output,
        redraw=redraw if data.redraw else None,
    )


def sequence_length(spec: TaskSpec, source: "TrainedModel", asked: int | None, *, say: Say) -> int:
    """Tokens in a sequence: as was asked for, else the task's, if the model reads them.

    Args:
        asked: The value of --max-seq-length, None if it was not given.
    """
    longest = source.config.max_position_embeddings
    if asked is None:
        return min(spec.max_seq_length, source.max_seq_length)
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


def train_and_predict(
    job: "TuningJob",
    tests: dict[str, list[TaskExample]],
    tokenizer: "Tokenizer",
    *,
    model: Path,
    max_seconds: float | None,
    console: Console,
) -> bool:
    """Train in a folder that is claimed, predict the test files, say what came out.

    Returns:
        Whether it is finished, and was not stopped for the time.
    """
    with silent_stderr():
        from albert_tf.finetuning.finetune import finetune
        from albert_tf.finetuning.predictor import Predictor, prediction_lines
    from albert_tf.runs.task_record import measures_table, task_verdict
    from pipeline.encoding.task_rows import encode_examples

    with console:
        done = finetune(
            job, vocabulary=vocabulary_file(model), progress=console, max_seconds=max_seconds
        )
        if done is None:
            return False
        tuned, result = done
        record, spec, predictor = tuned.record, tuned.record.spec, Predictor(tuned)
        key = {"classify": "label", "regress": "score"}.get(spec.kind, "answer")
        for name, examples in tests.items():
            answered = predictor.answers(encode_examples(examples, record, tokenizer=tokenizer))
            # As the site of a task takes them, else as JSON lines.
            if name in spec.submissions:
                values = [shown[key] for shown in answered.shown()]
                text = submission_text(spec, examples, values)
            else:
                text = prediction_lines(answered)
            write_text(job.run / TEST_PREDICTIONS / name, text)
        # Last, because it says that the run is finished.
        write_json(job.run / TASK_EVALUATION, result)
    console.say(f"On {result['examples']:,} held-out examples:")
    console.say(*text_lines(measures_table(result)), *task_verdict(result))
    console.say(f"{job.run}: finished; its best checkpoint is of step {result['step']:,}")
    return True
