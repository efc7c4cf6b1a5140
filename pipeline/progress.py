"""How far a job is, read from the files that its workers leave behind.

Workers may run anywhere and say nothing to the process that started them, but every
finished split and shard leaves a small file in the data set, wherever that is.
"""

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.files import find_below, read_json
from pipeline.spill import WORK
from schemas.errors import AlbertError
from schemas.layout import SIDECARS


class Progress(NamedTuple):
    """What is done."""

    read_bytes: int = 0
    documents: int = 0
    shards: int = 0
    examples: int = 0
    written_bytes: int = 0


class ProgressReader:
    """Reads the marks of a running job, each once."""

    def __init__(self, output: str | Path) -> None:
        self._output = output
        self._seen: dict[str, Progress] = {}

    def poll(self) -> Progress:
        """What is done by now."""
        with contextlib.suppress(AlbertError):  # storage that is away for a moment
            for pattern in (f"{WORK}/split-*.json", f"{SIDECARS}/*.json"):
                for path in find_below(self._output, pattern):
                    if path not in self._seen:
                        self._seen[path] = _read_mark(read_json(path))
        done = zip(*self._seen.values(), strict=True)
        return Progress(*map(sum, done)) if self._seen else Progress()


def _read_mark(mark: dict[str, Any]) -> Progress:
    if "files" not in mark:
        return Progress(
            read_bytes=mark["text_bytes"], documents=mark["counts"].get("read", 0)
        )
    examples, written = (
        sum(file[key] for file in mark["files"]) for key in ("examples", "bytes")
    )
    return Progress(shards=1, examples=examples, written_bytes=written)
