"""Files of tasks, written and read for a test."""

import dataclasses

from pipeline.tasks.named_tasks import task_called
from pipeline.tasks.task_files import read_task_file
from schemas.task import Columns


def read(folder, content, *, task="classify", is_labelled=True, **columns):
    """What a file of this content holds; its name never says its format.

    Args:
        folder: Where it is written.
        content: Text or bytes.
        task: A kind or a name.
        is_labelled: As of `read_task_file`.
        columns: Those that a person named.
    """
    path = folder / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    spec = dataclasses.replace(task_called(task), columns=Columns(**columns))
    return read_task_file(str(path), spec, is_labelled=is_labelled)
