"""What was asked of a run of `albert pretrain`, and what it resolves to."""

import dataclasses
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from cli.support.asked import Asked, resolve_model, useful
from cli.support.budget import budget_lines, choose_model, models_to_choose_from
from cli.support.console import Console, silent_stderr
from cli.support.options import flag_time, from_anywhere
from pipeline.storage.output_folder import Footprint, Identity
from schemas.architecture import PRESETS, ModelConfig
from schemas.config import TrainConfig, deciding
from schemas.errors import SettingError
from schemas.files import Values
from schemas.layout import (
    BUDGET_RECORD,
    CHECKPOINT_DIRECTORIES,
    CHECKPOINTS,
    DATA_MANIFEST,
    EVALUATION,
    EVALUATIONS,
    LENGTH_BEFORE,
    METRICS,
    MODEL_CONFIG,
    SPM_MODEL,
    TENSORBOARD,
)
from schemas.manifest import read_manifest

if TYPE_CHECKING:
    from albert_tf.hosts import Hosts
    from albert_tf.training.run import ResolvedRun


def resolve(
    asked: Asked, *, goes_on: bool, hosts: "Hosts", console: Console
) -> "tuple[Asked, ResolvedRun]":
    """Decide everything that flags leave open; nothing is written yet.

    Args:
        goes_on: Whether the run was begun before.

    Returns:
        What was asked, completed by recipe, budget and the beginning of the run, and
        what it resolves to.
    """
    from albert_tf.data.data_check import check_data, manifests_of
    from albert_tf.planning.budget import least_seconds
    from albert_tf.planning.cost import check_duration
    from albert_tf.runs.run_record import run_config, trained_length

    manifest = read_manifest(asked.data)
    check_data(manifest, data=asked.data)
    # Without those settings of the recipe that have no use here.
    kept = useful(
        asked.recipe, has_documents=manifest.has_documents, begins_anew=asked.init_from is None
    )
    left_out = {
        name: getattr(TrainConfig, name)
        for name in asked.recipe
        if name not in kept and name not in asked.given
    }
    asked = dataclasses.replace(asked, config=dataclasses.replace(asked.config, **left_out))
    if asked.init_from is not None and not asked.is_model_given:
        folder = asked.output if goes_on else asked.init_from
        run_config(folder)
        model = str(folder / MODEL_CONFIG)
        asked = dataclasses.replace(asked, model=model, is_model_given=True)

    def run_of(asked: Asked, architecture: ModelConfig) -> "ResolvedRun":
        """The run of an architecture, refused if it cannot be trained."""
        with silent_stderr():
            from albert_tf.training.run import ResolvedRun, check_run

        run = ResolvedRun(
            folder=asked.output,
            model_config=architecture,
            config=asked.config.resolved(),
            data=asked.data,
            manifest=manifest,
            # A run that goes on has its weights; where they came from may be gone.
            init_from=None if goes_on else asked.init_from,
            starts_trained=asked.init_from is not None,
            may_be_long=asked.may_be_long,
            hosts=hosts,
        )
        check_run(run)
        return run

    source = asked.init_from
    if goes_on:
        asked = as_begun(asked)
    elif asked.budget is not None:
        models = models_to_choose_from(asked, manifest)
        # In the fields that are checked all of them are equal.
        run_of(asked, next(iter(models)))
        asked, choice = choose_model(asked, manifest, models, console=console)
        console.say(*budget_lines(choice, begins_anew=source is None))
    if source is not None and not goes_on:
        length = trained_length(source, run_config(source))
        asked = dataclasses.replace(asked, length_before=length)
    # The data decide a part of the architecture.
    made_first, *_ = manifests_of(asked.config, manifest)
    architecture = resolve_model(asked.model, asked.overrides, made_first)
    if not (goes_on or asked.may_be_long) and hosts.number == 1:
        # Before anything that takes long is imported or timed.
        least = least_seconds(architecture, asked.config, manifest)
        check_duration(least, is_alone=True, say=console.say)
    return asked, run_of(asked, architecture)


def as_begun(asked: Asked) -> Asked:
    """The settings given, completed by those of the run that they continue."""
    from albert_tf.runs.run_record import recorded_settings, recorded_training
    from albert_tf.training.optimizers import continued

    recorded = recorded_settings(asked.output)
    begun = recorded_training(asked.output, recorded)
    if asked.budget is not None:
        run, seconds = asked.output, (recorded.get(BUDGET_RECORD) or {}).get("seconds")
        if seconds != asked.budget:
            said = "no --budget" if seconds is None else f"--budget {flag_time(seconds)}"
            raise SettingError(
                f"{run} was begun with {said}; give the same to go on, or begin another "
                "run with its weights: another --output with --init-from "
                f"{shlex.quote(str(run))}."
            )
        # The budget chose the steps, whatever a file of settings says.
        given = {name: getattr(asked.config, name) for name in asked.given - {"steps"}}
        model, overrides = recorded["model"], tuple(recorded["overrides"])
        if asked.is_model_given:
            model, overrides = asked.model, asked.overrides
        asked = dataclasses.replace(
            asked,
            model=model,
            overrides=tuple(dict.fromkeys((*overrides, *asked.overrides))),
            config=dataclasses.replace(begun, **given),
        )
    # Settings that its recipe has got since are not those of the run.
    since = {
        name: getattr(begun, name) for name in asked.recipe if name not in {*recorded, *asked.given}
    }
    return dataclasses.replace(
        asked,
        config=continued(dataclasses.replace(asked.config, **since), begun),
        record=recorded.get(BUDGET_RECORD),
        length_before=recorded.get(LENGTH_BEFORE),
    )


def settings_of(asked: Asked) -> Values:
    """All settings, as `config.json` has them."""
    model = asked.model
    settings = {
        "data": from_anywhere(asked.data_as_given),
        "model": model if model in PRESETS else os.path.abspath(model),
        "overrides": list(asked.overrides),
        **dataclasses.asdict(asked.config),
        "init_from": asked.init_from and os.path.abspath(asked.init_from),
        "max_time": asked.max_time,
    }
    more = {BUDGET_RECORD: asked.record, LENGTH_BEFORE: asked.length_before}
    return settings | {name: value for name, value in more.items() if value}


# What settings were in runs of before they were settings, which go on.
_UNSAID = {"sampled_softmax": False, "kept_share": None, "masked_words": None}


def identity_of(asked: Asked, run: "ResolvedRun") -> Values:
    """The settings that decide the weights: a run continues only with the same."""
    model, settings = dataclasses.asdict(run.model_config), deciding(run.config)
    return {
        **{n: v for n, v in settings.items() if n not in _UNSAID or v != _UNSAID[n]},
        # Only what was changed, so that a run goes on under a version with more fields.
        "model": {n: v for n, v in model.items() if v != getattr(ModelConfig, n)},
        "data": run.manifest.fingerprint,
        "init_from": asked.init_from and os.path.abspath(asked.init_from),
    }


def has_all_steps(folder: Path | str, identity: Identity) -> bool:
    """Whether the newest checkpoint of a run is its last."""
    from albert_tf.runs.run_record import finished_step

    step = finished_step(Path(folder))
    return step is not None and step >= int(identity["steps"])


def check_new_steps(folder: Path | str, before: Identity, now: Identity) -> None:
    """Refuse other steps of a run that has done too many of the ones it has."""
    from albert_tf.training.optimizers import check_steps_may_change

    given = {field.name: field.default for field in dataclasses.fields(TrainConfig)}
    old, new = (
        TrainConfig(**{name: identity.get(name, given[name]) for name in given})
        for identity in (before, now)
    )
    check_steps_may_change(Path(folder), old, new)


PRETRAIN = Footprint(
    "pretrain",
    what="a run",
    writes=(
        SPM_MODEL,
        MODEL_CONFIG,
        DATA_MANIFEST,
        METRICS,
        EVALUATION,
        EVALUATIONS,
        TENSORBOARD,
        CHECKPOINTS,
    ),
    progress=(CHECKPOINT_DIRECTORIES,),
    is_finished=has_all_steps,
    evidence=(METRICS,),
    changeable=("steps", "cooldown_share", "micro_batch_size"),
    check_change=check_new_steps,
    remedy="give another --output (--init-from takes this run's weights along), or "
    "--overwrite to start over",
)
