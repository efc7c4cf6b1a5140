"""`albert pretrain`: TFRecords to a trained ALBERT."""

import contextlib
import dataclasses
import os
import shlex
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from cli import STARTED
from cli.support.asked import (
    BUDGET_RECIPE,
    RECIPES,
    Asked,
    apply_recipe,
    check_beside_budget,
    model_options,
    recipe_option,
    take_jax,
)
from cli.support.console import Console, is_debugging, silent_stderr, tell
from cli.support.inputs import data_here
from cli.support.options import (
    FOLDER,
    FOLDER_ANYWHERE,
    ByTopic,
    Duration,
    common_options,
    config_options,
    derived_settings,
    is_given,
    is_typed,
    max_time_option,
    take_config,
)
from cli.support.resolve import PRETRAIN, identity_of, resolve, settings_of
from cli.support.trained_model import plain_vocabulary
from pipeline.storage import output_folder
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig, config_from_dict, flag_name
from schemas.errors import AlbertError, SettingError
from schemas.layout import EVAL, METRICS, TRAIN
from schemas.manifest import DatasetManifest, read_manifest
from schemas.readable import in_a_line

if TYPE_CHECKING:
    from albert_tf.hosts import Hosts, HostSetting
    from albert_tf.training.pretraining import TrainResult
    from albert_tf.training.run import ResolvedRun

# The flags by topic, in the order of a person's questions.
TOPICS = {
    "What is read and written": "data output init_from overwrite config",
    "How large and how long": "budget model overrides recipe steps batch_size micro_batch_size "
    "max_time may_be_long",
    "Measuring and saving": "eval_every eval_examples checkpoint_every",
    "Learning rate and optimizer": "learning_rate schedule warmup_steps constant_steps "
    "cooldown_share scale_lr_to_batch optimizer weight_decay beta1 beta2 epsilon "
    "bias_correction clip_norm sampled_softmax",
    "First weights": "initializer unigram_bias pmi_embeddings",
    "Examples made on the fly": "max_seq_length masked_lm_prob kept_share masked_words "
    "sentence_task",
    "Speed and memory": "precision recompute xla",
    "Several hosts": "num_hosts host_index coordinator",
}


@click.command(
    cls=ByTopic,
    topics=TOPICS,
    epilog="Example:  albert pretrain --data data --output run --budget 1h",
)
@click.option(
    "--data",
    required=True,
    type=FOLDER_ANYWHERE,
    help="Data set made by albert make-data, here or on storage such as "
    "s3://bucket/data, which is first copied here.",
)
@model_options
@recipe_option(
    RECIPES,
    default="paper",
    help="ALBERT's, or those that make the most of a few hours on a small machine.",
)
@click.option(
    "--budget",
    type=Duration(),
    help="Choose the model, its number format and its steps for this much time on this "
    f"machine, such as 1h or 24h, with the recipe {BUDGET_RECIPE}: steps of a few "
    "shapes are timed first, and the number of steps is revised during the run. Other "
    "flags are kept as given.",
)
@config_options(TrainConfig)
@click.option(
    "--init-from",
    type=FOLDER,
    metavar="RUN",
    help="Start from the weights of another run or an import, with its architecture "
    "unless --model says otherwise.",
)
@max_time_option
@click.option(
    "--yes", "may_be_long", is_flag=True, help="Start a run even if it would take more than a week."
)
@click.option(
    "--coordinator",
    metavar="HOST:PORT",
    help="Where the first of several hosts listens, on any free port; give all hosts the same.",
)
@click.option(
    "--num-hosts",
    type=int,
    metavar="N",
    help="Train on this many hosts together; 1 for this one alone.  [default: what "
    "JAX finds out from Slurm, Open MPI, a TPU pod or Kubernetes]",
)
@click.option(
    "--host-index",
    type=int,
    metavar="I",
    help="Which of several hosts this is, from 0; only host 0 writes --output.",
)
@common_options
def pretrain_command(
    coordinator: str | None,
    num_hosts: int | None,
    host_index: int | None,
    overwrite: bool,
    console: Console,
    **values: Any,
) -> None:
    """Train an ALBERT on a data set, or continue a run.

    Stops at the last step, after --max-time, at Ctrl-C or a signal to end; the same
    command continues where it stopped. It may then have another --micro-batch-size,
    which changes only rounding and what dropout drops, and other --steps and
    --cooldown-share if --schedule allows it.
    """
    take_jax(console)
    from albert_tf.hosts import host_setting

    place = host_setting(coordinator=coordinator, num_hosts=num_hosts, host_index=host_index)
    named = values.pop("recipe")
    if values["budget"] is not None:
        check_beside_budget(named, is_several_hosts=place is not None)
        named = BUDGET_RECIPE
    values["may_be_long"] |= values["budget"] is not None or values["max_time"] is not None
    recipe = RECIPES[named]
    given = apply_recipe(TrainConfig, values, recipe=recipe)
    config = take_config(TrainConfig, values)
    for name in ("constant_steps", "cooldown_share", "sampled_softmax"):
        is_asked = is_typed(name) and getattr(config, name) is not False
        if config.schedule == "linear" and is_asked:
            raise SettingError(
                f"{flag_name(name)} applies only to --schedule constant-cooldown, and "
                "the schedule is linear; give --schedule constant-cooldown, or leave "
                f"{flag_name(name)} out."
            )
    if place is None or place.host_index == 0:
        # Before data are copied from a storage.
        output, source = values["output"], values["init_from"]
        output_folder.check_recognised(output, PRETRAIN)
        output_folder.check_is_not(output, source, what="the run to start from")
    data = values.pop("data")
    asked = Asked(
        **values,
        is_model_given=is_given("model"),
        config=config,
        given=given,
        recipe=recipe,
        data=data_here(data, console),
        data_as_given=str(data),
        started=STARTED,
    )
    with together(place, debug=is_debugging()) as hosts:
        console = Console(quiet=console.is_quiet or hosts.index > 0)
        if hosts.index:
            result = follow(asked, hosts=hosts, console=console)
        else:
            result = lead(asked, overwrite=overwrite, hosts=hosts, console=console)
    if result is not None:
        say_end(result, asked, console)


@contextlib.contextmanager
def together(place: "HostSetting | None", *, debug: bool) -> "Iterator[Hosts]":
    """Train together with other hosts while the block runs, or alone."""
    if place is None:
        from albert_tf.hosts import ONE_HOST

        yield ONE_HOST
        return
    # Set by albert_tf, which the place comes from.
    if os.environ["KERAS_BACKEND"] != "jax":
        raise SettingError(
            f"Several hosts train together on JAX only: set KERAS_BACKEND=jax on each "
            f"of the {place.num_hosts}, or give --num-hosts 1 to train alone."
        )
    from albert_tf.hosts import joined

    joining = joined(place, say_last=lambda sentence: tell(f"Error: {in_a_line(sentence)}"))
    with contextlib.nullcontext() if debug else _native_silence(), joining as hosts:
        yield hosts


@contextlib.contextmanager
def _native_silence() -> Iterator[None]:
    """Keep what native code writes about connections, made and broken, from people.

    Python's stderr goes on; nothing here writes to stdout.
    """
    before, kept = sys.stderr, [os.dup(1), os.dup(2)]
    with (
        open(kept[1], "w", buffering=1, errors="backslashreplace") as ours,
        open(os.devnull, "w") as nowhere,
    ):
        before.flush()
        sys.stderr = ours
        for descriptor in (1, 2):
            os.dup2(nowhere.fileno(), descriptor)
        try:
            yield
        finally:
            sys.stderr = before
            for descriptor, original in zip((1, 2), kept, strict=True):
                os.dup2(original, descriptor)
            os.close(kept[0])


def lead(
    asked: Asked, *, overwrite: bool, hosts: "Hosts", console: Console
) -> "TrainResult | None":
    """Train as the only host, or as the first, which alone has the output.

    None is returned where there was nothing to do.
    """
    with silent_stderr():
        from albert_tf.hosts import shared_value
        from albert_tf.runs.checkpoints import newest_step
    goes_on = newest_step(asked.output) is not None and not overwrite
    if not (goes_on or overwrite) and (asked.output / METRICS).is_file():
        console.say(
            f"{asked.output} was begun and has no checkpoint yet: it begins again at the first "
            "step."
        )
    asked, run = resolve(asked, goes_on=goes_on, hosts=hosts, console=console)
    with output_folder.claim(
        asked.output,
        PRETRAIN,
        settings=settings_of(asked),
        identity=identity_of(asked, run),
        overwrite=overwrite,
    ) as finished:
        if hosts.number > 1:
            # Which `follow` receives.
            told = {
                "model": dataclasses.asdict(run.model_config),
                "training": dataclasses.asdict(run.config),
                "data": run.manifest.fingerprint,
                "starts_trained": run.starts_trained,
                "is_finished": finished,
            }
            shared_value(told, hosts)
        if finished:
            console.say(f"{asked.output} is finished already; nothing to do.")
            return None
        console.say(*notes_before(asked.config, run.manifest))
        return train(run, asked, console=console)


def follow(asked: Asked, *, hosts: "Hosts", console: Console) -> "TrainResult | None":
    """Train as another host than the first, with the first one's settings."""
    with silent_stderr():
        from albert_tf.data.data_check import check_data
        from albert_tf.hosts import shared_value
        from albert_tf.training.run import ResolvedRun, check_run
    told = shared_value(None, hosts)
    manifest = read_manifest(asked.data)
    if manifest.fingerprint != told["data"]:
        raise AlbertError(
            f"{asked.data} of host {hosts.index} is another data set than that of "
            "host 0; give all hosts the same."
        )
    if told["is_finished"]:
        return None
    run = ResolvedRun(
        folder=asked.output,
        model_config=config_from_dict(ModelConfig, told["model"]),
        config=config_from_dict(TrainConfig, told["training"]).resolved(),
        data=asked.data,
        manifest=manifest,
        starts_trained=told["starts_trained"],
        may_be_long=asked.may_be_long,
        hosts=hosts,
    )
    check_data(manifest, data=asked.data)
    check_run(run)
    return train(run, asked, console=console)


def train(run: "ResolvedRun", asked: Asked, *, console: Console) -> "TrainResult":
    """Train in a folder that is claimed, as long as the command may take."""
    with silent_stderr():
        from albert_tf.training.pretraining import pretrain
    from pipeline.dataset.manifest import load_vocabulary

    vocabulary = plain_vocabulary(load_vocabulary(run.data, run.manifest))
    max_seconds = None
    if asked.max_time is not None:
        max_seconds = asked.max_time - (time.monotonic() - asked.started)
    with console:
        return pretrain(
            dataclasses.replace(run, vocabulary=vocabulary),
            max_seconds=max_seconds,
            deadline=None if asked.budget is None else asked.started + asked.budget,
            progress=console,
        )


def notes_before(config: TrainConfig, manifest: DatasetManifest) -> Iterator[str]:
    """What to say before training.

    Settings that were derived, a rate that does not fit, and how often documents are
    read, each time as a new copy.
    """
    from albert_tf.planning.budget import tokens_of_example
    from albert_tf.training.optimizers import peak_learning_rate

    yield from derived_settings(config, config.resolved())
    paper = TrainConfig()
    is_given = config.scale_lr_to_batch or config.learning_rate != paper.learning_rate
    if config.batch_size != paper.batch_size and not is_given:
        scaled = peak_learning_rate(dataclasses.replace(config, scale_lr_to_batch=True))
        yield (
            f"The learning rate {paper.learning_rate} is meant for batches of "
            f"{paper.batch_size:,}. For small ones there is --recipe {BUDGET_RECIPE}, "
            f"whose rate was measured; --scale-lr-to-batch gives {scaled:.2g} for "
            f"{config.batch_size:,}, by the square-root rule."
        )
    epochs = config.steps * config.batch_size / max(1, manifest.num_examples(TRAIN))
    if epochs and manifest.has_documents:
        # Examples of a training may be shorter than those that were counted.
        epochs *= tokens_of_example(manifest, config) / manifest.statistics["mean_length"]
    if epochs > 1:
        if manifest.has_documents:
            read = "its text", "divided and masked differently"
        else:
            read = "all copies of its data", "with the same masks"
        yield f"The run reads {read[0]} {epochs:,.1f} times, each time {read[1]}."


def say_end(result: "TrainResult", asked: Asked, console: Console) -> None:
    """Say how far the run came, and what to type next; exits with a signal's code."""
    from albert_tf.runs.run_record import recorded_manifest

    output = asked.output
    if result.finished:
        names = (str(output), asked.data_as_given, output_folder.unused(f"{output}-hf"))
        run, data, export = map(shlex.quote, names)
        manifest = recorded_manifest(output)
        has_held_out = manifest is not None and manifest.num_examples(EVAL)
        text = f"--data {data}" if has_held_out else "--text FILE"
        console.say(
            f"{output}: finished, {result.step:,} steps",
            f"Next:  albert evaluate {run} {text}",
            f"       albert fill-mask {run} 'A sentence with a [MASK] in it.'",
            f"       albert report {data} {run}",
            f"       albert finetune {run} --task classify --train FILE --output tuned",
            f"       albert export {run} --to hf --output {export}",
        )
    else:
        console.say(
            f"{output}: stopped ({result.reason}) after {result.step:,} of "
            f"{result.steps:,} steps; the same command continues."
        )
    codes = {"interrupted": 130, "terminated": 143}
    if result.reason in codes:
        raise click.exceptions.Exit(codes[result.reason])
