"""What was asked of a run of `albert pretrain`, and what it resolves to."""

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.support.architecture import parse_override, resolve_model
from cli.support.budget import budget_lines
from cli.support.console import Console, silent_stderr
from cli.support.options import from_anywhere
from cli.support.output_folder import Footprint, Identity
from cli.support.recipes import useful
from schemas.config import ModelConfig, TrainConfig
from schemas.errors import SettingError
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
    from albert_tf.training.budget import BudgetChoice
    from albert_tf.training.run import ResolvedRun

# The preset that the models of a budget are described as changes of.
NEAREST = "tiny"

# What the data decides, so that no flag may.
NEVER_SET = ("vocab_size", "sentence_task")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked of a run.

    Attributes:
        model: Value of --model.
        is_model_given: Whether the model was asked for, by --model or by --init-from.
        overrides: Values of --set.
        config: The settings of training, by flags, file and recipe.
        given: The names of those that flags or the file have, and not the recipe alone.
        recipe: What the recipe says.
        data: The data set, on this machine.
        data_as_given: The same as it was typed, here or on a storage.
        output: The folder of the run.
        init_from: The run whose weights it starts from.
        budget: In seconds, if the model is to be chosen for it.
        max_time: How long the command may take, in seconds.
        started: When the command was entered, in seconds of `time.monotonic`.
        may_be_long: Whether a run of more than a week needs no question: --yes.
        record: What config.json keeps of a choice; None where nothing was chosen.
        length_before: Tokens in the longest sequences that the first weights were
            trained on, if they were.
    """

    model: str
    is_model_given: bool
    overrides: tuple[str, ...]
    config: TrainConfig
    given: frozenset[str] = frozenset()
    recipe: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    data: Path
    data_as_given: str = ""
    output: Path = Path()
    init_from: Path | None = None
    budget: float | None = None
    max_time: float | None = None
    started: float
    may_be_long: bool = False
    record: dict[str, Any] | None = None
    length_before: int | None = None


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
    if goes_on:
        asked = as_begun(asked)
    else:
        asked = as_begins(asked, manifest, check=run_of, console=console)
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
    config = dataclasses.replace(asked.config, **left_out)
    return dataclasses.replace(asked, config=config)


def model_of(run: Path) -> str:
    """The value of --model that gives the architecture of a run."""
    from albert_tf.runs.run_record import run_config

    run_config(run)
    return str(run / MODEL_CONFIG)


def architecture_of(asked: Asked, manifest: DatasetManifest) -> ModelConfig:
    """The architecture that is asked for, of which the data decide a part."""
    from albert_tf.data.data_check import manifests_of

    made_first, *_ = manifests_of(asked.config, manifest)
    return resolve_model(asked.model, asked.overrides, made_first)


def as_begins(
    asked: Asked,
    manifest: DatasetManifest,
    *,
    check: Callable[[Asked, ModelConfig], object],
    console: Console,
) -> Asked:
    """A new run: what a budget chooses, and how long the sequences before it were.

    Args:
        check: As in `choose`.
        console: Told what is chosen.
    """
    from albert_tf.runs.run_record import run_config, trained_length

    if asked.budget is not None:
        asked, choice = choose(asked, manifest, check=check, console=console)
        for line in budget_lines(choice, begins_anew=asked.init_from is None):
            console.say(line)
    source = asked.init_from
    if source is None:
        return asked
    return dataclasses.replace(
        asked, length_before=trained_length(source, run_config(source))
    )


def as_begun(asked: Asked) -> Asked:
    """The settings given, completed by those of the run that they continue."""
    from albert_tf.runs.run_record import recorded_settings, recorded_training
    from albert_tf.training.schedule import continued

    recorded = recorded_settings(asked.output)
    begun = recorded_training(asked.output, recorded)
    if asked.budget is not None:
        asked = as_chosen(asked, begun, recorded)
    return dataclasses.replace(
        asked,
        config=continued(asked.config, begun),
        record=recorded.get(BUDGET_RECORD),
        length_before=recorded.get(LENGTH_BEFORE),
    )


def as_chosen(asked: Asked, begun: TrainConfig, recorded: dict[str, Any]) -> Asked:
    """What a budget chose when a run was begun, except for the flags given now.

    Args:
        begun: The settings of training that the run has.
        recorded: All settings that it has.
    """
    run, seconds = asked.output, (recorded.get(BUDGET_RECORD) or {}).get("seconds")
    if seconds != asked.budget:
        said = "no --budget" if seconds is None else f"--budget {seconds:.0f}s"
        raise SettingError(
            f"{run} was begun with {said}; give the same to go on, or begin another "
            f"run with its weights: another --output with --init-from {run}."
        )
    # The budget chose the steps, whatever a file of settings says.
    given = {name: getattr(asked.config, name) for name in asked.given - {"steps"}}
    model, overrides = recorded["model"], tuple(recorded["overrides"])
    if asked.is_model_given:
        model, overrides = asked.model, asked.overrides
    return dataclasses.replace(
        asked,
        model=model,
        overrides=tuple(dict.fromkeys((*overrides, *asked.overrides))),
        config=dataclasses.replace(begun, **given),
    )


def choose(
    asked: Asked,
    manifest: DatasetManifest,
    *,
    check: Callable[[Asked, ModelConfig], object],
    console: Console,
) -> tuple[Asked, "BudgetChoice"]:
    """Choose what flags do not say, by timing steps on this machine.

    Args:
        check: Called with one candidate before any is timed, to refuse what cannot be
            trained; the fields it checks are equal in all.
        console: Told what is being timed.

    Returns:
        What the run is to be, and what else was considered.
    """
    with silent_stderr():
        from albert_tf.evaluation.counting import loss_of_counting
        from albert_tf.training.budget import (
            check_is_enough,
            choose_for_budget,
            faster_precision,
        )
        from albert_tf.training.run import records_of
    assert asked.budget is not None, "else nothing is chosen"
    models = models_to_choose_from(asked, manifest)
    check(asked, next(iter(models)))
    check_is_enough(asked.started + asked.budget - time.monotonic())
    train = asked.config
    if "precision" not in asked.given:
        train = dataclasses.replace(train, precision=faster_precision())
    console.say("Counting neighbouring tokens ...")
    choice = choose_for_budget(
        list(models),
        train,
        records_of(asked.data, manifest, train),
        counting=loss_of_counting(asked.data, manifest),
        until=asked.started + asked.budget,
        say=console.say,
    )
    chosen = dataclasses.replace(
        models[choice.chosen.config],
        config=choice.train,
        record=record_of(choice, seconds=asked.budget),
    )
    return chosen, choice


def models_to_choose_from(
    asked: Asked, manifest: DatasetManifest
) -> dict[ModelConfig, Asked]:
    """The model asked for, or those of the ladder that what --set says is valid for."""
    from albert_tf.data.data_check import manifests_of
    from albert_tf.training.budget import models_for

    made_first, *others = manifests_of(asked.config, manifest)
    if asked.is_model_given:
        found = [asked]
    else:
        rungs = models_for(
            made_first,
            longest=max(each.config.max_seq_length for each in (made_first, *others)),
            changes=dict(map(parse_override, asked.overrides)),
        )
        found = [
            dataclasses.replace(
                asked,
                model=NEAREST,
                overrides=(*overrides_of(rung), *asked.overrides),
            )
            for rung in rungs
        ]
    return {
        resolve_model(each.model, each.overrides, made_first): each for each in found
    }


def overrides_of(config: ModelConfig) -> tuple[str, ...]:
    """The values of --set that make the nearest preset this architecture.

    >>> overrides_of(dataclasses.replace(PRESETS["tiny"], num_hidden_layers=6))
    ('num_hidden_layers=6',)
    """
    preset = dataclasses.asdict(PRESETS[NEAREST])
    return tuple(
        f"{name}={value}"
        for name, value in dataclasses.asdict(config).items()
        if value != preset[name] and name not in NEVER_SET
    )


def record_of(choice: "BudgetChoice", *, seconds: float) -> dict[str, Any]:
    """What config.json keeps of a choice, for people and for the next command."""
    return {
        "seconds": seconds,
        "loss_of_counting": choice.counting,
        "candidates": [
            {
                "num_hidden_layers": each.config.num_hidden_layers,
                "hidden_size": each.config.hidden_size,
                "step_seconds": each.step_seconds,
                "steps": each.steps,
                "expected_loss": choice.counting and each.loss_share * choice.counting,
                "interval": list(each.interval),
            }
            for each in choice.candidates
        ],
        "chosen": choice.place,
    }


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
    model = dataclasses.asdict(run.model_config)
    return {
        **training,
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
