"""Whether the files of a data set are those of its manifest."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.dataset.contents import sha256_of, vocabulary_problem
from pipeline.records.reading import (
    CorruptRecord,
    read_shard,
    read_tokens,
    sequences_of_epoch,
)
from schemas.layout import DOCUMENTS, MANIFEST
from schemas.manifest import DatasetManifest, ShardFile


def verify(
    dataset: Path,
    manifest: DatasetManifest,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[str]:
    """Every way in which the files differ from the manifest, one sentence each.

    The vocabulary and every shard are hashed again, and every record is decoded and
    checked against the feature table; documents are divided into the sequences of the
    first epoch. Nothing is yielded for a data set that is whole.

    Args:
        dataset: The data set.
        manifest: Its manifest.
        progress: Called with the bytes of the shards that are done.
    """
    if problem := vocabulary_problem(dataset, manifest):
        yield problem
    done = 0
    for shard in manifest.shards:
        yield from _verify_shard(dataset, shard, manifest)
        done += shard.bytes
        progress(done)


def _verify_shard(
    dataset: Path, shard: ShardFile, manifest: DatasetManifest
) -> Iterator[str]:
    path = dataset / shard.name
    if not path.exists():
        yield f"{shard.name} is missing."
        return
    if path.is_file() and sha256_of(path) != shard.sha256:
        yield f"{shard.name} is not the file that the manifest describes."
    if shard.name.startswith(f"{DOCUMENTS}/"):
        yield from _verify_documents(dataset, shard, manifest)
        return
    for item in itertools.chain.from_iterable(read_shard(dataset, shard, manifest)):
        if isinstance(item, CorruptRecord):
            yield f"{shard.name}: {item.sentence}."


def _verify_documents(
    dataset: Path, shard: ShardFile, manifest: DatasetManifest
) -> Iterator[str]:
    tokens = read_tokens(dataset, shard, manifest, config=manifest.config)
    if isinstance(tokens, CorruptRecord):
        yield f"{shard.name}: {tokens.sentence}."
        return
    examples = len(sequences_of_epoch(tokens, 0, config=manifest.config))
    if examples != shard.examples:
        yield (
            f"{shard.name}: its first epoch has {examples:,} examples, and {MANIFEST} "
            f"says {shard.examples:,}."
        )
