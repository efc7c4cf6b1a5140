"""How far a job is, read from the marks that its workers write.

Workers may run anywhere and report nothing to the process that started the job. But for
every finished chunk and shard they write a small file into the data set.
"""

import contextlib
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.job.spill import chunks_folder
from pipeline.storage.files import file_size, find_below, read_whole
from schemas.errors import AlbertError
from schemas.json_file import parse_json
from schemas.json_shape import COUNT, Shape, problem
from schemas.layout import CHUNK_MARKS, SIDECAR_FILES, WORK
from schemas.whole_file import TEMPORARY

# What is read of the mark of a chunk, and of that of a shard.
_SPLIT: Shape = {"text_bytes": COUNT, "counts": {"documents": COUNT}}
_SHARD: Shape = {"files": [{"examples": COUNT, "bytes": COUNT}]}


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
        self._chunks = chunks_folder(output)
        # The marks of chunks are there or, if a cluster works, in the data set.
        self._places = dict.fromkeys((str(output), str(self._chunks)))
        self._seen: dict[str, Progress] = {}
        self._last = Progress()

    def poll(self) -> Progress:
        """What is done so far."""
        # The storage may be out of reach for a moment.
        with contextlib.suppress(AlbertError):
            for pattern in (CHUNK_MARKS, SIDECAR_FILES):
                for path in chain(*(find_below(p, pattern) for p in self._places)):
                    if path not in self._seen:
                        mark = parse_json(read_whole(path), path)
                        self._seen[path] = _read_mark(mark)
            reading = Progress(read_bytes=self._unfinished_bytes())
            done = zip(reading, *self._seen.values(), strict=True)
            self._last = Progress(*map(sum, done))
        return self._last

    def _unfinished_bytes(self) -> int:
        """Text of the chunks that are being read, some of which may be large."""
        return sum(map(file_size, find_below(self._chunks, f"{WORK}/*{TEMPORARY}*")))


def _read_mark(mark: dict[str, Any]) -> Progress:
    """What a mark says; nothing if it is damaged, for then it is made again."""
    if not problem(mark, _SPLIT):
        return Progress(
            read_bytes=mark["text_bytes"], documents=mark["counts"]["documents"]
        )
    if problem(mark, _SHARD):
        return Progress()
    examples, written = (
        sum(file[key] for file in mark["files"]) for key in ("examples", "bytes")
    )
    return Progress(shards=1, examples=examples, written_bytes=written)
