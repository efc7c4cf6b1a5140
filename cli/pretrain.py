"""`albert pretrain`: TFRecords to a trained ALBERT."""

import dataclasses
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cli import output_folder
from cli.architecture import model_options, resolve_model
from cli.console import Console, silent_stderr
from cli.options import common_options, config_options, settings_line, take_config
from schemas.config import ModelConfig, TrainConfig
from schemas.layout import MODEL_CONFIG
from schemas.manifest import DatasetManifest, read_manifest
from schemas.presets import PRESETS

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?|(\d+)")


class Duration(click.ParamType[float]):
    """A time such as 90, 90s, 30m or 1h30m, in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds of a time."""
        if isinstance(value, int | float):
            return float(value)
        found = _DURATION.fullmatch(value)
        if not value or not found:
            self.fail(f"{value!r} is no time; write 90s, 30m or 1h30m.", param, ctx)
        hours, minutes, seconds, bare = (int(part or 0) for part in found.groups())
        return float(3600 * hours + 60 * minutes + seconds + bare)


@click.command(
    epilog="Example:  albert pretrain --data data --output run --model tiny "
    "--batch-size 32 --steps 300"
)
@click.option(
    "--data",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Data set made by albert make-data.",
)
@model_options
@config_options(TrainConfig)
@click.option(
    "--init-from",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="RUN",
    help="Start from the weights of another run or an import, with its architecture "
    "unless --model says otherwise.",
)
@click.option(
    "--max-time",
    type=Duration(),
    help="Stop and save after so long, such as 90s, 30m or 1h30m.",
)
@common_options
def pretrain(
    data: Path,
    model: str,
    overrides: tuple[str, ...],
    init_from: Path | None,
    max_time: float | None,
    output: Path,
    overwrite: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Train an ALBERT on a data set, or continue a run.

    Stops at the last step, after --max-time, or at Ctrl-C; the same command goes on
    where it stopped.
    """
    console = Console(quiet=quiet)
    values.pop("debug")
    config = take_config(TrainConfig, values)
    manifest = read_manifest(data)
    paths: dict[str, Any] = {"data": data, "output": output, "init_from": init_from}
    with silent_stderr():
        from albert_tf.checkpoints import has_checkpoint
        from albert_tf.train import check_run
        from albert_tf.train import pretrain as train
    # A run that goes on has its weights; where they once came from may be gone.
    goes_on = has_checkpoint(output) and not overwrite
    if init_from is not None and not is_given("model"):
        model = model_of(output if goes_on else init_from)
    architecture = resolve_model(model, overrides, manifest)
    check_run(architecture, config, **paths | ({"init_from": None} if goes_on else {}))
    for line in notes(config):
        console.say(line)
    settings = {
        "data": os.path.abspath(data),
        "model": model if model in PRESETS else os.path.abspath(model),
        "overrides": list(overrides),
        **dataclasses.asdict(config),
        "init_from": os.path.abspath(init_from) if init_from else None,
        "max_time": max_time,
    }
    with output_folder.claim(
        output,
        output_folder.PRETRAIN,
        settings=settings,
        identity=identity(architecture, config.resolved(), manifest)
        | {"init_from": settings["init_from"]},
        overwrite=overwrite,
    ) as finished:
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return
        result = train(architecture, config, **paths, max_seconds=max_time, quiet=quiet)
    say_end(result, output, console, steps=config.steps)


def is_given(name: str) -> bool:
    """Whether a flag of the running command, or its --config, says something."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT


def model_of(run: Path) -> str:
    """What --model would have to be for the architecture of a run.

    Raises:
        AlbertError: It is no run.
    """
    from albert_tf.trained_model import run_config

    run_config(run)
    return str(run / MODEL_CONFIG)


def notes(config: TrainConfig) -> Iterator[str]:
    """What to say before training: derived settings, and an untypical batch."""
    from albert_tf.schedule import peak_learning_rate

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


def identity(
    architecture: ModelConfig, config: TrainConfig, manifest: DatasetManifest
) -> dict[str, Any]:
    """What decides the weights; a run continues only if all of it is the same."""
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


def say_end(result: Any, output: Path, console: Console, *, steps: int) -> None:
    """The line at the end, and the exit code of a signal."""
    if result.finished:
        console.say(f"{output}: finished, {result.step:,} steps")
    else:
        console.say(
            f"{output}: stopped ({result.reason}) after {result.step:,} of {steps:,} "
            "steps; the same command continues."
        )
    codes = {"interrupted": 130, "terminated": 143}
    if result.reason in codes:
        raise click.exceptions.Exit(codes[result.reason])
