"""The records of any copy of a split: read where they are stored, else made.

Epoch e of documents is what copy e would be if copies were stored, byte for byte.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from pipeline.examples.examples import Float, make_examples
from pipeline.examples.sequences import Sequences, pack_copies
from pipeline.examples.tokens import Tokens
from pipeline.records.documents import decode_documents, tokens_of
from pipeline.records.features import encode_rows
from pipeline.records.reading import CorruptRecord, Item, open_shard, read_shard
from pipeline.records.tfrecord import Frame, read_frames
from schemas.config import ResolvedDataConfig
from schemas.layout import DOCUMENTS, MANIFEST
from schemas.manifest import DatasetManifest, ShardFile


def read_copy(
    dataset: Path, shard: ShardFile, manifest: DatasetManifest, *, copy: int
) -> Iterator[Sequence[Item]]:
    """The records of a shard in a copy, some at a time, in their order.

    Args:
        dataset: The data set.
        shard: One of `manifest.shard_files(split, copy)`.
        manifest: Of the data set.
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
    yield from records_of(
        sequences,
        tokens,
        vocab_size=manifest.vocabulary["size"],
        config=manifest.config,
    )


def sequences_of_epoch(
    tokens: Tokens, epoch: int, *, config: ResolvedDataConfig
) -> Sequences:
    """The sequences of a shard in an epoch, in the order of their records.

    There is one for each example; making it takes a twentieth of the example's time.
    """
    (sequences,) = pack_copies(tokens, copies=range(epoch, epoch + 1), config=config)
    return sequences


def records_of(
    sequences: Sequences,
    tokens: Tokens,
    *,
    vocab_size: int,
    config: ResolvedDataConfig,
    masked_shares: Float | None = None,
) -> Iterator[list[bytes]]:
    """The records of sequences of a shard, many at a time; as for `make_examples`."""
    for batch in make_examples(
        sequences,
        tokens,
        vocab_size=vocab_size,
        config=config,
        masked_shares=masked_shares,
    ):
        yield encode_rows(batch.rows, batch.masked, batch.pairs.labels, config=config)


def read_tokens(
    dataset: Path,
    shard: ShardFile,
    manifest: DatasetManifest,
    *,
    config: ResolvedDataConfig,
) -> Tokens | CorruptRecord:
    """The documents of a shard, or the first thing that is wrong with them.

    One that is missing would change the examples of others, so none can be left out.

    Args:
        dataset: The data set.
        shard: A file of documents.
        manifest: Of the data set.
        config: The settings of the examples that are to be made.
    """
    path = dataset / shard.name
    frames: list[Frame] = []
    try:
        with open_shard(path) as file:
            frames += _promised(file, shard)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        return CorruptRecord(path, len(frames), 0, problem)
    whole = [frame for frame in frames if not frame.problem]
    size = manifest.vocabulary["size"]
    try:
        documents = decode_documents([f.record for f in whole], vocab_size=size)
    except ValueError:
        frames = [frame._replace(problem=_problem(frame, size)) for frame in frames]
    for number, frame in enumerate(frames):
        if frame.problem:
            return CorruptRecord(path, number, frame.offset, frame.problem)
    return tokens_of(documents, config)


def _promised(file: BinaryIO, shard: ShardFile) -> Iterator[Frame]:
    """The frames of a file up to the first with a problem, which is the last."""
    for frame in read_frames(file):
        if not frame.problem and frame.offset >= shard.bytes:
            frame = frame._replace(problem=f"is more than {MANIFEST} promises")
        yield frame
        if frame.problem:
            return
    end = file.seek(0, 2)
    if end < shard.bytes:
        yield Frame(end, b"", "cannot be found")


def _problem(frame: Frame, vocab_size: int) -> str:
    """What is wrong with a frame or the document in it; empty if nothing is."""
    if not frame.problem:
        try:
            decode_documents([frame.record], vocab_size=vocab_size)
        except ValueError as error:
            return str(error)
    return frame.problem
