"""The shuffle of a job on one machine: documents wait on disk for their shard.

Reading a split leaves one file with its documents sorted by shard, behind a table of
where each shard's are. Building a shard reads its stretch of every file. So memory
does not grow with the corpus, only numbers of splits go through the runner, and a split
whose mark is there need not be read again.
"""

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.documents import ShardDocument
from pipeline.shard_plan import ShardPlan
from schemas.errors import AlbertError
from schemas.json_file import read_json, write_json
from schemas.whole_file import whole_file

# Within a data set, while it is made.
WORK = ".work"

# The head of the file has for each shard where its documents start and end.
_STRETCH = struct.Struct("<QQ")
# A document: its id, the length of its text in bytes, its text.
_HEAD = struct.Struct("<16sI")


def spill_path(output: Path, split: int) -> Path:
    """The documents of a split, sorted by shard behind a table of the shards."""
    return output / WORK / f"split-{split:05d}.documents"


def mark_name(split: int) -> str:
    """What says that a split is finished, relative to the data set."""
    return f"{WORK}/split-{split:05d}.json"


def mark_path(output: Path, split: int) -> Path:
    """What says that a split is finished, and what reading it counted."""
    return output / mark_name(split)


def write_spill(
    documents: Iterable[ShardDocument],
    split: int,
    *,
    plan: ShardPlan,
    output: Path,
) -> None:
    """Write the documents of a split.

    Raises:
        AlbertError: There is no space or no permission.
    """
    shards: list[list[bytes]] = [[] for _ in plan.shard_numbers()]
    for document in documents:
        text = document.text.encode("utf-8", errors="replace")
        shards[plan.shard_of(document.id)] += (
            _HEAD.pack(document.id, len(text)),
            text,
        )
    end = _STRETCH.size * len(shards)
    with whole_file(spill_path(output, split)) as file:
        for parts in shards:
            start, end = end, end + sum(map(len, parts))
            file.write(_STRETCH.pack(start, end))
        for parts in shards:
            file.writelines(parts)
            parts.clear()


def read_spills(splits: int, shard: int, *, output: Path) -> Iterator[ShardDocument]:
    """The documents of a shard, from the files of all splits.

    Raises:
        AlbertError: A file is gone or damaged.
    """
    for split in range(splits):
        yield from _read_spill(spill_path(output, split), shard)


def _read_spill(path: Path, shard: int) -> Iterator[ShardDocument]:
    try:
        with path.open("rb") as file:
            file.seek(_STRETCH.size * shard)
            start, end = _STRETCH.unpack(file.read(_STRETCH.size))
            file.seek(start)
            data = file.read(end - start)
            is_whole = len(data) == end - start
    except OSError as error:
        raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
    except struct.error:
        is_whole = False
    if not is_whole:
        raise AlbertError(f"{path} is cut off; run the command with --overwrite.")
    place = 0
    while place < len(data):
        document_id, size = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        yield ShardDocument(document_id, data[place : place + size].decode("utf-8"))
        place += size


def write_mark(
    path: Path,
    *,
    fingerprint: str,
    counts: Counter[str],
    text_bytes: int,
) -> None:
    """Note that a split is finished, and what reading it counted."""
    mark = {
        "fingerprint": fingerprint,
        "text_bytes": text_bytes,
        "counts": dict(counts),
    }
    write_json(path, mark)


def is_finished(path: Path, fingerprint: str) -> bool:
    """Whether a split or a shard was finished by a job of the same fingerprint."""
    try:
        return bool(read_json(path).get("fingerprint") == fingerprint)
    except AlbertError:
        return False


def sum_counts(splits: int, *, output: Path) -> Counter[str]:
    """What reading all splits counted."""
    counts: Counter[str] = Counter()
    for split in range(splits):
        mark: dict[str, Any] = read_json(mark_path(output, split))
        counts.update(mark["counts"])
    return counts
