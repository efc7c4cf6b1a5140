"""The data set that a command reads: a folder here, or on storage and copied first."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import Console
from cli.support.options import UserPath
from pipeline.storage.files import is_remote
from schemas.readable import prefixed

if TYPE_CHECKING:
    from pipeline.dataset.local_copy import Choice


class DataFolder(UserPath):
    """A folder to read: on this machine, or on storage that its program reaches."""

    def __init__(self, *, file_okay: bool = True) -> None:
        super().__init__(file_okay=file_okay, path_type=Path)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """A `Path`, or a string with a scheme such as gs://."""
        if isinstance(value, str) and is_remote(value):
            return value.rstrip("/")
        return super().convert(value, param, ctx)


def data_here(
    data: Path | str, console: Console, *, choose: "Choice | None" = None
) -> Path:
    """The folder of a data set on this machine.

    Args:
        data: As given.
        console: Is told what is copied, and where to.
        choose: Which files are read; by default all of them.
    """
    if isinstance(data, Path):
        return data
    from pipeline.dataset.local_copy import all_files, cache_folder, fetch, prepare_copy

    copy = prepare_copy(data, cache=cache_folder(), choose=choose or all_files)
    if copy.missing:
        size = prefixed(copy.missing_bytes, "B")
        console.say(f"{data}: copying {size} to {copy.folder}, where it is kept.")
        done = 0
        with console.bar("copying", total=copy.missing_bytes, unit="B") as bar:
            for size_bytes in fetch(copy):
                done += size_bytes
                bar.to(done)
    return copy.folder
