"""Flags made from the fields of a config, and the flags that all commands have."""

import dataclasses
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args

import click
from click.core import ParameterSource

from cli.support.console import Console
from pipeline.core.cores import usable_cores
from pipeline.reading.formats import FORMATS, KINDS
from pipeline.storage.files import find_files, is_remote, told_of_hashing
from schemas.config import (
    OF_FIRST_WEIGHTS,
    TrainConfig,
    check_type,
    flag_name,
    plain_type,
)
from schemas.errors import SettingError
from schemas.json_file import read_json
from schemas.layout import BUDGET_RECORD, LENGTH_BEFORE
from schemas.phases import SETTINGS
from schemas.presets import BUDGET_RECIPE, RECIPES

if TYPE_CHECKING:
    from pipeline.reading.inputs import InputFile

Command = TypeVar("Command", bound=Callable[..., Any])
Config = TypeVar("Config")

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

# Where a command keeps what its recipe says, and its name if one was typed.
RECIPE_KEY, RECIPE_NAME_KEY = "albert.recipe", "albert.recipe_name"

# Files that are passed over and named; the others are only counted.
SHOWN_NOTES = 5

# The flags for raw text that are not paths.
INPUT_OPTIONS = ("language", "input_format", "text_key")

# What can be typed, bytes that are no UTF-8 included.
_TYPEABLE = re.compile(r"[^\0\ud800-\udc7f\udd00-\udfff]*")

_DURATION = re.compile(r"(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?|(\d{1,9})")


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
    # Whether a file is readable is told by whoever reads it.
    path = TextPath(readable=False)
    paths: dict[str, Any] = {"multiple": True, "metavar": "PATH", "type": path}
    for option in reversed(
        (
            click.option(
                "--wikipedia",
                **paths,
                help="MediaWiki dump as downloaded, wikiextractor output, or articles "
                "as JSON lines, parquet or CSV. Files, folders, globs; repeatable.",
            ),
            click.option(
                "--books",
                **paths,
                help="Books, one per file, plain or from Gutenberg; BookCorpus' files; "
                "JSON lines, parquet or CSV.",
            ),
            click.option(
                "--text",
                **paths,
                help="Any other text: one sentence per line with a blank line between "
                "documents, running prose, JSON lines, parquet or CSV. A line "
                "<|endoftext|> or </s> ends a document, and so does ---- with "
                "--input-format marked; --input-format lines takes one document per "
                "line.",
            ),
            click.option(
                "--language",
                metavar="CODE",
                help="Language of all sentences  [default: as a record says in lang, "
                "language or url, else as its file says, else en]",
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
                help="Column or key of the text in parquet, CSV and JSON lines, as a.b "
                "if nested  [default: text]",
            ),
        )
    ):
        command = option(command)
    return command


class UserPath(click.Path):
    """A path in which ~ is the home folder, also where no shell has replaced it."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The path, as `click.Path` gives it."""
        if isinstance(value, str):
            value = os.path.expanduser(value)
            self.check_spelling(value, param, ctx)
            if not self.file_okay and os.path.isfile(value):
                self.fail(f"{value} is a file; give a folder.", param, ctx)
            if not self.dir_okay and os.path.isdir(value):
                self.fail(f"{value} is a folder; give a file.", param, ctx)
        return super().convert(value, param, ctx)

    def check_spelling(
        self, path: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> None:
        """Refuse a name that TensorFlow cannot open."""
        try:
            path.encode()
        except UnicodeEncodeError:
            self.fail(
                f"{path!r} is not UTF-8; give the folder another name.", param, ctx
            )


class TextPath(UserPath):
    """A path of raw text, which may come from where names are not UTF-8."""

    def check_spelling(
        self, path: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> None:
        """Take any name."""


class Folder(UserPath):
    """A folder to write: on this machine or, if allowed, on a cluster's storage."""

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
                callback=_load_config,
                help="JSON file of settings, such as the config.json of an earlier "
                "run; flags win over it.",
            ),
            click.option(
                "--overwrite",
                is_flag=True,
                help="First remove what an earlier run of this command wrote.",
            ),
            click.option("--quiet", is_flag=True, help="Print errors only."),
            click.option("--debug", is_flag=True, help="Show where an error happened."),
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


def _load_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Let a JSON file override the defaults, and flags override the file."""
    if path is None:
        return
    command = context.command.name
    if not os.path.exists(path):
        raise SettingError(f"--config: {path} does not exist.")
    # Flags are spelled with hyphens, settings with underscores.
    values = {name.replace("-", "_"): v for name, v in read_json(path).items()}
    if values.get("command", command) != command:
        raise SettingError(
            f"--config: {path} was written by albert {values['command']}; give one "
            f"of albert {command}."
        )
    known = {p.name: p for p in context.command.params if p.expose_value}
    settings: dict[str, Any] = {}
    for name, value in values.items():
        # What was not given is null in a written file.
        if name in RECORD_KEYS or value is None:
            continue
        if name not in known:
            raise SettingError(
                f"{path}: {name!r} is not a setting of albert {command}; "
                f"albert {command} --help lists them."
            )
        is_one = _is_repeatable(known[name]) and isinstance(value, str)
        settings[name] = [value] if is_one else value
        _check_setting(known[name], settings[name], path=path)
    context.default_map = {**(context.default_map or {}), **settings}


def recipe_option(
    recipes: Mapping[str, dict[str, Any]], *, help: str, default: str | None = None
) -> Callable[[Command], Command]:
    """The flag that names a set of settings.

    Args:
        recipes: Settings other than the defaults, by name.
        help: One sentence for `--help`.
        default: The name where none is given; None for the defaults.
    """

    def take(context: click.Context, _: click.Parameter, name: str | None) -> None:
        """Begin with a recipe, if one is named."""
        if name is not None:
            _begin_with(recipes[name], context)
        if is_given("recipe"):
            context.meta[RECIPE_NAME_KEY] = name

    return click.option(
        "--recipe",
        type=click.Choice(list(recipes)),
        default=default,
        show_default=default is not None,
        is_eager=True,
        expose_value=False,
        callback=take,
        help=f"Settings to start from: {help} Other flags and --config win over it.",
    )


def named_recipe() -> str | None:
    """The value of --recipe, if one was typed."""
    name: str | None = click.get_current_context().meta.get(RECIPE_NAME_KEY)
    return name


def budget_option(*, help: str) -> Callable[[Command], Command]:
    """The flag that leaves model and settings to the program, for a time.

    Args:
        help: One sentence for `--help`.
    """
    return click.option(
        "--budget",
        type=Duration(),
        is_eager=True,
        callback=_take_budget,
        help=help,
    )


def _take_budget(
    context: click.Context, _: click.Parameter, seconds: float | None
) -> float | None:
    """Begin with the recipe for budgets, if there is one."""
    if seconds is not None:
        _begin_with(RECIPES[BUDGET_RECIPE], context)
    return seconds


def _begin_with(recipe: dict[str, Any], context: click.Context) -> None:
    """Let a recipe override the defaults, and a file of settings the recipe."""
    context.default_map = {**recipe, **(context.default_map or {})}
    context.meta[RECIPE_KEY] = context.meta.get(RECIPE_KEY, {}) | recipe


def useful(
    recipe: Mapping[str, Any], *, has_documents: bool, begins_anew: bool = True
) -> dict[str, Any]:
    """The settings of a recipe that have a use.

    Args:
        recipe: Settings other than the defaults.
        has_documents: Whether examples are made on the fly.
        begins_anew: Whether no weights are there to begin with.

    >>> useful({"batch_size": 32, "max_ngram": 1}, has_documents=False)
    {'batch_size': 32}
    """
    useless: set[str] = set() if has_documents else set(SETTINGS)
    if not begins_anew:
        useless.update(OF_FIRST_WEIGHTS)
    return {name: value for name, value in recipe.items() if name not in useless}


def fitting_recipe(
    config: TrainConfig, *, has_documents: bool, begins_anew: bool
) -> TrainConfig:
    """The settings without those of the recipe that have no use here.

    Args:
        config: As the flags and the recipe say.
        has_documents: Whether examples are made on the fly.
        begins_anew: Whether no weights are there to begin with.
    """
    recipe = click.get_current_context().meta.get(RECIPE_KEY, {})
    kept = useful(recipe, has_documents=has_documents, begins_anew=begins_anew)
    left_out = {
        name: getattr(TrainConfig, name)
        for name in recipe
        if name not in kept and is_of_recipe(name)
    }
    return dataclasses.replace(config, **left_out)


def is_of_recipe(name: str) -> bool:
    """Whether a setting is what it is because the recipe says so."""
    context = click.get_current_context()
    recipe = context.meta.get(RECIPE_KEY, {})
    source = context.get_parameter_source(name)
    return (
        source is ParameterSource.DEFAULT_MAP
        and name in recipe
        and context.params[name] == recipe[name]
    )


def _is_repeatable(parameter: click.Parameter) -> bool:
    return parameter.multiple or parameter.nargs == -1


def _check_setting(parameter: click.Parameter, value: Any, *, path: str) -> None:
    """Refuse a value that no flag can have; click converts only what is typed.

    Raises:
        SettingError: Names the file and the setting.
    """
    name = parameter.name or ""
    is_list = _is_repeatable(parameter) and isinstance(value, list)
    for each in value if is_list else [value]:
        is_typed = isinstance(each, str) and not getattr(parameter, "is_flag", False)
        if is_typed and not _TYPEABLE.fullmatch(each):
            raise SettingError(
                f"{path}: {name} has a zero byte or half a character, which no "
                "setting can have."
            )
        if is_typed:
            continue
        try:
            check_type(name, each, _json_type(parameter))
        except SettingError as error:
            raise SettingError(f"{path}: {error}") from None


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


def input_settings(values: dict[str, Any]) -> dict[str, Any]:
    """The flags for raw text as config.json records them, good from any folder."""
    paths = {kind: list(map(from_anywhere, values[kind])) for kind in KINDS}
    return paths | {name: values[name] for name in INPUT_OPTIONS}


class GivenInputs(NamedTuple):
    """The files to read, and how many others there were in their folders."""

    files: "list[InputFile]"
    passed_over: int


def find_given_inputs(values: dict[str, Any], console: Console) -> GivenInputs:
    """The files that the flags for raw text name; says how each is read."""
    from pipeline.reading.inputs import describe_inputs, find_inputs

    notes: list[str] = []
    with (
        console.bar("hashing", total=_local_bytes(values), unit="B") as bar,
        told_of_hashing(lambda size: bar.to(bar.done + size)),
    ):
        files = find_inputs(
            {kind: values[kind] for kind in KINDS},
            **{name: values[name] for name in INPUT_OPTIONS},
            on_passed_over=notes.append,
        )
    for note in notes[:SHOWN_NOTES]:
        console.say(f"passed over: {note}")
    if len(notes) > SHOWN_NOTES:
        console.say(f"passed over: {len(notes) - SHOWN_NOTES} more files.")
    for line in describe_inputs(files):
        console.say(line)
    return GivenInputs(files, len(notes))


def refuse_stray(arguments: Sequence[str], *, takes_options: bool = True) -> None:
    """Refuse what stands on the command line without a flag.

    A shell replaces a pattern by the names of many files, of which a flag takes one.

    Args:
        arguments: Those of no flag, and all that stand after --.
        takes_options: Whether options of another program, such as Beam's, may be there.

    Raises:
        SettingError: There is such an argument.
    """
    if arguments and not arguments[0].startswith("-"):
        raise SettingError(
            f"{arguments[0]!r} belongs to no flag; give each path with --wikipedia, "
            "--books or --text, and put quotes around a pattern, as in "
            "--text 'novels/*.txt'."
        )
    if arguments and not takes_options:
        raise SettingError(
            f"{arguments[0]!r} comes after --, where this command takes nothing; put "
            "it before."
        )


def _local_bytes(values: dict[str, Any]) -> int:
    """The size of all files of this machine that the flags for raw text name."""
    patterns = (pattern for kind in KINDS for pattern in values[kind])
    return sum(
        os.path.getsize(path)
        for pattern in patterns
        if not is_remote(pattern)
        for path in find_files(pattern)
        if os.path.isfile(path)
    )


def settings_line(values: dict[str, Any]) -> str:
    """Derived values as they are printed.

    >>> settings_line({"num_shards": 8, "language": "en"})
    '--num-shards 8 --language en'
    """
    return " ".join(
        f"{flag_name(name)} {value if isinstance(value, str) else json.dumps(value)}"
        for name, value in values.items()
    )
