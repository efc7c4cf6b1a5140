"""Whether the files of a data set are those of its manifest."""

import hashlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pipeline.records.checks import decode_example
from pipeline.records.epochs import read_copy, read_tokens, sequences_of_epoch
from pipeline.records.reading import CorruptRecord, read_shard
from pipeline.vocabulary.tokenizer import Tokenizer, check_model, load_tokenizer
from schemas.errors import AlbertError
from schemas.layout import DOCUMENTS, MANIFEST, SPM_MODEL
from schemas.manifest import DatasetManifest, ShardFile

Features = dict[str, Any]


def verify(
    dataset: Path,
    manifest: DatasetManifest,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> Iterator[str]:
    """Every way in which the files differ from the manifest, one sentence each.

    The vocabulary and every shard are hashed again, and every record is decoded and
    held against the feature table; documents are divided into the sequences of the
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


def vocabulary_problem(dataset: Path, manifest: DatasetManifest) -> str:
    """Why the vocabulary is not that of the data, as a sentence; empty if it is."""
    path = dataset / SPM_MODEL
    if not path.is_file():
        return f"{SPM_MODEL} is missing."
    if _hash(path) != manifest.vocabulary["sha256"]:
        return (
            f"{SPM_MODEL} is not the vocabulary that the data was made with; put that "
            "one back."
        )
    model = path.read_bytes()
    try:
        check_model(model, path=path)
    except AlbertError as error:
        return str(error)
    size, expected = load_tokenizer(model).vocab_size, manifest.vocabulary["size"]
    if size != expected:
        return f"{SPM_MODEL} has {size:,} pieces, and {MANIFEST} says {expected:,}."
    return ""


def load_vocabulary(dataset: Path, manifest: DatasetManifest) -> Tokenizer:
    """The vocabulary of a data set.

    Raises:
        AlbertError: It is missing, or not that of the data.
    """
    if problem := vocabulary_problem(dataset, manifest):
        raise AlbertError(f"{dataset} is damaged: {problem}")
    return load_tokenizer((dataset / SPM_MODEL).read_bytes())


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verify_shard(
    dataset: Path, shard: ShardFile, manifest: DatasetManifest
) -> Iterator[str]:
    path = dataset / shard.name
    if not path.exists():
        yield f"{shard.name} is missing."
        return
    if path.is_file() and _hash(path) != shard.sha256:
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


def unpadded(features: Features) -> tuple[list[int], list[int]]:
    """The token ids and the masked places of a record without their padding."""
    ids, positions = features["input_ids"], features["masked_lm_positions"]
    if "input_mask" in features:
        ids = ids[: sum(features["input_mask"])]
        positions = positions[: round(sum(features["masked_lm_weights"]))]
    return list(ids), list(positions)


def read_examples(
    dataset: Path, manifest: DatasetManifest, *, split: str, copy: int
) -> Iterator[Features]:
    """The features of all records of a copy, in the order of the files.

    Raises:
        AlbertError: A file is missing or a record is corrupt.
    """
    layout = manifest.config.record_layout
    for shard in manifest.shard_files(split, copy):
        items = read_copy(dataset, shard, manifest, copy=copy)
        for item in itertools.chain.from_iterable(items):
            if isinstance(item, CorruptRecord):
                raise AlbertError(f"{item}; make the data again.")
            yield decode_example(item, layout)
