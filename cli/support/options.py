"""Flags made from the fields of a config, and the flags that all commands have."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from cli.support.config_file import load_config
from cli.support.parameter_types import Folder, UserPath
from pipeline.core.cores import usable_cores
from schemas.config import flag_name, plain_type

Command = TypeVar("Command", bound=Callable[..., Any])
Config = TypeVar("Config")


def config_options(
    config_class: type, *, only: tuple[str, ...] = ()
) -> Callable[[Command], Command]:
    """One flag for each field of a config, or for some, with its default and help."""

    def decorate(command: Command) -> Command:
        for field in reversed(dataclasses.fields(config_class)):
            if not only or field.name in only:
                command = _field_option(field)(command)
        return command

    return decorate


def _field_option(field: "dataclasses.Field[Any]") -> Callable[[Command], Command]:
    kind = plain_type(field.type)
    choices = get_args(kind)
    name = flag_name(field.name)
    arguments: dict[str, Any] = {
        "default": field.default,
        "help": field.metadata["help"],
        "show_default": field.default is not None,
    }
    if kind is bool:
        return click.option(f"{name}/--no-{name.removeprefix('--')}", **arguments)
    arguments["type"] = click.Choice(choices) if choices else kind
    return click.option(name, **arguments)


def take_config(config_class: type[Config], values: dict[str, Any]) -> Config:
    """Take the fields of a config out of a command's values.

    Raises:
        SettingError: A value breaks a rule.
    """
    names = [field.name for field in dataclasses.fields(config_class)]  # type: ignore[arg-type]
    return config_class(**{name: values.pop(name) for name in names})


def quiet_option(about: str = "Print errors only.") -> Callable[[Command], Command]:
    """The flag --quiet."""
    return click.option("--quiet", is_flag=True, help=about)


def json_option(about: str = "Print one JSON object.") -> Callable[[Command], Command]:
    """The flag --json."""
    return click.option("--json", "as_json", is_flag=True, help=about)


def debug_option(command: Command) -> Command:
    """The flag --debug."""
    about = "Show where an error happened."
    return click.option("--debug", is_flag=True, help=about)(command)


_LOCAL_OUTPUT = click.option(
    "--output", required=True, type=Folder(), help="Folder to write."
)


def common_options(
    command: Command, *, output: Callable[[Command], Command] = _LOCAL_OUTPUT
) -> Command:
    """The flags of every command that writes a folder, and --config."""
    for option in reversed(
        (
            output,
            click.option(
                "--config",
                type=UserPath(dir_okay=False),
                is_eager=True,
                expose_value=False,
                callback=load_config,
                help="JSON file of settings, such as the config.json of an earlier "
                "run; flags win over it.",
            ),
            click.option(
                "--overwrite",
                is_flag=True,
                help="First remove what an earlier run of this command wrote.",
            ),
            quiet_option(),
            debug_option,
        )
    ):
        command = option(command)
    return command


_COLUMNS = {
    "text": "Column of the text, if it is not recognised by its name.",
    "pair": "Column of the second text.",
    "label": "Column of the label.",
}


def column_options(*names: str) -> Callable[[Command], Command]:
    """The flags --text-column and so on of every command that reads a table of a task.

    Args:
        names: Which of `text`, `pair` and `label` there are.
    """

    def add(command: Command) -> Command:
        for name in reversed(names):
            flag, about = f"--{name}-column", _COLUMNS[name]
            command = click.option(flag, metavar="NAME", help=about)(command)
        return command

    return add


def is_given(name: str) -> bool:
    """Whether the command line, or the file of --config, has this flag."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT


def is_typed(name: str) -> bool:
    """Whether the command line has this flag."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def workers_option(command: Command) -> Command:
    """The number of worker processes, which never changes the result."""
    return click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=usable_cores,
        show_default="all cores",
        help="Worker processes; never changes the result.",
    )(command)


def settings_line(values: dict[str, Any]) -> str:
    """Derived values as they are printed.

    >>> settings_line({"num_shards": 8, "language": "en"})
    '--num-shards 8 --language en'
    """
    return " ".join(
        f"{flag_name(name)} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in values.items()
    )
