"""The files of a task in a folder, by their names."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.tasks.named_tasks import NAMED_TASKS
from schemas.errors import SettingError
from schemas.task import TaskSpec

# Words in names of files begin there: medieval names no evaluation.
_PARTS = {
    "train": re.compile(r"(?<![a-z])train", re.IGNORECASE),
    "evaluation": re.compile(r"(?<![a-z])(?:dev|valid|eval)", re.IGNORECASE),
    "test": re.compile(r"(?<![a-z])test", re.IGNORECASE),
}
_RACE_FOLDERS = ("train", "dev", "test")
_DATA_NAME = re.compile(
    r"\.(tsv|csv|jsonl?|parquet|txt|conllu?|annotated|all)(\.(gz|bz2|xz|zst))?$"
)


class TaskPaths(NamedTuple):
    """The files of a task: paths of files, or of folders such as RACE's.

    Attributes:
        evaluation: To choose by; MNLI has two.
        test: In the order of the task's submissions.
    """

    train: Sequence[str] = ()
    evaluation: Sequence[str] = ()
    test: Sequence[str] = ()


def find_task_files(folder: str, task: TaskSpec) -> TaskPaths:
    """The files in a folder, by their names: those with train, dev and test in them.

    Such a word may go on, as in training, but not begin inside another, as in latest.
    """
    if not Path(folder).is_dir():
        raise SettingError(f"{folder} is not a folder.")
    named = NAMED_TASKS.get(task.name)
    pattern = re.compile((named and named.files) or ".*")
    paths = sorted([*Path(folder).glob("*"), *Path(folder).glob("*/*")])
    chosen = [path for path in paths if path.is_dir() and path.name in _RACE_FOLDERS]
    if task.kind != "choose" or not chosen:
        data = [path for path in paths if _DATA_NAME.search(path.name)]
        chosen = [p for p in data if pattern.fullmatch(p.name) and p.is_file()]
    found: dict[str, list[str]] = {part: [] for part in _PARTS}
    for path in chosen:
        part = next((p for p, word in _PARTS.items() if word.search(path.name)), None)
        if part is not None:
            found[part].append(str(path))
    if not any(found.values()):
        raise SettingError(
            f"{folder} has no files of {task.name}: their names have train, dev or test in them."
        )
    return TaskPaths(**found)
