"""Flags: what they take, those that several commands have, and the file of --config.

The settings of that file stand between the defaults and the flags.
"""

import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from cli.support.console import Console
from pipeline.storage.files import is_remote
from schemas import __version__
from schemas.config import check_type, flag_name, plain_type
from schemas.errors import SettingError
from schemas.files import Values, check_is_file, read_json
from schemas.layout import BUDGET_RECORD, LENGTH_BEFORE
from schemas.phases import SETTINGS
from schemas.secrets import HIDDEN

_DURATION = re.compile(r"(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?|(\d{1,9})")


class ByTopic(click.Command):
    """A command whose help lists its flags by topic, the most used topic first.

    Args:
        topics: The names of the flags of each, with spaces between.
    """

    def __init__(self, *arguments: Any, topics: Mapping[str, str], **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.topics = {topic: names.split() for topic, names in topics.items()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a list for each topic, and one of the flags in none."""
        records = {
            param.name: record
            for param in self.get_params(ctx)
            if (record := param.get_help_record(ctx))
        }
        named = {
            topic: [records.pop(name) for name in names if name in records]
            for topic, names in self.topics.items()
        }
        for topic, shown in {**named, "Other": [*records.values()]}.items():
            with formatter.section(topic):
                formatter.write_dl(shown)


class UserPath(click.Path):
    """A path in which ~ is the home folder, also where no shell has replaced it.

    Args:
        storage: Whether an address such as gs://bucket/folder is given on as a string,
            or refused. Left out where whoever reads the path knows.
        is_any_name: Whether it may be no UTF-8, which TensorFlow cannot open.
    """

    def __init__(
        self, *, storage: bool | None = None, is_any_name: bool = False, **path: Any
    ) -> None:
        super().__init__(**path)
        self._storage, self._is_any_name = storage, is_any_name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, as `click.Path` gives it; a string where it is an address."""
        if not isinstance(value, str):
            return super().convert(value, param, ctx)
        if self._storage is not None and is_remote(value):
            if not self._storage:
                self.fail(f"{value} is not on this machine; give a path here.")
            return value.rstrip("/")
        value = os.path.expanduser(value)
        if not self._is_any_name and any("\ud800" <= c <= "\udfff" for c in value):
            self.fail(f"{value!r} is not UTF-8; give the folder another name.", param, ctx)
        if not self.file_okay and os.path.isfile(value):
            self.fail(f"{value} is a file; give a folder.", param, ctx)
        if not self.dir_okay and os.path.isdir(value):
            self.fail(f"{value} is a folder; give a file.", param, ctx)
        return super().convert(value, param, ctx)


PATH = UserPath(storage=False, path_type=Path)
FILE = UserPath(storage=False, dir_okay=False, path_type=Path)
FOLDER = UserPath(storage=False, file_okay=False, path_type=Path)
# On this machine or on a storage.
ANYWHERE = UserPath(storage=True, path_type=Path)
FOLDER_ANYWHERE = UserPath(storage=True, file_okay=False, path_type=Path)
# Whether it can be read is told by whoever reads it.
UNCHECKED = UserPath(readable=False)
ANY_NAME = UserPath(is_any_name=True, readable=False)


COUNT = click.IntRange(min=1)


class Duration(click.ParamType[float]):
    """A time such as 90, 90s, 30m or 1h30m, in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The seconds of what was given."""
        if isinstance(value, int | float):
            return float(value)
        found = _DURATION.fullmatch(value)
        if not value or not found:
            self.fail(f"{value!r} is not a time; write 90s, 30m or 1h30m.", param, ctx)
        hours, minutes, seconds, bare = (int(part or 0) for part in found.groups())
        return float(3600 * hours + 60 * minutes + seconds + bare)


def offered(*names: str) -> Callable[..., list[CompletionItem]]:
    """What a shell completes a flag to: names, and then files."""

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names if name.startswith(begun)]
        return found or [CompletionItem(begun, type="file")]

    return complete


def flag_time(seconds: float) -> str:
    """A time as `Duration` reads it, in the largest unit that it is whole in.

    >>> [flag_time(seconds) for seconds in (86_400.0, 5400.0, 80.0)]
    ['24h', '90m', '80s']
    """
    whole = round(seconds)
    units = (("h", 3600), ("m", 60), ("s", 1))
    return next(f"{whole // size}{name}" for name, size in units if not whole % size)


# Keys of a written config.json that are not settings.
RECORD_KEYS = (
    "command",
    "albert_version",
    "identity",
    "environment",
    "began",
    BUDGET_RECORD,
    LENGTH_BEFORE,
)

# What can be typed, bytes that are no UTF-8 included.
_TYPEABLE = re.compile(r"[^\0\ud800-\udc7f\udd00-\udfff]*")


def load_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Let a JSON file override the defaults, and flags override the file."""
    if path is None:
        return
    command = context.command.name or ""
    if not os.path.exists(path):
        raise SettingError(f"--config: {path} does not exist.")
    # Flags are spelled with hyphens, settings with underscores.
    values = {name.replace("-", "_"): v for name, v in read_json(path, may_be_pipe=True).items()}
    if values.get("command", command) != command:
        raise SettingError(
            f"--config: {path} was written by albert {values['command']}; give one "
            f"of albert {command}."
        )
    # A written file has what its recipe said, and not the name of the recipe.
    typed_only = ("config", "recipe", "debug")
    known = {p.name: p for p in context.command.params if p.name not in typed_only}
    version, of_release = values.get("albert_version", __version__), ""
    if version != __version__:
        of_release = f", and albert {version}, which wrote the file, has it"
    settings: Values = {}
    for name, value in values.items():
        # What was not given is null in a written file.
        if name in RECORD_KEYS or value is None:
            continue
        if name not in known:
            raise SettingError(
                f"{path}: {name!r} is not a setting of albert {command}; "
                f"albert {command} --help lists them{of_release}."
            )
        settings[name] = _as_typed(known[name], value, path=path)
    context.default_map = {**(context.default_map or {}), **settings}


def _as_typed(parameter: click.Parameter, value: Any, *, path: str) -> Any:
    """A value of the file as click has it from the command line.

    One that no flag can have is refused, since click checks only what is typed.
    """
    name, kind = parameter.name or "", _json_type(parameter)
    is_repeatable = parameter.multiple or parameter.nargs == -1
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_repeatable and isinstance(value, str):
        value = [value]
    elif is_number and kind is str and name in SETTINGS:
        # A number may stand where a schedule may be.
        value = str(value)
    for each in value if is_repeatable and isinstance(value, list) else [value]:
        if kind is bool or not isinstance(each, str):
            try:
                check_type(name, each, kind)
            except SettingError as error:
                raise SettingError(f"{path}: {error}") from None
        elif "://" in each and HIDDEN in each:
            raise SettingError(
                f"{path}: {name} has an address without its secret part, which is "
                f"never kept; give {flag_name(name)} beside --config, and take "
                f"{name} out of the file."
            )
        elif not _TYPEABLE.fullmatch(each):
            raise SettingError(
                f"{path}: {name} has a zero byte or half a character, which no setting can have."
            )
    return value


def _json_type(parameter: click.Parameter) -> Any:
    """The type that a setting has in a file, unless it is text as it is typed."""
    if getattr(parameter, "is_flag", False):
        return bool
    if isinstance(parameter.type, click.types.IntParamType):
        return int
    kinds = (click.types.FloatParamType, Duration)
    return float if isinstance(parameter.type, kinds) else str


def from_anywhere(path: Path | str) -> str:
    """A path as config.json records it, good from any folder.

    >>> from_anywhere("s3://bucket/text/")
    's3://bucket/text/'
    """
    return str(path) if is_remote(str(path)) else os.path.abspath(path)


Command = TypeVar("Command", bound=Callable[..., Any])
Config = TypeVar("Config")


def config_options(
    config_class: type,
    *,
    only: tuple[str, ...] = (),
    kinds: Mapping[str, click.ParamType[Any]] = MappingProxyType({}),
    opposites: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Command], Command]:
    """One flag for each field of a config, or for some, with its default and help.

    Args:
        kinds: What fields are that take more from a person than their type says.
        opposites: The flag of what is not so, where it has a word of its own.
    """
    flags = []
    for field in dataclasses.fields(config_class):
        if only and field.name not in only:
            continue
        kind, flag = plain_type(field.type), flag_name(field.name)
        typed = kinds.get(field.name, kind)
        if choices := get_args(kind):
            typed = click.Choice(choices)
        elif kind is bool:
            opposite = opposites.get(field.name, f"--no-{flag.removeprefix('--')}")
            flag, typed = f"{flag}/{opposite}", None
        option = click.option(flag, default=field.default, help=field.metadata["help"], type=typed)
        flags.append(option)
    return stacked(*flags)


def take_config(config_class: type[Config], values: Values) -> Config:
    """Take the fields of a config out of a command's values."""
    names = [field.name for field in dataclasses.fields(config_class)]  # type: ignore[arg-type]
    return config_class(**{name: values.pop(name) for name in names})


def stacked(*flags: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several flags as one decorator, in the order that help has them in."""

    def decorate(command: Command) -> Command:
        for flag in reversed(flags):
            command = flag(command)
        return command

    return decorate


def quiet_option(about: str = "Print errors only.") -> Callable[[Command], Command]:
    """The flag --quiet, which gives a command its `console`."""

    def take(context: click.Context, _: click.Parameter, is_quiet: bool) -> None:
        context.params["console"] = Console(quiet=is_quiet)

    return click.option("--quiet", is_flag=True, expose_value=False, callback=take, help=about)


def json_option(about: str = "Print one JSON object.") -> Callable[[Command], Command]:
    """The flag --json."""
    return click.option("--json", "as_json", is_flag=True, help=about)


# See `is_debugging`, which looks at the command line alone.
debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, help="Show where an error happened."
)

max_time_option = click.option(
    "--max-time",
    type=Duration(),
    help="Save and stop this long after the command was entered, such as 90s, 30m or "
    "1h30m, but not before a step is done; the same command continues.",
)

_LOCAL_OUTPUT = click.option("--output", required=True, type=FOLDER, help="Folder to write.")


def common_options(
    command: Command, *, output: Callable[[Command], Command] = _LOCAL_OUTPUT
) -> Command:
    """The flags of every command that writes a folder, and --config."""
    return stacked(
        output,
        click.option(
            "--config",
            type=UserPath(dir_okay=False),
            is_eager=True,
            expose_value=False,
            callback=load_config,
            help="JSON file of settings, such as the config.json of an earlier run; "
            "flags win over it.",
        ),
        click.option(
            "--overwrite",
            is_flag=True,
            help="First remove what an earlier run of this command wrote.",
        ),
        quiet_option(),
        debug_option,
    )(command)


_COLUMNS = {
    "text": "Column of the text, if it is not recognised by its name.",
    "pair": "Column of the second text.",
    "label": "Column of the label.",
    "option": "Column with a list of options, or one for each with commas between.",
}


def column_options(*names: str) -> Callable[[Command], Command]:
    """The flags --text-column, --pair-column, --label-column and --option-columns, or some."""
    flags = {name: [f"--{name}-column{'s' if name == 'option' else ''}"] for name in names}
    # As where text is read to train on.
    flags.get("text", []).extend(["--text-key", "text_column"])
    return stacked(
        *(click.option(*flag, metavar="NAME", help=_COLUMNS[name]) for name, flag in flags.items())
    )


def check_output(output: Path | None, source: str | None) -> None:
    """Refuse to write over the file that is read, or where nothing can be written."""
    if output is None:
        return
    if source is not None and output.resolve() == Path(source).resolve():
        raise SettingError(f"--output: {output} is the file to read; give another one.")
    check_is_file(output)
    folder = next(folder for folder in output.absolute().parents if os.path.exists(folder))
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise SettingError(f"--output: nothing can be written in {folder}; give another folder.")


def is_given(name: str) -> bool:
    """Whether the command line, or the file of --config, has this flag."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT


def refuse_given(*names: str, why: str) -> None:
    """Refuse flags that have no use beside the others.

    Args:
        why: What is said of one, after its name.
    """
    for name in names:
        if is_given(name):
            raise SettingError(f"{flag_name(name)} {why}")


def is_typed(name: str) -> bool:
    """Whether the command line has this flag."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def derived_settings(config: Any, resolved: Any) -> Iterator[str]:
    """A line that shows what was derived because no flag says it, if anything was.

    >>> from schemas.config import DataConfig
    >>> config = DataConfig(num_shards=8)
    >>> list(derived_settings(config, config.resolved(input_bytes=0)))
    ['derived: --max-predictions-per-seq 77']
    """
    known = {
        field.name: value
        for field in dataclasses.fields(config)
        if getattr(config, field.name) is None
        and (value := getattr(resolved, field.name)) is not None
    }
    if known:
        shown = (
            f"{flag_name(n)} {v if isinstance(v, str) else json.dumps(v)}" for n, v in known.items()
        )
        yield f"derived: {' '.join(shown)}"
