"""`albert pretrain`: TFRecords to a trained ALBERT."""

import dataclasses
import functools
import os
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import click

from cli import STARTED
from cli.support import output_folder, several_hosts
from cli.support.architecture import model_options, resolve_model
from cli.support.budget import Asked, asked_for_budget, check_beside_budget
from cli.support.console import Console, silent_stderr
from cli.support.data_folder import DataFolder, data_here
from cli.support.footprints import PRETRAIN
from cli.support.options import (
    Duration,
    UserPath,
    budget_option,
    common_options,
    config_options,
    fitting_recipe,
    from_anywhere,
    is_given,
    is_typed,
    recipe_option,
    settings_line,
    take_config,
)
from cli.support.several_hosts import host_options
from schemas.config import ModelConfig, TrainConfig, config_from_dict, flag_name
from schemas.errors import AlbertError, SettingError
from schemas.layout import BUDGET_RECORD, LENGTH_BEFORE, MODEL_CONFIG, TRAIN
from schemas.manifest import DatasetManifest, read_manifest
from schemas.presets import BUDGET_RECIPE, PRESETS, RECIPES

if TYPE_CHECKING:
    from albert_tf.runs.checkpoints import Which
    from albert_tf.training.hosts import Hosts
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
@budget_option(
    help="Choose the model, its number format and its steps for so much time on this "
    f"machine, such as 1h or 24h, with the recipe {BUDGET_RECIPE}: steps of a few "
    "shapes are timed first, and the steps are counted again while it runs. What other "
    "flags say is kept."
)
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
@host_options
@common_options
def pretrain(
    data: Path | str,
    init_from: Path | None,
    keep_optimizer: bool,
    init_checkpoint: "Which",
    coordinator: str | None,
    num_hosts: int | None,
    host_index: int | None,
    output: Path,
    quiet: bool,
    debug: bool,
    **values: Any,
) -> None:
    """Train an ALBERT on a data set, or continue a run.

    Stops at the last step, after --max-time, or at Ctrl-C; the same command goes on
    where it stopped. It may then have another --micro-batch-size, which changes only
    rounding and what dropout leaves out, and other --steps where --schedule allows it.
    """
    from albert_tf.training.host_setting import host_setting

    place = host_setting(
        os.environ,
        coordinator=coordinator,
        num_hosts=num_hosts,
        host_index=host_index,
    )
    if values["budget"] is not None:
        check_beside_budget(
            is_several_hosts=place is not None, keeps_optimizer=keep_optimizer
        )
    if init_checkpoint == "best" and init_from is None:
        raise SettingError(
            "--init-checkpoint best is of another run; name it with --init-from."
        )
    config = take_config(TrainConfig, values)
    check_schedule(config)
    if place is None or place.host_index == 0:
        # Before data are copied from a storage.
        output_folder.check_recognised(output, PRETRAIN)
        output_folder.check_is_not(output, init_from, what="the run to start from")
    paths = Paths(
        data=data_here(data, Console(quiet=quiet)),
        output=output,
        init_from=init_from,
        keep_optimizer=keep_optimizer,
        init_checkpoint=init_checkpoint,
    )
    model, overrides = values.pop("model"), values.pop("overrides")
    asked = Asked(model, overrides, config, is_model_given=is_given("model"))
    with several_hosts.joined(place, debug=debug) as hosts:
        console = Console(quiet=quiet or hosts.index > 0)
        if hosts.index:
            result = follow(
                paths, max_time=values["max_time"], hosts=hosts, console=console
            )
        else:
            result = lead(
                asked, paths, named=str(data), hosts=hosts, console=console, **values
            )
    if result is not None:
        say_end(result, paths, console)


def check_schedule(config: TrainConfig) -> None:
    """Refuse what was typed of another schedule.

    Raises:
        SettingError: Names the flag.
    """
    for name in ("constant_steps", "cooldown_share"):
        if config.schedule == "linear" and is_typed(name):
            raise SettingError(
                f"{flag_name(name)} is of --schedule constant-cooldown, and the "
                "schedule is linear; give that, or leave it out."
            )


class Paths(TypedDict):
    """Where a run reads and writes, as `pretrain` and `check_run` take it."""

    data: Path
    output: Path
    init_from: Path | None
    keep_optimizer: bool
    init_checkpoint: "Which"


def lead(
    asked: Asked,
    paths: Paths,
    *,
    named: str,
    budget: float | None,
    max_time: float | None,
    overwrite: bool,
    hosts: "Hosts",
    console: Console,
) -> "TrainResult | None":
    """Train as the only host, or as the first, which alone has the output.

    Args:
        asked: What the flags say.
        paths: Where to read and write.
        named: The data set, as it was given.
        budget: In seconds, if the model is to be chosen for it.
        max_time: In seconds.
        overwrite: Whether to begin again.
        hosts: Those that train together.
        console: Told everything.

    Returns:
        How it ended; None if there was nothing to do.
    """
    from pipeline.dataset.contents import load_vocabulary

    with silent_stderr():
        from albert_tf.runs.checkpoints import has_checkpoint
    manifest, output = read_manifest(paths["data"]), paths["output"]
    goes_on = has_checkpoint(output) and not overwrite
    asked, architecture = decided(
        asked,
        paths,
        manifest=manifest,
        budget=budget,
        goes_on=goes_on,
        console=console,
    )
    for line in [*notes(asked.config), *epochs_note(asked.config, manifest)]:
        console.say(line)
    described = functools.partial(
        description,
        architecture=architecture,
        paths=paths,
        manifest=manifest,
        named=named,
        max_time=max_time,
        length_before=trained_before(paths, goes_on=goes_on),
    )
    record = described(asked)
    with output_folder.claim(
        output,
        PRETRAIN,
        settings=record["settings"],
        identity=record["identity"],
        overwrite=overwrite,
    ) as finished:
        tell(architecture, asked.config, manifest, is_finished=finished, hosts=hosts)
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return None

        def rewrite(config: TrainConfig) -> None:
            now = described(asked._replace(config=config))
            output_folder.rewrite(output, PRETRAIN, **now)

        return train(
            architecture,
            asked.config,
            paths=paths,
            vocabulary=load_vocabulary(paths["data"], manifest),
            max_time=max_time,
            budget=budget,
            on_new_steps=rewrite,
            hosts=hosts,
            console=console,
        )


def decided(
    asked: Asked,
    paths: Paths,
    *,
    manifest: DatasetManifest,
    budget: float | None,
    goes_on: bool,
    console: Console,
) -> tuple[Asked, ModelConfig]:
    """What a run is to be, once its recipe, budget and beginning have had their say.

    Args:
        asked: What the flags say.
        paths: Where to read and write.
        manifest: Of the data.
        budget: In seconds, if the model is to be chosen for it.
        goes_on: Whether the run was begun before.
        console: Told what a budget was spent on.

    Returns:
        All settings, and the architecture.

    Raises:
        AlbertError: The run cannot work; nothing was written yet.
    """
    output, init_from = paths["output"], paths["init_from"]
    config = fitting_recipe(asked.config, has_documents=manifest.has_documents)
    asked = asked._replace(config=config)
    if init_from is not None and not asked.is_model_given:
        model = model_of(output if goes_on else init_from)
        asked = asked._replace(model=model, is_model_given=True)
    if budget is not None:
        asked = asked_for_budget(
            budget,
            asked,
            data=paths["data"],
            manifest=manifest,
            output=output,
            goes_on=goes_on,
            console=console,
        )
    if goes_on:
        asked = asked._replace(config=as_begun(asked.config, output))
    return asked, checked_model(asked, paths, manifest=manifest, goes_on=goes_on)


def begun_from(paths: Paths) -> dict[str, Any]:
    """What a run was started from, as `config.json` has it."""
    init_from = paths["init_from"]
    return {
        "init_from": os.path.abspath(init_from) if init_from else None,
        "keep_optimizer": paths["keep_optimizer"],
        "init_checkpoint": paths["init_checkpoint"],
    }


def trained_before(paths: Paths, *, goes_on: bool) -> int | None:
    """Tokens in the longest sequences that first weights were trained on, if any were.

    Raises:
        AlbertError: What says it cannot be read.
    """
    from albert_tf.runs.run_record import (
        recorded_settings,
        run_config,
        trained_length,
    )

    if goes_on:
        found: int | None = recorded_settings(paths["output"]).get(LENGTH_BEFORE)
        return found
    source = paths["init_from"]
    return trained_length(source, run_config(source)) if source else None


def description(
    asked: Asked,
    *,
    architecture: ModelConfig,
    paths: Paths,
    manifest: DatasetManifest,
    named: str,
    max_time: float | None,
    length_before: int | None,
) -> dict[str, dict[str, Any]]:
    """A run as `config.json` has it: all settings, and those that decide the weights.

    Args:
        asked: What it is to be.
        architecture: Of its model.
        paths: Where it reads and writes.
        manifest: Of its data.
        named: The data set, as it was given.
        max_time: In seconds.
        length_before: Tokens in the longest sequences that its first weights know.
    """
    model, begun = asked.model, begun_from(paths)
    settings = {
        "data": from_anywhere(named),
        "model": model if model in PRESETS else os.path.abspath(model),
        "overrides": list(asked.overrides),
        **dataclasses.asdict(asked.config),
        **begun,
        "max_time": max_time,
    }
    more = {BUDGET_RECORD: asked.record, LENGTH_BEFORE: length_before}
    settings |= {name: value for name, value in more.items() if value}
    decisive = identity(architecture, asked.config.resolved(), manifest)
    return {"settings": settings, "identity": decisive | begun}


def tell(
    architecture: ModelConfig,
    config: TrainConfig,
    manifest: DatasetManifest,
    *,
    is_finished: bool,
    hosts: "Hosts",
) -> None:
    """Tell other hosts what is trained; `follow` hears it."""
    from albert_tf.training.shared_state import shared_value

    said = {
        "model": dataclasses.asdict(architecture),
        "training": dataclasses.asdict(config),
        "data": manifest.fingerprint,
        "is_finished": is_finished,
    }
    shared_value(said, hosts)


def follow(
    paths: Paths, *, max_time: float | None, hosts: "Hosts", console: Console
) -> "TrainResult | None":
    """Train as another host than the first, with the first one's settings.

    Raises:
        AlbertError: The data set is another one than that of the first host.
    """
    from albert_tf.training.shared_state import shared_value
    from pipeline.dataset.contents import load_vocabulary

    told = shared_value(None, hosts)
    manifest = read_manifest(paths["data"])
    if manifest.fingerprint != told["data"]:
        raise AlbertError(
            f"{paths['data']} of host {hosts.index} is another data set than that of "
            "host 0; give all hosts the same."
        )
    if told["is_finished"]:
        return None
    return train(
        config_from_dict(ModelConfig, told["model"]),
        config_from_dict(TrainConfig, told["training"]),
        paths=paths,
        vocabulary=load_vocabulary(paths["data"], manifest),
        max_time=max_time,
        hosts=hosts,
        console=console,
    )


def as_begun(config: TrainConfig, run: Path) -> TrainConfig:
    """The settings given, completed by those of the run that they continue.

    Raises:
        AlbertError: The settings of the run cannot be read.
    """
    from albert_tf.runs.run_record import recorded_settings, recorded_training
    from albert_tf.training.continuation import continued

    return continued(config, recorded_training(run, recorded_settings(run)))


def checked_model(
    asked: Asked, paths: Paths, *, manifest: DatasetManifest, goes_on: bool
) -> ModelConfig:
    """The architecture of a run.

    Raises:
        AlbertError: The run cannot work; nothing was written yet.
    """
    with silent_stderr():
        from albert_tf.data.data_check import manifests_of
        from albert_tf.training.train import check_run
    made_first, *_ = manifests_of(asked.config, manifest)
    architecture = resolve_model(asked.model, asked.overrides, made_first)
    # A run that goes on has its weights; where they once came from may be gone.
    check_run(
        architecture,
        asked.config,
        data=paths["data"],
        output=paths["output"],
        init_from=None if goes_on else paths["init_from"],
        keep_optimizer=paths["keep_optimizer"] and not goes_on,
        init_checkpoint=paths["init_checkpoint"],
    )
    return architecture


def train(
    architecture: ModelConfig,
    config: TrainConfig,
    *,
    paths: Paths,
    vocabulary: "Tokenizer",
    max_time: float | None,
    budget: float | None = None,
    on_new_steps: Callable[[TrainConfig], None] = lambda config: None,
    hosts: "Hosts",
    console: Console,
) -> "TrainResult":
    """Train in a folder that is claimed, as long as the command may take.

    Both `max_time` and `budget` count from when the command was entered.
    """
    with silent_stderr():
        from albert_tf.evaluation.training_words import TrainingWords
        from albert_tf.training.budget_revision import Deadline
        from albert_tf.training.train import pretrain

    max_seconds = deadline = None
    if max_time is not None:
        max_seconds = max_time - (time.monotonic() - STARTED)
    if budget is not None:
        deadline = Deadline(STARTED + budget, on_new_steps)
    with console:
        return pretrain(
            architecture,
            config,
            **paths,
            max_seconds=max_seconds,
            deadline=deadline,
            progress=console,
            words_of=functools.partial(TrainingWords, vocabulary=vocabulary),
            hosts=hosts,
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


def say_end(result: "TrainResult", paths: Paths, console: Console) -> None:
    """The lines at the end, and the exit code of a signal."""
    output = paths["output"]
    if result.finished:
        console.say(f"{output}: finished, {result.step:,} steps")
        for line in next_steps(output, data=paths["data"]):
            console.say(line)
    else:
        console.say(
            f"{output}: stopped ({result.reason}) after {result.step:,} of "
            f"{result.steps:,} steps; the same command continues."
        )
    codes = {"interrupted": 130, "terminated": 143}
    if result.reason in codes:
        raise click.exceptions.Exit(codes[result.reason])
