"""Finding the records of a TFRecord file that are not what was written.

TensorFlow's reader stops at the first of them without naming the file. Here a file is
walked record by record in Python: the frame (length, checksum of the length, data,
checksum of the data), then the example itself.
"""

import dataclasses
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import google_crc32c
import tensorflow as tf
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from schemas.config import DataConfig
from schemas.example import feature_length, least_length, stored_features
from schemas.manifest import ShardFile

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


@dataclasses.dataclass(frozen=True)
class CorruptRecord:
    """One record that cannot be used.

    Attributes:
        path: The file.
        number: Its place in the file, from 0.
        offset: Where its frame begins, in bytes.
        reason: What is wrong with it.
    """

    path: Path
    number: int
    offset: int
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.path}: record {self.number}, at byte {self.offset}, {self.reason}"
        )


def read_checked(
    dataset: Path, shard: ShardFile, config: DataConfig
) -> Iterator[bytes | CorruptRecord]:
    """Every record the manifest promises, or what is wrong with it.

    After a frame that does not tell where the next begins, the rest of the file is
    corrupt, and in a file that cannot be opened everything is. Always yields
    `shard.examples` items.
    """
    path = dataset / shard.name
    try:
        file = path.open("rb")
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
        yield from (CorruptRecord(path, n, 0, why) for n in range(shard.examples))
        return
    with file:
        for number in range(shard.examples):
            offset = file.tell()
            data = _read_frame(file.read)
            if isinstance(data, bytes):
                reason = unusable(data, config)
                yield CorruptRecord(path, number, offset, reason) if reason else data
                continue
            length, reason = data
            yield CorruptRecord(path, number, offset, reason)
            if length is None:
                file.seek(0, 2)


def _read_frame(read: Callable[[int], bytes]) -> bytes | tuple[int | None, str]:
    """The data of the next frame, or its length where that is known and a reason."""
    header = read(_LENGTH.size + _CHECKSUM.size)
    if len(header) < _LENGTH.size + _CHECKSUM.size:
        return None, "is missing: the file ends before it"
    (length,) = _LENGTH.unpack_from(header)
    if masked_checksum(header[:8]) != _CHECKSUM.unpack_from(header, 8)[0]:
        return None, "has a length that does not match its checksum"
    data = read(length + _CHECKSUM.size)
    if len(data) < length + _CHECKSUM.size:
        return None, "is cut off: the file ends in it"
    if masked_checksum(data[:length]) != _CHECKSUM.unpack_from(data, length)[0]:
        return length, "does not match its checksum"
    return data[:length]


def masked_checksum(data: bytes) -> int:
    """The checksum of TFRecord files: CRC-32C, rotated and shifted.

    >>> hex(masked_checksum(b""))
    '0xa282ead8'
    """
    crc = int(google_crc32c.value(data))
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def unusable(data: bytes, config: DataConfig) -> str | None:
    """Why a record is no example of this data set; None if it is one."""
    try:
        features = tf.train.Example.FromString(data).features.feature
    except DecodeError:
        return "is no tf.train.Example"
    for feature in stored_features(config.record_layout):
        kind = {"int64": "int64_list", "float32": "float_list"}[feature.dtype]
        if feature.name not in features:
            return f"has no {feature.name}"
        if features[feature.name].WhichOneof("kind") != kind:
            return f"has something else than {feature.dtype} in {feature.name}"
        most = feature_length(
            feature,
            max_seq_length=config.max_seq_length,
            max_predictions_per_seq=config.max_predictions_per_seq or 0,
        )
        count = len(getattr(features[feature.name], kind).value)
        least = least_length(feature)
        if not least <= count <= most:
            return (
                f"has {count} values of {feature.name}, which takes {least} to {most}"
            )
    return None


def first_corrupt(
    dataset: Path, shards: Iterable[ShardFile], config: DataConfig
) -> CorruptRecord | None:
    """The first corrupt record of some shards."""
    for shard in shards:
        for record in read_checked(dataset, shard, config):
            if isinstance(record, CorruptRecord):
                return record
    return None


class SkippedRecords:
    """Says once of each corrupt record that it is left out, and how many were.

    Args:
        say: Shows a line.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._seen: set[CorruptRecord] = set()

    def __call__(self, record: CorruptRecord) -> None:
        """Take note of one."""
        if record not in self._seen:
            self._seen.add(record)
            self._say(f"{record}; left out ({len(self._seen)} so far).")
