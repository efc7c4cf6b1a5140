"""The vocabulary and the records of a data set, for those who read them."""

import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.records.checks import decode_example
from pipeline.records.reading import CorruptRecord, read_copy
from pipeline.vocabulary.tokenizer import Tokenizer, check_model, load_tokenizer
from schemas.errors import AlbertError
from schemas.layout import MANIFEST, SPM_MODEL
from schemas.manifest import DatasetManifest

Features = dict[str, Any]


def load_vocabulary(dataset: Path, manifest: DatasetManifest) -> Tokenizer:
    """The vocabulary of a data set.

    Raises:
        AlbertError: It is missing, or not that of the data.
    """
    if problem := vocabulary_problem(dataset, manifest):
        raise AlbertError(f"{dataset} is damaged: {problem}")
    return load_tokenizer((dataset / SPM_MODEL).read_bytes())


def vocabulary_problem(dataset: Path, manifest: DatasetManifest) -> str:
    """Why the vocabulary is not that of the data, as a sentence; empty if it is."""
    path = dataset / SPM_MODEL
    if not path.is_file():
        return f"{SPM_MODEL} is missing."
    if sha256_of(path) != manifest.vocabulary["sha256"]:
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


def sha256_of(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def unpadded(features: Features) -> tuple[list[int], list[int]]:
    """The token ids and the masked places of a record without their padding."""
    ids, positions = features["input_ids"], features["masked_lm_positions"]
    if "input_mask" in features:
        ids = ids[: sum(features["input_mask"])]
        positions = positions[: round(sum(features["masked_lm_weights"]))]
    return list(ids), list(positions)
