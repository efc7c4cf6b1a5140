"""Flags made from the fields of a config, and the flags that all commands have."""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from cli.console import Console
from pipeline.files import is_remote
from pipeline.formats import FORMATS, KINDS
from schemas.config import flag_name, plain_type
from schemas.errors import SettingError
from schemas.json_file import read_json

if TYPE_CHECKING:
    from pipeline.input_file import InputFile

Command = TypeVar("Command", bound=Callable[..., Any])
Config = TypeVar("Config")

# Keys of a written config.json that are no settings.
RECORD_KEYS = ("command", "albert_version", "identity", "environment")


# The flags for raw text that are no paths.
INPUT_OPTIONS = ("language", "input_format", "text_key")


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


def input_options(command: Command) -> Command:
    """The flags for raw text."""
    paths: dict[str, Any] = {"multiple": True, "metavar": "PATH"}
    for option in reversed(
        (
            click.option(
                "--wikipedia",
                **paths,
                help="MediaWiki dump as downloaded, wikiextractor output, or articles "
                "as JSON lines or parquet. Files, folders, globs; repeatable.",
            ),
            click.option(
                "--books",
                **paths,
                help="Books, one a file, plain or from Gutenberg; BookCorpus' files; "
                "JSON lines or parquet.",
            ),
            click.option(
                "--text",
                **paths,
                help="Any other text: one sentence a line with a blank line between "
                "documents, running prose, JSON lines or parquet.",
            ),
            click.option(
                "--language",
                metavar="CODE",
                help="Language of the sentences  [default: the dump's, else en]",
            ),
            click.option(
                "--input-format",
                type=click.Choice(FORMATS),
                metavar="FORMAT",
                help=f"How the files are read: {', '.join(FORMATS)}  [default: "
                "recognised from content]",
            ),
            click.option(
                "--text-key",
                metavar="NAME",
                help="Column or key of the text in parquet and JSON lines, as a.b if "
                "nested  [default: text]",
            ),
        )
    ):
        command = option(command)
    return command


class Folder(click.Path):
    """A folder to write, on this machine or, if that may be, on a cluster's storage."""

    def __init__(self, *, may_be_remote: bool = False) -> None:
        super().__init__(file_okay=False, path_type=Path)
        self._may_be_remote = may_be_remote

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """A `Path`, or a string with a scheme such as gs://."""
        if not isinstance(value, str) or not is_remote(value):
            return super().convert(value, param, ctx)
        if not self._may_be_remote:
            self.fail(f"{value} is not on this machine; give a folder here.")
        return value.rstrip("/")


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
                type=click.Path(dir_okay=False),
                is_eager=True,
                expose_value=False,
                callback=_load_config,
                help="JSON file of settings, such as the config.json of an earlier "
                "run; flags win over it.",
            ),
            click.option(
                "--overwrite",
                is_flag=True,
                help="Remove first what an earlier run of this command wrote.",
            ),
            click.option("--quiet", is_flag=True, help="Print errors only."),
            click.option("--debug", is_flag=True, help="Show where an error happened."),
        )
    ):
        command = option(command)
    return command


def workers_option(command: Command) -> Command:
    """How many processes, which never changes the result."""
    return click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=lambda: os.cpu_count() or 1,
        show_default="all cores",
        help="Worker processes; never changes the result.",
    )(command)


def _load_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Let a JSON file stand between the defaults and the flags."""
    if path is None:
        return
    values = read_json(path)
    command = context.command.name
    if values.get("command", command) != command:
        raise SettingError(
            f"--config: {path} was written by albert {values['command']}; give one "
            f"of albert {command}."
        )
    known = {parameter.name for parameter in context.command.params}
    for name in values:
        if name not in known and name not in RECORD_KEYS:
            raise SettingError(
                f"{path}: {name!r} is no setting of albert {command}; "
                f"albert {command} --help lists them."
            )
    repeatable = {p.name for p in context.command.params if getattr(p, "multiple", 0)}
    context.default_map = {
        name: [value] if name in repeatable and isinstance(value, str) else value
        for name, value in values.items()
        if name not in RECORD_KEYS
    }


def input_settings(values: dict[str, Any]) -> dict[str, Any]:
    """The flags for raw text as config.json records them, good from any folder."""
    paths = {kind: [os.path.abspath(path) for path in values[kind]] for kind in KINDS}
    return paths | {name: values[name] for name in INPUT_OPTIONS}


def find_given_inputs(values: dict[str, Any], console: Console) -> "list[InputFile]":
    """The files behind the flags for raw text; says how each is read."""
    from pipeline.inputs import describe_inputs, find_inputs

    files = find_inputs(
        {kind: values[kind] for kind in KINDS},
        **{name: values[name] for name in INPUT_OPTIONS},
        on_note=console.say,
    )
    for line in describe_inputs(files):
        console.say(line)
    return files


def settings_line(values: dict[str, Any]) -> str:
    """Derived values as they are printed.

    >>> settings_line({"num_shards": 8, "language": "en"})
    '--num-shards 8 --language en'
    """
    return " ".join(
        f"{flag_name(name)} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in values.items()
    )
