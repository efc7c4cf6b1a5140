"""What a run of `albert pretrain` resolves to, and what `config.json` says of it."""

import dataclasses
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.support.architecture import resolve_model
from cli.support.budget import as_begun_for_budget, asked_for_budget
from cli.support.console import Console, silent_stderr
from cli.support.options import from_anywhere
from cli.support.output_folder import Footprint, Identity
from cli.support.recipes import Asked, useful
from schemas.config import ModelConfig, TrainConfig
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
from schemas.manifest import DatasetManifest, read_manifest
from schemas.presets import PRESETS

if TYPE_CHECKING:
    from albert_tf.hosts.hosts import Hosts
    from albert_tf.training.run import ResolvedRun


def resolve(
    asked: Asked, *, goes_on: bool, hosts: "Hosts", console: Console
) -> "tuple[Asked, ResolvedRun]":
    """Decide everything that flags leave open; nothing is written yet.

    Args:
        goes_on: Whether the run was begun before.
        console: Told what a budget was spent on.

    Returns:
        What was asked, completed by recipe, budget and the beginning of the run, and
        what it resolves to.
    """
    with silent_stderr():
        from albert_tf.training.run import check_data
    manifest = read_manifest(asked.data)
    check_data(manifest, data=asked.data)
    run_of = functools.partial(
        checked_run, manifest=manifest, goes_on=goes_on, hosts=hosts
    )
    asked = fitting(asked, manifest)
    if asked.init_from is not None and not asked.is_model_given:
        model = model_of(asked.output if goes_on else asked.init_from)
        asked = dataclasses.replace(asked, model=model, is_model_given=True)
    if asked.budget is not None and goes_on:
        asked = as_begun_for_budget(asked)
    elif asked.budget is not None:
        asked = asked_for_budget(
            asked,
            manifest=manifest,
            check=functools.partial(run_of, asked),
            console=console,
        )
    if goes_on:
        asked = as_begun(asked)
    asked = dataclasses.replace(
        asked, length_before=trained_before(asked, goes_on=goes_on)
    )
    return asked, run_of(asked, architecture_of(asked, manifest))


def checked_run(
    asked: Asked,
    architecture: ModelConfig,
    *,
    manifest: DatasetManifest,
    goes_on: bool,
    hosts: "Hosts",
) -> "ResolvedRun":
    """The run of an architecture, refused if it cannot be trained."""
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
        hosts=hosts,
    )
    check_run(run)
    return run


def fitting(asked: Asked, manifest: DatasetManifest) -> Asked:
    """The same without those settings of the recipe that have no use here."""
    kept = useful(
        asked.recipe,
        has_documents=manifest.has_documents,
        begins_anew=asked.init_from is None,
    )
    left_out = {
        name: getattr(TrainConfig, name)
        for name in asked.recipe
        if name not in kept and name not in asked.given
    }
    return asked.with_settings(left_out)


def model_of(run: Path) -> str:
    """The value of --model that gives the architecture of a run."""
    from albert_tf.runs.run_record import run_config

    run_config(run)
    return str(run / MODEL_CONFIG)


def as_begun(asked: Asked) -> Asked:
    """The settings given, completed by those of the run that they continue."""
    from albert_tf.runs.run_record import recorded_settings, recorded_training
    from albert_tf.training.schedule import continued

    recorded = recorded_settings(asked.output)
    config = continued(asked.config, recorded_training(asked.output, recorded))
    return dataclasses.replace(asked, config=config, record=recorded.get(BUDGET_RECORD))


def architecture_of(asked: Asked, manifest: DatasetManifest) -> ModelConfig:
    """The architecture that is asked for, of which the data decide a part."""
    from albert_tf.data.data_check import manifests_of

    made_first, *_ = manifests_of(asked.config, manifest)
    return resolve_model(asked.model, asked.overrides, made_first)


def trained_before(asked: Asked, *, goes_on: bool) -> int | None:
    """Tokens in the longest sequences that first weights were trained on, if any."""
    from albert_tf.runs.run_record import (
        recorded_settings,
        run_config,
        trained_length,
    )

    if goes_on:
        found: int | None = recorded_settings(asked.output).get(LENGTH_BEFORE)
        return found
    if asked.init_from is None:
        return None
    return trained_length(asked.init_from, run_config(asked.init_from))


def settings_of(asked: Asked) -> dict[str, Any]:
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


def identity_of(asked: Asked, run: "ResolvedRun") -> dict[str, Any]:
    """The settings that decide the weights: a run continues only with the same."""
    training = {
        field.name: getattr(run.config, field.name)
        for field in dataclasses.fields(run.config)
        if field.metadata["changes_result"]
    }
    return {
        **training,
        "model": _changed(dataclasses.asdict(run.model_config)),
        "data": run.manifest.fingerprint,
        "init_from": asked.init_from and os.path.abspath(asked.init_from),
    }


def _changed(model: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was changed, so that a run goes on under a version with more fields."""
    default = dataclasses.asdict(ModelConfig())
    return {name: value for name, value in model.items() if value != default[name]}


def has_all_steps(folder: Path | str, identity: Identity) -> bool:
    """Whether the newest checkpoint of a run is its last."""
    from albert_tf.runs.run_record import finished_step

    step = finished_step(Path(folder))
    return step is not None and step >= int(identity["steps"])


def check_new_steps(folder: Path | str, before: Identity, now: Identity) -> None:
    """Refuse other steps of a run that has done too many of the ones it has."""
    from albert_tf.training.schedule import check_steps_may_change

    given = {field.name: field.default for field in dataclasses.fields(TrainConfig)}
    old, new = (
        TrainConfig(**{name: identity.get(name, given[name]) for name in given})
        for identity in (before, now)
    )
    check_steps_may_change(Path(folder), old, new)


PRETRAIN = Footprint(
    "pretrain",
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
    defaults=dataclasses.asdict(TrainConfig()),
    changeable=("steps", "cooldown_share", "micro_batch_size"),
    check_change=check_new_steps,
    remedy="give another --output (--init-from takes this run's weights along), or "
    "--overwrite to start over",
)
