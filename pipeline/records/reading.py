"""The records of a shard: each as it was written, or what is wrong with it.

Everything that reads stored examples reads them here: training, reports, `albert
inspect`.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pipeline.records.checks import problems
from pipeline.records.tfrecord import Frame, read_frames
from schemas.layout import MANIFEST
from schemas.manifest import DatasetManifest, ShardFile

# Records checked at a time: enough for array operations, little to wait for.
CHUNK = 256


@dataclasses.dataclass(frozen=True)
class CorruptRecord:
    """A record that cannot be used.

    Attributes:
        path: The file.
        number: Its place in the file, from 0.
        offset: Where its frame begins, in bytes.
        problem: What is wrong with it.
        lost: How many of the promised records cannot be used because of it: itself, and
            all after it if the file does not say where the next one begins.
    """

    path: Path
    number: int
    offset: int
    problem: str
    lost: int = 1

    def __str__(self) -> str:
        return f"{self.path}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """What is wrong, without the name of the file."""
        after = f", and {self.lost - 1:,} after it are lost" if self.lost > 1 else ""
        return f"record {self.number}, at byte {self.offset}, {self.problem}{after}"


Item = bytes | CorruptRecord


def open_shard(path: Path) -> BinaryIO:
    """Open a file of records; a device or a pipe, which might never end, is none.

    Raises:
        OSError: It cannot be read.
    """
    if path.exists() and not path.is_file():
        raise OSError(None, "it is not a file")
    return path.open("rb")


def read_shard(
    dataset: Path, shard: ShardFile, manifest: DatasetManifest
) -> Iterator[list[Item]]:
    """What a shard holds, some records at a time, in the order of the file.

    The records and the `lost` of the corrupt ones add up to `shard.examples`. A file
    that holds more than these ends with a corrupt record whose `lost` is 0.
    """
    path = dataset / shard.name
    number = 0
    try:
        with open_shard(path) as file:
            frames = read_frames(file)
            promised = itertools.islice(frames, shard.examples)
            while some := list(itertools.islice(promised, CHUNK)):
                yield _checked(some, manifest, path=path, first=number)
                number += len(some)
            if number < shard.examples:
                end, lost = file.seek(0, 2), shard.examples - number
                yield [CorruptRecord(path, number, end, "cannot be found", lost)]
            elif surplus := next(frames, None):
                problem = f"is more than the {number:,} that {MANIFEST} promises"
                yield [CorruptRecord(path, number, surplus.offset, problem, lost=0)]
    except OSError as error:
        problem, lost = f"cannot be read: {error.strerror}", shard.examples - number
        yield [CorruptRecord(path, number, 0, problem, lost)]


def _checked(
    frames: list[Frame], manifest: DatasetManifest, *, path: Path, first: int
) -> list[Item]:
    """The records of some frames, the first of which has this number."""
    found = problems(
        [frame.record for frame in frames],
        manifest.config,
        vocab_size=manifest.vocabulary["size"],
    )
    return [
        CorruptRecord(path, number, frame.offset, frame.problem or problem)
        if frame.problem or problem
        else frame.record
        for number, (frame, problem) in enumerate(
            zip(frames, found, strict=True), start=first
        )
    ]
