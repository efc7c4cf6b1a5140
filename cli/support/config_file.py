"""The file of --config: its settings stand between the defaults and the flags."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import click

from cli.support.console import tell
from cli.support.parameter_types import Duration
from pipeline.storage.files import is_remote
from schemas.config import check_type
from schemas.errors import SettingError
from schemas.gone_settings import without_gone
from schemas.json_file import read_json
from schemas.layout import BUDGET_RECORD, LENGTH_BEFORE
from schemas.phases import SETTINGS

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
    values = {name.replace("-", "_"): v for name, v in read_json(path).items()}
    if values.get("command", command) != command:
        raise SettingError(
            f"--config: {path} was written by albert {values['command']}; give one "
            f"of albert {command}."
        )
    known = {p.name: p for p in context.command.params if p.expose_value}
    values, ignored = without_gone(values, command=command, known=known, place=path)
    tell_ignored(ignored, path)
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
        settings[name] = _as_typed(known[name], value)
        _check_setting(known[name], settings[name], path=path)
    context.default_map = {**(context.default_map or {}), **settings}


def tell_ignored(names: list[str], path: Path | str) -> None:
    """Say that a file names settings that are gone and had no effect there."""
    if names and "--quiet" not in sys.argv:
        tell(f"{path}: {', '.join(names)} ignored; gone, and without effect there.")


def _as_typed(parameter: click.Parameter, value: Any) -> Any:
    """A value of the file as click would have it from the command line.

    One value of a repeatable flag may stand alone, and a number where a schedule may
    be.
    """
    if _is_repeatable(parameter) and isinstance(value, str):
        return [value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_schedule = parameter.name in SETTINGS and _json_type(parameter) is str
    return str(value) if is_number and is_schedule else value


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
