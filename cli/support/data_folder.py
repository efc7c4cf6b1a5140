"""The data set or run that a command reads, here or on storage and copied first."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from cli.support.console import Console
from cli.support.options import UserPath
from pipeline.storage.files import is_remote
from schemas.errors import AlbertError, SettingError
from schemas.layout import MANIFEST, METRICS, MODEL_CONFIG, TASK
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


def kind_of(path: Path) -> Literal["tuned", "run", "data"]:
    """What a folder is.

    Raises:
        SettingError: It is no folder.
        AlbertError: It is neither.
    """
    if not os.path.isdir(path):
        raise SettingError(
            f"{path} is not a folder; give that of a data set or of a run."
        )
    if (path / TASK).is_file():
        return "tuned"
    if any((path / name).exists() for name in (MODEL_CONFIG, METRICS)):
        return "run"
    if not (path / MANIFEST).exists():
        raise AlbertError(
            f"{path} is neither a finished data set of albert make-data nor a run of "
            "albert pretrain; give the folder that one of them wrote."
        )
    return "data"


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
