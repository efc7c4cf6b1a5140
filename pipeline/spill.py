"""The shuffle of a job on one machine: documents wait on disk for their shard.

Reading a split leaves one file with its documents sorted by shard, and beside it an
index that says where each shard's are. Building a shard reads its stretch of every
file. So memory does not grow with the corpus, only names of splits go through the
runner, and a split whose index is there need not be read again.
"""

import struct
from collections import Counter, defaultdict
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

# A document: its id, the length of its text in bytes, its text.
_HEAD = struct.Struct("<16sI")


def spill_path(output: Path, split: int) -> Path:
    """The documents of a split, sorted by shard."""
    return output / WORK / f"split-{split:05d}.documents"


def index_name(split: int) -> str:
    """The index of a split, relative to the data set."""
    return f"{WORK}/split-{split:05d}.json"


def index_path(output: Path, split: int) -> Path:
    """The index of a split; it is there once the split is finished."""
    return output / index_name(split)


def write_spill(
    documents: Iterable[ShardDocument],
    split: int,
    *,
    plan: ShardPlan,
    output: Path,
) -> dict[str, list[int]]:
    """Write the documents of a split.

    Returns:
        For each shard that has any: where its stretch starts and how long it is.

    Raises:
        AlbertError: There is no space or no permission.
    """
    by_shard: dict[int, list[bytes]] = defaultdict(list)
    for document in documents:
        text = document.text.encode("utf-8", errors="replace")
        by_shard[plan.shard_of(document.id)] += (
            _HEAD.pack(document.id, len(text)),
            text,
        )
    stretches = {}
    with whole_file(spill_path(output, split)) as file:
        for shard in sorted(by_shard):
            start = file.tell()
            file.writelines(by_shard.pop(shard))
            stretches[str(shard)] = [start, file.tell() - start]
    return stretches


def read_spills(splits: int, shard: int, *, output: Path) -> Iterator[ShardDocument]:
    """The documents of a shard, from the files of all splits.

    Raises:
        AlbertError: A file is gone or damaged.
    """
    for split in range(splits):
        stretch = read_json(index_path(output, split))["stretches"].get(str(shard))
        if stretch:
            yield from _read_stretch(spill_path(output, split), *stretch)


def _read_stretch(path: Path, start: int, length: int) -> Iterator[ShardDocument]:
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(length)
    except OSError as error:
        raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) < length:
        raise AlbertError(f"{path} is cut off; run the command with --overwrite.")
    place = 0
    while place < length:
        document_id, size = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        yield ShardDocument(document_id, data[place : place + size].decode("utf-8"))
        place += size


def write_index(
    path: Path,
    stretches: dict[str, list[int]],
    *,
    fingerprint: str,
    counts: Counter[str],
    text_bytes: int,
) -> None:
    """Note that a split is finished, and what reading it counted."""
    index = {
        "fingerprint": fingerprint,
        "text_bytes": text_bytes,
        "counts": dict(counts),
        "stretches": stretches,
    }
    write_json(path, index)


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
        index: dict[str, Any] = read_json(index_path(output, split))
        counts.update(index["counts"])
    return counts
