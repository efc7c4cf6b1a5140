"""`albert pretrain`: TFRecords to a trained ALBERT."""

import dataclasses
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import STARTED
from cli.support import output_folder, several_hosts
from cli.support.architecture import model_options
from cli.support.budget import Asked, check_beside_budget
from cli.support.console import Console, silent_stderr
from cli.support.data_folder import DataFolder, data_here
from cli.support.footprints import PRETRAIN
from cli.support.options import (
    Duration,
    UserPath,
    common_options,
    config_options,
    is_given,
    is_typed,
    settings_line,
    take_config,
)
from cli.support.planned_run import Folders, PlannedRun, planned_run
from cli.support.recipes import budget_option, recipe_option
from cli.support.several_hosts import host_options
from cli.support.trained_model import plain_vocabulary
from schemas.config import ModelConfig, TrainConfig, config_from_dict, flag_name
from schemas.errors import AlbertError, SettingError
from schemas.layout import TRAIN
from schemas.manifest import DatasetManifest, read_manifest
from schemas.presets import BUDGET_RECIPE, RECIPES

if TYPE_CHECKING:
    from albert_tf.hosts.hosts import Hosts
    from albert_tf.training.budget_revision import Deadline
    from albert_tf.training.job import Job
    from albert_tf.training.train import TrainResult


@click.command(
    epilog="Example:  albert pretrain --data data --output run --model tiny "
    "--batch-size 32 --steps 300"
)
@click.option(
    "--data",
    required=True,
    type=DataFolder(file_okay=False),
    help="Data set made by albert make-data, here or on storage such as "
    "s3://bucket/data, which is first copied here.",
)
@model_options
@recipe_option(
    RECIPES,
    default="paper",
    help="ALBERT's, or those that make the most of a few hours on a small machine.",
)
@budget_option(
    help="Choose the model, its number format and its steps for this much time on this "
    f"machine, such as 1h or 24h, with the recipe {BUDGET_RECIPE}: steps of a few "
    "shapes are timed first, and the number of steps is revised during the run. Other "
    "flags are kept as given."
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
    "--max-time",
    type=Duration(),
    help="Save and stop this long after the command was entered, such as 90s, 30m or "
    "1h30m; at least one step is done.",
)
@host_options
@common_options
def pretrain(
    data: Path | str,
    init_from: Path | None,
    coordinator: str | None,
    num_hosts: int | None,
    host_index: int | None,
    output: Path,
    quiet: bool,
    debug: bool,
    **values: Any,
) -> None:
    """Train an ALBERT on a data set, or continue a run.

    Stops at the last step, after --max-time, or at Ctrl-C; the same command continues
    where it stopped. It may then have another --micro-batch-size, which changes only
    rounding and what dropout drops, and other --steps if --schedule allows it.
    """
    from albert_tf.hosts.hosts import host_setting

    place = host_setting(
        coordinator=coordinator, num_hosts=num_hosts, host_index=host_index
    )
    if values["budget"] is not None:
        check_beside_budget(is_several_hosts=place is not None)
    config = take_config(TrainConfig, values)
    check_schedule(config)
    if place is None or place.host_index == 0:
        # Before data are copied from a storage.
        output_folder.check_recognised(output, PRETRAIN)
        output_folder.check_is_not(output, init_from, what="the run to start from")
    folders = Folders(
        data=data_here(data, Console(quiet=quiet)),
        data_as_given=str(data),
        output=output,
        init_from=init_from,
    )
    model, overrides = values.pop("model"), values.pop("overrides")
    asked = Asked(model, overrides, config, is_model_given=is_given("model"))
    with several_hosts.joined(place, debug=debug) as hosts:
        console = Console(quiet=quiet or hosts.index > 0)
        if hosts.index:
            result = follow(
                folders, max_time=values["max_time"], hosts=hosts, console=console
            )
        else:
            result = lead(asked, folders, hosts=hosts, console=console, **values)
    if result is not None:
        say_end(result, folders, console)


def check_schedule(config: TrainConfig) -> None:
    """Refuse a typed flag that is for another schedule.

    Raises:
        SettingError: Names the flag.
    """
    for name in ("constant_steps", "cooldown_share"):
        if config.schedule == "linear" and is_typed(name):
            raise SettingError(
                f"{flag_name(name)} applies only to --schedule constant-cooldown, and "
                "the schedule is linear; give --schedule constant-cooldown, or leave "
                f"{flag_name(name)} out."
            )


def lead(
    asked: Asked,
    folders: Folders,
    *,
    budget: float | None,
    max_time: float | None,
    overwrite: bool,
    hosts: "Hosts",
    console: Console,
) -> "TrainResult | None":
    """Train as the only host, or as the first, which alone has the output.

    Args:
        asked: What the flags say.
        folders: Where to read and write.
        budget: In seconds, if the model is to be chosen for it.
        max_time: In seconds.
        overwrite: Whether to begin again.
        hosts: Those that train together.
        console: Receives every message.

    Returns:
        How it ended; None if there was nothing to do.
    """
    with silent_stderr():
        from albert_tf.runs.checkpoints import has_checkpoint
    output = folders.output
    plan = planned_run(
        asked,
        folders,
        budget=budget,
        max_time=max_time,
        goes_on=has_checkpoint(output) and not overwrite,
        console=console,
    )
    config = plan.asked.config
    for line in [*notes(config), *epochs_note(config, plan.manifest)]:
        console.say(line)
    with output_folder.claim(
        output,
        PRETRAIN,
        settings=plan.settings,
        identity=plan.identity,
        overwrite=overwrite,
    ) as finished:
        tell(plan, is_finished=finished, hosts=hosts)
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return None
        deadline = None if budget is None else deadline_of(plan, budget)
        return train(
            plan.job(hosts), max_time=max_time, deadline=deadline, console=console
        )


def deadline_of(plan: PlannedRun, budget: float) -> "Deadline":
    """When a budget is over, counted from when the command was entered, in seconds.

    Other steps that fill it better are kept in `config.json`.
    """
    with silent_stderr():
        from albert_tf.training.budget_revision import Deadline

    def rewrite(config: TrainConfig) -> None:
        now = plan.with_config(config)
        output_folder.rewrite(
            plan.folders.output,
            PRETRAIN,
            settings=now.settings,
            identity=now.identity,
        )

    return Deadline(STARTED + budget, rewrite)


def tell(plan: PlannedRun, *, is_finished: bool, hosts: "Hosts") -> None:
    """Send the other hosts what is trained; `follow` receives it."""
    from albert_tf.hosts.hosts import shared_value

    said = {
        "model": dataclasses.asdict(plan.architecture),
        "training": dataclasses.asdict(plan.asked.config),
        "data": plan.manifest.fingerprint,
        "starts_trained": plan.folders.init_from is not None,
        "is_finished": is_finished,
    }
    shared_value(said, hosts)


def follow(
    folders: Folders, *, max_time: float | None, hosts: "Hosts", console: Console
) -> "TrainResult | None":
    """Train as another host than the first, with the first one's settings.

    Raises:
        AlbertError: The data set is another one than that of the first host.
    """
    with silent_stderr():
        from albert_tf.training.job import Job
    from albert_tf.hosts.hosts import shared_value

    told = shared_value(None, hosts)
    manifest = read_manifest(folders.data)
    if manifest.fingerprint != told["data"]:
        raise AlbertError(
            f"{folders.data} of host {hosts.index} is another data set than that of "
            "host 0; give all hosts the same."
        )
    if told["is_finished"]:
        return None
    job = Job(
        model_config=config_from_dict(ModelConfig, told["model"]),
        config=config_from_dict(TrainConfig, told["training"]).resolved(),
        manifest=manifest,
        data=folders.data,
        run=folders.output,
        starts_trained=told["starts_trained"],
        hosts=hosts,
    )
    return train(job, max_time=max_time, console=console)


def train(
    job: "Job",
    *,
    max_time: float | None,
    deadline: "Deadline | None" = None,
    console: Console,
) -> "TrainResult":
    """Train in a folder that is claimed, as long as the command may take.

    Args:
        job: What to do, without the words that evaluations ask about.
        max_time: In seconds from when the command was entered.
        deadline: When the last step is to be done.
        console: Shows how it goes.
    """
    with silent_stderr():
        from albert_tf.training.train import pretrain
    from pipeline.dataset.contents import load_vocabulary

    vocabulary = load_vocabulary(job.data, job.manifest)
    max_seconds = None
    if max_time is not None:
        max_seconds = max_time - (time.monotonic() - STARTED)
    with console:
        return pretrain(
            dataclasses.replace(job, vocabulary=plain_vocabulary(vocabulary)),
            max_seconds=max_seconds,
            deadline=deadline,
            progress=console,
        )


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
    """How often a run reads its documents, each time as a new copy."""
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


def say_end(result: "TrainResult", folders: Folders, console: Console) -> None:
    """The lines at the end, and the exit code of a signal."""
    output = folders.output
    if result.finished:
        console.say(f"{output}: finished, {result.step:,} steps")
        for line in next_steps(output, data=folders.data):
            console.say(line)
    else:
        console.say(
            f"{output}: stopped ({result.reason}) after {result.step:,} of "
            f"{result.steps:,} steps; the same command continues."
        )
    codes = {"interrupted": 130, "terminated": 143}
    if result.reason in codes:
        raise click.exceptions.Exit(codes[result.reason])
