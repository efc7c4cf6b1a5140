"""`albert pretrain`: TFRecords to a trained ALBERT."""

import dataclasses
import functools
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from cli import STARTED
from cli.support import output_folder
from cli.support.architecture import model_options, resolve_model
from cli.support.budget import BUDGET_RECORD, Asked, asked_for_budget
from cli.support.console import Console, silent_stderr
from cli.support.data_folder import DataFolder, data_here
from cli.support.options import (
    Duration,
    UserPath,
    budget_option,
    common_options,
    config_options,
    fitting_recipe,
    is_given,
    recipe_option,
    settings_line,
    take_config,
)
from schemas.config import ModelConfig, TrainConfig
from schemas.layout import MODEL_CONFIG, TRAIN
from schemas.manifest import DatasetManifest, read_manifest
from schemas.presets import PRESETS, RECIPES

if TYPE_CHECKING:
    from albert_tf.runs.checkpoints import Which
    from albert_tf.training.train import TrainResult
    from pipeline.vocabulary.tokenizer import Tokenizer


@click.command(
    epilog="Example:  albert pretrain --data data --output run --model tiny "
    "--batch-size 32 --steps 300"
)
@click.option(
    "--data",
    required=True,
    type=DataFolder(file_okay=False),
    help="Data set made by albert make-data, here or on storage such as "
    "s3://bucket/data, from where it is copied first.",
)
@model_options
@recipe_option(
    RECIPES,
    default="paper",
    help="ALBERT's, or those that make most of a few hours on a small machine.",
)
@budget_option
@config_options(TrainConfig)
@click.option(
    "--init-from",
    type=UserPath(file_okay=False, path_type=Path),
    metavar="RUN",
    help="Start from the weights of another run or an import, with its architecture "
    "unless --model says otherwise.",
)
@click.option(
    "--keep-optimizer",
    is_flag=True,
    help="Take the optimizer state and the steps of the run of --init-from along too, "
    "and go on with the schedule after them: on data of another length, or with other "
    "--steps.",
)
@click.option(
    "--init-checkpoint",
    type=click.Choice(["latest", "best"]),
    default="latest",
    show_default=True,
    help="Of the run of --init-from: its newest weights, or those with the least "
    "held-out loss.",
)
@click.option(
    "--max-time",
    type=Duration(),
    help="Stop and save so long after the command was entered, such as 90s, 30m or "
    "1h30m; the first step is done in any case.",
)
@common_options
def pretrain(
    data: Path | str,
    model: str,
    overrides: tuple[str, ...],
    init_from: Path | None,
    keep_optimizer: bool,
    init_checkpoint: "Which",
    max_time: float | None,
    budget: float | None,
    output: Path,
    overwrite: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Train an ALBERT on a data set, or continue a run.

    Stops at the last step, after --max-time, or at Ctrl-C; the same command goes on
    where it stopped. It may then have another --micro-batch-size, which changes only
    rounding and what dropout leaves out.
    """
    from pipeline.dataset.verification import load_vocabulary

    console = Console(quiet=quiet)
    values.pop("debug")
    folder = data_here(data, console)
    manifest = read_manifest(folder)
    config = fitting_recipe(
        take_config(TrainConfig, values), has_documents=manifest.has_documents
    )
    asked = Asked(model, overrides, config, {})
    if budget is not None:
        asked = asked_for_budget(
            budget,
            asked,
            data=folder,
            manifest=manifest,
            output=output,
            overwrite=overwrite,
            console=console,
        )
    model, overrides, config, record = asked
    if not overwrite:
        config = as_begun(config, output)
    paths = Paths(
        data=folder,
        output=output,
        init_from=init_from,
        keep_optimizer=keep_optimizer,
        init_checkpoint=init_checkpoint,
    )
    model, architecture = checked_model(
        model, overrides, config, manifest=manifest, paths=paths, overwrite=overwrite
    )
    for line in [*notes(config), *epochs_note(config, manifest)]:
        console.say(line)
    source = os.path.abspath(init_from) if init_from else None
    settings = {
        "data": data if isinstance(data, str) else os.path.abspath(data),
        "model": model if model in PRESETS else os.path.abspath(model),
        "overrides": list(overrides),
        **dataclasses.asdict(config),
        "init_from": source,
        "keep_optimizer": keep_optimizer,
        "init_checkpoint": init_checkpoint,
        "max_time": max_time,
    } | ({BUDGET_RECORD: record} if record else {})
    with output_folder.claim(
        output,
        output_folder.PRETRAIN,
        settings=settings,
        identity=identity(architecture, config.resolved(), manifest)
        | {
            "init_from": source,
            "keep_optimizer": keep_optimizer,
            "init_checkpoint": init_checkpoint,
        },
        overwrite=overwrite,
    ) as finished:
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return
        result = train(
            architecture,
            config,
            paths=paths,
            vocabulary=load_vocabulary(folder, manifest),
            max_time=max_time,
            console=console,
        )
    say_end(result, paths, console, steps=config.steps)


class Paths(TypedDict):
    """Where a run reads and writes, as `pretrain` and `check_run` take it."""

    data: Path
    output: Path
    init_from: Path | None
    keep_optimizer: bool
    init_checkpoint: "Which"


def as_begun(config: TrainConfig, run: Path) -> TrainConfig:
    """The settings given, completed by those of a run that they continue, if they do.

    Raises:
        AlbertError: The settings of the run cannot be read.
    """
    from albert_tf.runs.checkpoints import has_checkpoint
    from albert_tf.runs.run_record import recorded_settings, recorded_training
    from albert_tf.training.continuation import continued

    if not has_checkpoint(run):
        return config
    return continued(config, recorded_training(run, recorded_settings(run)))


def checked_model(
    model: str,
    overrides: tuple[str, ...],
    config: TrainConfig,
    *,
    manifest: DatasetManifest,
    paths: Paths,
    overwrite: bool,
) -> tuple[str, ModelConfig]:
    """The model of a run, as a value of --model, and its architecture.

    Raises:
        AlbertError: The run cannot work; nothing was written yet.
    """
    with silent_stderr():
        from albert_tf.data.data_check import manifests_of
        from albert_tf.runs.checkpoints import has_checkpoint
        from albert_tf.training.train import check_run
    init_from, output = paths["init_from"], paths["output"]
    goes_on = has_checkpoint(output) and not overwrite
    if init_from is not None and not is_given("model"):
        model = model_of(output if goes_on else init_from)
    made_first, *_ = manifests_of(config, manifest)
    architecture = resolve_model(model, overrides, made_first)
    # A run that goes on has its weights; where they once came from may be gone.
    check_run(
        architecture,
        config,
        data=paths["data"],
        output=output,
        init_from=None if goes_on else init_from,
        keep_optimizer=paths["keep_optimizer"] and not goes_on,
        init_checkpoint=paths["init_checkpoint"],
    )
    return model, architecture


def train(
    architecture: ModelConfig,
    config: TrainConfig,
    *,
    paths: Paths,
    vocabulary: "Tokenizer",
    max_time: float | None,
    console: Console,
) -> "TrainResult":
    """Train in a folder that is claimed, as long as the command may take."""
    from albert_tf.evaluation.training_words import TrainingWords
    from albert_tf.training.train import pretrain

    max_seconds = None
    if max_time is not None:
        # It counts from when the command was entered.
        max_seconds = max_time - (time.monotonic() - STARTED)
    with console:
        return pretrain(
            architecture,
            config,
            **paths,
            max_seconds=max_seconds,
            progress=console,
            words_of=functools.partial(TrainingWords, vocabulary=vocabulary),
        )


def model_of(run: Path) -> str:
    """The value of --model that gives the architecture of a run.

    Raises:
        AlbertError: The folder is not a run.
    """
    from albert_tf.runs.run_record import run_config

    run_config(run)
    return str(run / MODEL_CONFIG)


def notes(config: TrainConfig) -> Iterator[str]:
    """What to say before training: derived settings, and a rate that does not fit."""
    from albert_tf.training.schedule import peak_learning_rate

    resolved = config.resolved()
    derived = {
        field.name: getattr(resolved, field.name)
        for field in dataclasses.fields(resolved)
        if getattr(config, field.name) is None
        and getattr(resolved, field.name) is not None
    }
    if derived:
        yield f"derived: {settings_line(derived)}"
    paper = TrainConfig()
    is_given = config.scale_lr_to_batch or config.learning_rate != paper.learning_rate
    if config.batch_size != paper.batch_size and not is_given:
        scaled = peak_learning_rate(dataclasses.replace(config, scale_lr_to_batch=True))
        yield (
            f"The learning rate {paper.learning_rate} is meant for batches of "
            f"{paper.batch_size}; the square-root rule gives {scaled:.2g} for "
            f"{config.batch_size} (--scale-lr-to-batch)."
        )


def epochs_note(config: TrainConfig, manifest: DatasetManifest) -> Iterator[str]:
    """How often a run reads documents, of which it makes no copy twice."""
    epochs = config.steps * config.batch_size / max(1, manifest.num_examples(TRAIN))
    if manifest.has_documents and epochs > 1:
        yield (
            f"The run reads its text {epochs:,.1f} times, each time divided and masked "
            "differently."
        )


def next_steps(run: Path, *, data: Path) -> list[str]:
    """What a trained model is good for, as commands to type.

    >>> for line in next_steps(Path("my run"), data=Path("data")):
    ...     print(line)
    Next:  albert evaluate 'my run' --data data
           albert fill-mask 'my run' 'A sentence with a [MASK] in it.'
           albert export 'my run' --to hf --output 'my run-hf'
    """
    folder, export = (shlex.quote(str(path)) for path in (run, f"{run}-hf"))
    return [
        f"Next:  albert evaluate {folder} --data {shlex.quote(str(data))}",
        f"       albert fill-mask {folder} 'A sentence with a [MASK] in it.'",
        f"       albert export {folder} --to hf --output {export}",
    ]


def identity(
    architecture: ModelConfig, config: TrainConfig, manifest: DatasetManifest
) -> dict[str, Any]:
    """The settings that decide the weights: a run continues only with the same."""
    training = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.metadata["changes_result"]
    }
    # Only what was changed, so that a run goes on under a version with a field more.
    default = dataclasses.asdict(ModelConfig())
    model = dataclasses.asdict(architecture).items()
    return {
        **training,
        "model": {name: value for name, value in model if value != default[name]},
        "data": manifest.fingerprint,
    }


def say_end(
    result: "TrainResult", paths: Paths, console: Console, *, steps: int
) -> None:
    """The lines at the end, and the exit code of a signal."""
    output = paths["output"]
    if result.finished:
        console.say(f"{output}: finished, {result.step:,} steps")
        for line in next_steps(output, data=paths["data"]):
            console.say(line)
    else:
        console.say(
            f"{output}: stopped ({result.reason}) after {result.step:,} of {steps:,} "
            "steps; the same command continues."
        )
    codes = {"interrupted": 130, "terminated": 143}
    if result.reason in codes:
        raise click.exceptions.Exit(codes[result.reason])
