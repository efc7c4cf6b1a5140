"""What a flag takes: paths as people type them, folders to write, and times."""

import os
import re
from pathlib import Path
from typing import Any

import click

from pipeline.storage.files import is_remote

_DURATION = re.compile(r"(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?|(\d{1,9})")


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
