"""What a run of `albert pretrain` is to be, and what `config.json` says of it."""

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.support.architecture import resolve_model
from cli.support.budget import Asked, as_begun_for_budget, asked_for_budget
from cli.support.console import Console, silent_stderr
from cli.support.options import from_anywhere
from cli.support.recipes import fitting_recipe
from schemas.config import ModelConfig, TrainConfig
from schemas.layout import BUDGET_RECORD, LENGTH_BEFORE, MODEL_CONFIG
from schemas.manifest import DatasetManifest, read_manifest
from schemas.presets import PRESETS

if TYPE_CHECKING:
    from albert_tf.hosts.hosts import Hosts
    from albert_tf.training.job import Job


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folders:
    """The folders that a run reads and writes.

    Attributes:
        data: The data set, on this machine.
        data_as_given: The same as it was typed, here or on a storage.
        output: The run.
        init_from: The run whose weights it starts from.
    """

    data: Path
    data_as_given: str
    output: Path
    init_from: Path | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run of which everything is decided.

    Attributes:
        asked: All settings.
        architecture: Of its model.
        manifest: Of its data.
        folders: Where it reads and writes.
        max_time: How long a command may take, in seconds.
        length_before: Tokens in the longest sequences that its first weights were
            trained on, if they were.
    """

    asked: Asked
    architecture: ModelConfig
    manifest: DatasetManifest
    folders: Folders
    max_time: float | None
    length_before: int | None

    def with_config(self, config: TrainConfig) -> "PlannedRun":
        """The same with other settings of the training."""
        asked = self.asked._replace(config=config)
        return dataclasses.replace(self, asked=asked)

    def job(self, hosts: "Hosts") -> "Job":
        """The training of it."""
        with silent_stderr():
            from albert_tf.training.job import Job
        return Job(
            model_config=self.architecture,
            config=self.asked.config.resolved(),
            manifest=self.manifest,
            data=self.folders.data,
            run=self.folders.output,
            init_from=self.folders.init_from,
            starts_trained=self.folders.init_from is not None,
            hosts=hosts,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, as `config.json` has them."""
        model = self.asked.model
        settings = {
            "data": from_anywhere(self.folders.data_as_given),
            "model": model if model in PRESETS else os.path.abspath(model),
            "overrides": list(self.asked.overrides),
            **dataclasses.asdict(self.asked.config),
            "init_from": absolute(self.folders.init_from),
            "max_time": self.max_time,
        }
        more = {BUDGET_RECORD: self.asked.record, LENGTH_BEFORE: self.length_before}
        return settings | {name: value for name, value in more.items() if value}

    @property
    def identity(self) -> dict[str, Any]:
        """Those that decide the weights: a run continues only with the same."""
        config = self.asked.config.resolved()
        training = {
            field.name: getattr(config, field.name)
            for field in dataclasses.fields(config)
            if field.metadata["changes_result"]
        }
        # Only what was changed, so that a run goes on under a version with a field
        # more.
        default = dataclasses.asdict(ModelConfig())
        model = dataclasses.asdict(self.architecture).items()
        return {
            **training,
            "model": {name: value for name, value in model if value != default[name]},
            "data": self.manifest.fingerprint,
            "init_from": absolute(self.folders.init_from),
        }


def absolute(path: Path | None) -> str | None:
    """A folder as `config.json` has it."""
    return None if path is None else os.path.abspath(path)


def planned_run(
    asked: Asked,
    folders: Folders,
    *,
    budget: float | None,
    max_time: float | None,
    goes_on: bool,
    console: Console,
) -> PlannedRun:
    """Decide what a run is to be.

    Args:
        asked: What the flags say.
        folders: Where to read and write.
        budget: In seconds, if the model is to be chosen for it.
        max_time: In seconds.
        goes_on: Whether the run was begun before.
        console: Told what a budget was spent on.

    Raises:
        AlbertError: The run cannot work; nothing was written yet.
    """
    manifest = read_manifest(folders.data)
    asked = completed(
        asked,
        folders,
        manifest=manifest,
        budget=budget,
        goes_on=goes_on,
        console=console,
    )
    plan = PlannedRun(
        asked=asked,
        architecture=architecture_of(asked, manifest),
        manifest=manifest,
        folders=folders,
        max_time=max_time,
        length_before=trained_before(folders, goes_on=goes_on),
    )
    check_can_work(plan, goes_on=goes_on)
    return plan


def completed(
    asked: Asked,
    folders: Folders,
    *,
    manifest: DatasetManifest,
    budget: float | None,
    goes_on: bool,
    console: Console,
) -> Asked:
    """The flags, once recipe, budget and the beginning of a run have had their say.

    Raises:
        AlbertError: A run cannot be read, or was begun for another budget.
    """
    begins_anew = folders.init_from is None
    config = fitting_recipe(
        asked.config, has_documents=manifest.has_documents, begins_anew=begins_anew
    )
    asked = asked._replace(config=config)
    if folders.init_from is not None and not asked.is_model_given:
        model = model_of(folders.output if goes_on else folders.init_from)
        asked = asked._replace(model=model, is_model_given=True)
    if budget is not None and goes_on:
        asked = as_begun_for_budget(folders.output, budget, asked)
    elif budget is not None:
        asked = asked_for_budget(
            budget,
            asked,
            data=folders.data,
            manifest=manifest,
            begins_anew=begins_anew,
            check=lambda architecture: check_can_work(
                PlannedRun(
                    asked=asked,
                    architecture=architecture,
                    manifest=manifest,
                    folders=folders,
                    max_time=None,
                    length_before=None,
                ),
                goes_on=False,
            ),
            console=console,
        )
    return as_begun(asked, folders.output) if goes_on else asked


def model_of(run: Path) -> str:
    """The value of --model that gives the architecture of a run.

    Raises:
        AlbertError: The folder is not a run.
    """
    from albert_tf.runs.run_record import run_config

    run_config(run)
    return str(run / MODEL_CONFIG)


def as_begun(asked: Asked, run: Path) -> Asked:
    """The settings given, completed by what is recorded of the run that they continue.

    Raises:
        AlbertError: The settings of the run cannot be read.
    """
    from albert_tf.runs.run_record import recorded_settings, recorded_training
    from albert_tf.training.continuation import continued

    recorded = recorded_settings(run)
    config = continued(asked.config, recorded_training(run, recorded))
    return asked._replace(config=config, record=recorded.get(BUDGET_RECORD))


def architecture_of(asked: Asked, manifest: DatasetManifest) -> ModelConfig:
    """The architecture that is asked for, of which the data decide a part.

    Raises:
        AlbertError: The model cannot be read, or a setting is not valid.
    """
    from albert_tf.data.data_check import manifests_of

    made_first, *_ = manifests_of(asked.config, manifest)
    return resolve_model(asked.model, asked.overrides, made_first)


def trained_before(folders: Folders, *, goes_on: bool) -> int | None:
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
        found: int | None = recorded_settings(folders.output).get(LENGTH_BEFORE)
        return found
    if folders.init_from is None:
        return None
    return trained_length(folders.init_from, run_config(folders.init_from))


def check_can_work(plan: PlannedRun, *, goes_on: bool) -> None:
    """Refuse a run that cannot work; nothing was written yet.

    Raises:
        AlbertError: Names what does not fit and the remedy.
    """
    from albert_tf.hosts.hosts import ONE_HOST

    with silent_stderr():
        from albert_tf.training.run_check import check_run
    job = plan.job(ONE_HOST)
    # A run that goes on has its weights; where they once came from may be gone.
    check_run(dataclasses.replace(job, init_from=None) if goes_on else job)
