"""What is asked of a run: --model and --set, --recipe and --budget, its settings."""

import dataclasses
import importlib.metadata
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from cli.support.console import Console
from cli.support.options import UNCHECKED, Command, is_given, is_typed, offered, stacked
from schemas.architecture import PRESETS, ModelConfig
from schemas.config import (
    OF_FIRST_WEIGHTS,
    TrainConfig,
    check_names_and_types,
    config_from_dict,
    plain_type,
)
from schemas.errors import SettingError
from schemas.files import Values, read_json
from schemas.manifest import DatasetManifest
from schemas.phases import SETTINGS

# Fields that only models of other programs have other values of.
_OF_IMPORTS = ("inner_group_num", "type_vocab_size", "embedding_projection")

# Settings other than the defaults; docs/reproducing.md measures `small-budget`.
RECIPES: dict[str, Values] = {
    "paper": {},
    "small-budget": {
        "batch_size": 32,
        "optimizer": "muon",
        "bias_correction": True,
        "learning_rate": 0.002,
        "schedule": "constant-cooldown",
        "constant_steps": 1000,
        "sampled_softmax": True,
        "initializer": "positional-heads",
        "unigram_bias": True,
        "pmi_embeddings": True,
        # Constant up to the cooldown: until then no step depends on how many follow.
        "masked_lm_prob": "0.40:0.8,0.40..0.15",
        "kept_share": "0.3",
        "masked_words": "by-rarity:0.8,alike",
    },
}

# The one that --budget begins with.
BUDGET_RECIPE = "small-budget"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked of a run.

    Attributes:
        is_model_given: Whether the model was asked for, by --model or by --init-from.
        overrides: Values of --set.
        config: The settings of training, by flags, file and recipe.
        given: The names of those that flags or the file have, and not the recipe alone.
        data: The data set, on this machine.
        data_as_given: The same as it was typed, here or on a storage.
        budget: In seconds, if the model is to be chosen for it.
        max_time: How long the command may take, in seconds.
        started: When the command was entered, in seconds of `time.monotonic`.
        may_be_long: Whether a run of more than a week needs no question: with --yes, or where
            its time is said.
        record: What config.json keeps of a choice; None where nothing was chosen.
        length_before: Tokens in the longest sequences that the first weights were
            trained on, if they were.
    """

    model: str
    is_model_given: bool
    overrides: tuple[str, ...]
    config: TrainConfig
    given: frozenset[str] = frozenset()
    recipe: Values = dataclasses.field(default_factory=dict)
    data: Path
    data_as_given: str = ""
    output: Path = Path()
    init_from: Path | None = None
    budget: float | None = None
    max_time: float | None = None
    started: float
    may_be_long: bool = False
    record: Values | None = None
    length_before: int | None = None


# The flags --model and --set.
model_options = stacked(
    click.option(
        "--model",
        default="base",
        type=UNCHECKED,
        shell_complete=offered(*PRESETS),
        metavar="|".join(PRESETS) + "|FILE.json",
        help="Architecture.",
    ),
    click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Change a field of the architecture; repeatable.",
    ),
)


def resolve_model(
    model: str, overrides: tuple[str, ...], manifest: DatasetManifest | None
) -> ModelConfig:
    """The architecture asked for, with what follows from the data, if there is any."""
    if model in PRESETS:
        values = dataclasses.asdict(PRESETS[model])
        if manifest is not None:
            values["sentence_task"] = manifest.config.sentence_task
    elif Path(model).is_file():
        values = read_json(model, may_be_pipe=True)
        try:
            check_names_and_types(ModelConfig, values)
        except SettingError as error:
            raise SettingError(f"{model}: {error}") from None
    else:
        raise SettingError(
            f"--model must be one of {', '.join(PRESETS)} or a JSON file, not {model}."
        )
    values_set = dict(parse_override(override) for override in overrides)
    if manifest is not None:
        if "vocab_size" in values_set:
            raise SettingError("--set: vocab_size follows from the data; leave it out.")
        values.setdefault("sentence_task", manifest.config.sentence_task)
        values["vocab_size"] = manifest.vocabulary["size"]
    return config_from_dict(ModelConfig, values | values_set)


def parse_override(override: str) -> tuple[str, Any]:
    """One FIELD=VALUE.

    >>> parse_override("hidden_size=256"), parse_override("hidden-size=256")
    (('hidden_size', 256), ('hidden_size', 256))
    """
    name, equals, text = override.partition("=")
    name = name.replace("-", "_")
    fields = {
        field.name: field
        for field in dataclasses.fields(ModelConfig)
        if field.name not in _OF_IMPORTS
    }
    if not equals or name not in fields:
        raise SettingError(
            f"--set {override!r} is not a field with its value, FIELD=VALUE; the "
            f"fields are {', '.join(fields)}."
        )
    kind = plain_type(fields[name].type)
    try:
        return name, kind(text) if kind in (int, float) else text
    except ValueError:
        raise SettingError(f"--set {name} must be of type {kind.__name__}, not {text!r}.") from None


# The least driver of NVIDIA's for CUDA 13, and where Linux tells the one that it has.
_DRIVER_OF_CUDA_13, _DRIVER = 580, Path("/proc/driver/nvidia/version")


def take_jax(console: Console) -> None:
    """Have JAX compute where it has a plugin for the GPU of this machine, unless somebody chose.

    To be called before Keras is imported. TensorFlow may see the GPU too, and was not
    measured on one.
    """
    is_chosen = bool(os.environ.get("KERAS_BACKEND"))
    from albert_tf import keep_programs
    from albert_tf.planning.cost import accelerators_shown

    if is_chosen or not accelerators_shown():
        return
    installed = {each.name for each in importlib.metadata.distributions()}
    plugins = installed & {"jax-cuda12-plugin", "jax-cuda13-plugin"}
    if not plugins:
        return
    driver = re.search(r"\b(\d{3})\.\d", _DRIVER.read_text()) if _DRIVER.exists() else None
    if plugins == {"jax-cuda13-plugin"} and driver and int(driver[1]) < _DRIVER_OF_CUDA_13:
        console.say(
            f"Note: the driver of this GPU ({driver[1]}) is too old for CUDA 13; install "
            "jax[cuda12] in place of jax[cuda13]."
        )
        return
    os.environ["KERAS_BACKEND"] = "jax"
    keep_programs()
    console.say(
        "JAX computes: it has a plugin for the GPU of this machine "
        "(KERAS_BACKEND=tensorflow has TensorFlow do it)."
    )


def check_beside_budget(recipe: str = BUDGET_RECIPE, *, is_several_hosts: bool = False) -> None:
    """Refuse flags that a budget does not go with, as --steps typed or in a file beside it."""
    if is_typed("steps") or (is_given("steps") and not is_typed("budget")):
        raise SettingError("--budget chooses the steps; leave out one of --budget and --steps.")
    if is_several_hosts:
        raise SettingError(
            "--budget measures one machine and cannot choose for several hosts; leave "
            "it out, or give --num-hosts 1."
        )
    if is_typed("recipe") and recipe != BUDGET_RECIPE:
        raise SettingError(
            f"--budget uses the recipe {BUDGET_RECIPE}; leave out --budget or --recipe {recipe}."
        )


def recipe_option(
    recipes: Mapping[str, Values], *, help: str, default: str | None = None
) -> Callable[[Command], Command]:
    """The flag that names a set of settings."""
    return click.option(
        "--recipe",
        type=click.Choice(list(recipes)),
        default=default,
        help=f"Settings to start from: {help} Other flags and --config win over it.",
    )


def apply_recipe(config_class: type, values: Values, *, recipe: Values) -> frozenset[str]:
    """Give the settings that nothing else decides the values of a recipe.

    Returns:
        The names of those that flags or the file of --config have. A value of the file
        that is the recipe's too counts as the recipe's.
    """
    given = frozenset(
        field.name
        for field in dataclasses.fields(config_class)
        if field.name in values
        and is_given(field.name)
        and (is_typed(field.name) or values[field.name] != recipe.get(field.name))
    )
    values |= {name: value for name, value in recipe.items() if name not in given}
    return given


def useful(recipe: Values, *, has_documents: bool, begins_anew: bool = True) -> Values:
    """The settings of a recipe that have a use.

    >>> useful({"batch_size": 32, "masked_lm_prob": "0.4"}, has_documents=False)
    {'batch_size': 32}
    """
    useless: set[str] = set() if has_documents else set(SETTINGS)
    if not begins_anew:
        useless.update(OF_FIRST_WEIGHTS)
    return {name: value for name, value in recipe.items() if name not in useless}
