"""What is asked of a run: its settings, and its architecture by --model and --set."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from cli.support.options import Command, UserPath
from schemas.architecture import PRESETS, ModelConfig
from schemas.config import TrainConfig
from schemas.errors import SettingError
from schemas.files import read_json
from schemas.manifest import DatasetManifest
from schemas.settings import check_names_and_types, config_from_dict, plain_type

# Fields that only models of other programs have other values of.
_OF_IMPORTS = ("inner_group_num", "type_vocab_size", "embedding_projection")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked of a run.

    Attributes:
        is_model_given: Whether the model was asked for, by --model or by --init-from.
        overrides: Values of --set.
        config: The settings of training, by flags, file and recipe.
        given: The names of those that flags or the file have, and not the recipe alone.
        recipe: What the recipe says.
        data: The data set, on this machine.
        data_as_given: The same as it was typed, here or on a storage.
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


def model_options(command: Command) -> Command:
    """The flags --model and --set."""
    model = click.option(
        "--model",
        default="base",
        show_default=True,
        type=UserPath(readable=False),
        metavar="|".join(PRESETS) + "|FILE.json",
        help="Architecture.",
    )
    overrides = click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Change a field of the architecture; repeatable.",
    )
    return model(overrides(command))


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
        raise SettingError(
            f"--set {name} must be of type {kind.__name__}, not {text!r}."
        ) from None
