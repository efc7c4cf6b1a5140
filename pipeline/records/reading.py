"""The records of any copy of a split: read where they are stored, else made.

Training, reports and `albert inspect` read here, and get each record as it was written
or what is wrong with it. A file that is not the one that the manifest describes, by its
sha256, gives no record at all: records that were swapped, doubled or changed under a
right checksum look like any others. Epoch e of documents is what copy e would be if
copies were stored, byte for byte. Other processes make records where one cannot make them
as fast as they are trained on (`Makers`).
"""

import contextlib
import dataclasses
import functools
import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from pipeline.core.draws import Bool, Int
from pipeline.core.machine import usable_cores
from pipeline.core.worker_processes import WorkerProcesses
from pipeline.examples.examples import Float, make_examples, pack_copies
from pipeline.examples.packing import Sequences, Tokens
from pipeline.records.checks import decode_columns, problems
from pipeline.records.documents import decode_documents
from pipeline.records.tfrecord import Frame, encode_rows, read_frames
from schemas.config import ResolvedDataConfig
from schemas.errors import AlbertError
from schemas.example import RecordLayout
from schemas.layout import DOCUMENTS, MANIFEST
from schemas.manifest import DatasetManifest, ShardFile

# What to do about a damaged file.
REMEDY = (
    "delete the file and run the same albert make-data again: it makes the file anew, byte for byte"
)

# Records checked at a time: enough for array operations, little to wait for.
BATCH_RECORDS = 256


@dataclasses.dataclass(frozen=True)
class CorruptRecord:
    """A record, or a whole file, that cannot be used.

    Attributes:
        number: Its place in the file, from 0; None for a whole file.
        offset: Where its frame begins, in bytes.
        lost: How many of the promised records cannot be used because of it: itself, and
            all after it if the file does not say where the next one begins.
    """

    path: Path
    number: int | None
    offset: int
    problem: str
    lost: int = 1

    def __str__(self) -> str:
        if self.number is None:
            return f"{self.path} {self.problem}"
        return f"{self.path}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """What is wrong, without the name of the file."""
        after = f", and {self.lost - 1:,} after it are lost" if self.lost > 1 else ""
        return f"record {self.number}, at byte {self.offset}, {self.problem}{after}"


Item = bytes | CorruptRecord


def open_shard(path: Path) -> BufferedReader:
    """Open a file of records; refuses devices and pipes, which may never end."""
    if path.exists() and not path.is_file():
        raise OSError(None, "it is not a file")
    return path.open("rb")


# The hashes of files that this process has read; a file that is written again has
# another time or number, and so another key.
_hashes: dict[tuple[int, ...], str] = {}


def file_sha256(file: BufferedReader) -> str:
    """The hash of an open file, which this process computes once."""
    found = os.fstat(file.fileno())
    times = found.st_mtime_ns, found.st_ctime_ns
    key = (found.st_dev, found.st_ino, found.st_size, *times)
    if key not in _hashes:
        _hashes[key] = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
    return _hashes[key]


def _altered(path: Path, *, lost: int = 1) -> CorruptRecord:
    problem = "is not the file that the manifest describes"
    return CorruptRecord(path, None, 0, problem, lost)


def read_shard(dataset: Path, shard: ShardFile, manifest: DatasetManifest) -> Iterator[list[Item]]:
    """What a shard holds, some records at a time, in the order of the file.

    The records and the `lost` of the corrupt ones add up to `shard.examples`. A file
    that holds more than these ends with a corrupt record whose `lost` is 0. Of a file
    that is not the one of the manifest all records are lost.
    """
    path = dataset / shard.name
    number = 0
    try:
        with open_shard(path) as file:
            size = os.fstat(file.fileno()).st_size
            is_altered = size != shard.bytes or file_sha256(file) != shard.sha256
            records = _read_records(file, shard, manifest, path=path)
            if is_altered:
                # Its corrupt records, and the file itself.
                found = itertools.chain.from_iterable(records)
                corrupt = [item for item in found if isinstance(item, CorruptRecord)]
                lost = shard.examples - sum(item.lost for item in corrupt)
                yield [*corrupt, _altered(path, lost=lost)]
                return
            for items in records:
                yield items
                number += len(items)
    except OSError as error:
        problem, lost = f"cannot be read: {error.strerror}", shard.examples - number
        yield [CorruptRecord(path, number, 0, problem, lost)]


def _read_records(
    file: BinaryIO, shard: ShardFile, manifest: DatasetManifest, *, path: Path
) -> Iterator[list[Item]]:
    number = 0
    frames = read_frames(file)
    promised = itertools.islice(frames, shard.examples)
    while some := list(itertools.islice(promised, BATCH_RECORDS)):
        found = problems(
            [frame.record for frame in some],
            manifest.config,
            vocab_size=manifest.vocabulary["size"],
        )
        yield [
            CorruptRecord(path, place, frame.offset, frame.problem or problem)
            if frame.problem or problem
            else frame.record
            for place, (frame, problem) in enumerate(zip(some, found, strict=True), start=number)
        ]
        number += len(some)
    if number < shard.examples:
        end, lost = file.seek(0, 2), shard.examples - number
        yield [CorruptRecord(path, number, end, "cannot be found", lost)]
    elif surplus := next(frames, None):
        problem = f"is more than the {number:,} that {MANIFEST} promises"
        yield [CorruptRecord(path, number, surplus.offset, problem, lost=0)]


def read_copy(
    dataset: Path, shard: ShardFile, manifest: DatasetManifest, *, copy: int
) -> Iterator[Sequence[Item]]:
    """The records of a shard in a copy, some at a time, in their order.

    Args:
        shard: One of `manifest.shard_files(split, copy)`.
        copy: The number of the copy or, if documents are stored, of the epoch.
    """
    if not shard.name.startswith(f"{DOCUMENTS}/"):
        yield from read_shard(dataset, shard, manifest)
        return
    tokens = read_tokens(dataset, shard, manifest, config=manifest.config)
    if isinstance(tokens, CorruptRecord):
        yield [tokens]
        return
    sequences = sequences_of_epoch(tokens, copy, config=manifest.config)
    yield from make_records(sequences, tokens, manifest, config=manifest.config)


def sequences_of_epoch(tokens: Tokens, epoch: int, *, config: ResolvedDataConfig) -> Sequences:
    """The sequences of a shard in an epoch, in the order of their records.

    There is one for each example; making it takes a twentieth of the example's time.
    """
    (sequences,) = pack_copies(tokens, copies=range(epoch, epoch + 1), config=config)
    return sequences


def make_records(
    sequences: Sequences,
    tokens: Tokens,
    manifest: DatasetManifest,
    *,
    config: ResolvedDataConfig,
    masked_shares: Float | None = None,
) -> Iterator[list[bytes]]:
    """The records of sequences of a shard, many at a time; as for `make_examples`."""
    size = manifest.vocabulary["size"]
    for batch in make_examples(
        sequences, tokens, vocab_size=size, config=config, masked_shares=masked_shares
    ):
        yield encode_rows(batch.rows, batch.masked, batch.pairs.labels, config=config)


def read_tokens(
    dataset: Path, shard: ShardFile, manifest: DatasetManifest, *, config: ResolvedDataConfig
) -> Tokens | CorruptRecord:
    """The documents of a shard, or the first thing that is wrong with them.

    One that is missing would change the examples of others, so none can be left out.
    The settings are those of the examples to be made.
    """
    path = dataset / shard.name
    frames: list[Frame] = []
    try:
        with open_shard(path) as file:
            is_altered = file_sha256(file) != shard.sha256
            # Up to the first with a problem.
            for frame in read_frames(file):
                if not frame.problem and frame.offset >= shard.bytes:
                    frame = frame._replace(problem=f"is more than {MANIFEST} promises")
                frames.append(frame)
                if frame.problem:
                    break
            else:
                if (end := file.seek(0, os.SEEK_END)) < shard.bytes:
                    frames.append(Frame(end, b"", "cannot be found"))
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        return CorruptRecord(path, len(frames), 0, problem)
    bad = frames.pop() if frames and frames[-1].problem else None
    records, size = [frame.record for frame in frames], manifest.vocabulary["size"]
    try:
        tokens = decode_documents(records, vocab_size=size, config=config)
    except ValueError:
        # Of one alone it is said what is wrong.
        for number, frame in enumerate(frames):
            try:
                decode_documents([frame.record], vocab_size=size, config=config)
            except ValueError as error:
                return CorruptRecord(path, number, frame.offset, str(error))
    if bad:
        return CorruptRecord(path, len(frames), bad.offset, bad.problem)
    if is_altered:
        return _altered(path)
    return tokens


def intact(items: Iterable[Item]) -> Iterator[bytes]:
    """The records, as long as nothing is wrong with one."""
    for item in items:
        if isinstance(item, CorruptRecord):
            raise AlbertError(f"{item}; {REMEDY}.")
        yield item


class Unmasked(NamedTuple):
    """R rows of text, one after the other.

    Attributes:
        ids: The tokens as they were before masking, `[T]`.
        shown: The tokens as a model sees them, `[T]`.
        is_masked: Which of them a model is asked about, `[T]`.
        offsets: Where each row starts; the last is T, `[R + 1]`.
    """

    ids: Int
    shown: Int
    is_masked: Bool
    offsets: Int

    @property
    def masked_of_rows(self) -> Int:
        """How many tokens of each row a model is asked about, `[R]`."""
        before = np.append(0, np.cumsum(self.is_masked))
        return np.diff(before[self.offsets])

    @property
    def rows(self) -> list[Int]:
        """The tokens of each row."""
        return np.split(self.ids, self.offsets[1:-1])

    def first(self, rows: int) -> "Unmasked":
        """The first rows."""
        offsets = self.offsets[: rows + 1]
        some = slice(offsets[-1])
        return Unmasked(self.ids[some], self.shown[some], self.is_masked[some], offsets)


def unmasked(records: list[bytes], layout: RecordLayout) -> Unmasked:
    """The text of records in which nothing is wrong."""
    columns = decode_columns(records, layout)
    shown, offsets = columns["input_ids"]
    positions, bounds = columns["masked_lm_positions"]
    places = positions + np.repeat(offsets[:-1], np.diff(bounds))
    ids, is_masked = shown.copy(), np.zeros(len(shown), np.bool_)
    ids[places] = columns["masked_lm_ids"].values
    is_masked[places] = True
    return Unmasked(ids, shown, is_masked, offsets)


def read_unmasked(
    dataset: Path, manifest: DatasetManifest, *, split: str, copy: int = 0
) -> Iterator[Unmasked]:
    """The text of a copy of a split in the order of its files, some rows at a time."""
    for shard in manifest.shard_files(split, copy):
        for items in read_copy(dataset, shard, manifest, copy=copy):
            if records := list(intact(items)):
                yield unmasked(records, manifest.config.record_layout)


# The most processes: each makes 3,000 to 4,000 examples of 128 tokens a second. The training
# has two cores for itself.
MOST_MAKERS, CORES_OF_TRAINING = 12, 2

# Shards whose documents a process keeps: those of a group.
KEPT_SHARDS = 8


def spare_processes() -> int:
    """How many processes this machine has cores for beside a training."""
    return max(0, min(MOST_MAKERS, usable_cores() - CORES_OF_TRAINING))


class Makers:
    """Makes the records of sequences elsewhere; `end` has to be called."""

    def __init__(
        self, dataset: Path, manifest: DatasetManifest, config: ResolvedDataConfig, *, number: int
    ) -> None:
        self._workers = WorkerProcesses(number, _begin, dataset, manifest, config)

    def records(
        self, shard: str, sequences: Sequences, masked_shares: Float | None
    ) -> Callable[[], list[bytes] | None]:
        """Begin to make those of sequences of a shard; what waits for them.

        That gives None where a process was killed, or cannot read the shard any more.
        """
        # They were ended.
        with contextlib.suppress(RuntimeError):
            made = self._workers.submit(_made, shard, sequences, masked_shares)
            return functools.partial(_result, made)
        return lambda: None

    def end(self) -> None:
        """End the processes."""
        self._workers.end()


def _result(made: Future[list[bytes] | None]) -> list[bytes] | None:
    with contextlib.suppress(Exception):
        return made.result()
    return None


# What this process makes records of.
_source: tuple[Path, DatasetManifest, ResolvedDataConfig]


def _begin(*source: Any) -> None:
    global _source
    _source = source


@functools.lru_cache(KEPT_SHARDS)
def _tokens(name: str) -> Tokens | CorruptRecord:
    dataset, manifest, config = _source
    (shard,) = (each for each in manifest.shards if each.name == name)
    return read_tokens(dataset, shard, manifest, config=config)


def _made(name: str, sequences: Sequences, masked_shares: Float | None) -> list[bytes] | None:
    tokens = _tokens(name)
    if isinstance(tokens, CorruptRecord):
        return None
    _, manifest, config = _source
    records = make_records(sequences, tokens, manifest, config=config, masked_shares=masked_shares)
    return list(itertools.chain.from_iterable(records))
