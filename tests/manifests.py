"""Whole manifests for tests, and edited ones that still agree with themselves."""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from schemas.config import DataConfig
from schemas.files import json_text
from schemas.layout import EVAL, TRAIN, copy_directory
from schemas.manifest import DatasetManifest, ShardFile, fingerprint_of

STATISTICS: dict[str, Any] = {
    "short_share": 0.1,
    "document_end_share": 0.0,
    "fill": 0.9,
    "masked_share": 0.15,
    "mask_token_share": 0.8,
    "kept_share": 0.1,
    "random_share": 0.1,
    "unmasked_examples": 0,
    "pairs_without_other_document": 0,
    "label_1_share": 0.5,
    "unknown_share": 0.0,
    "mean_length": 100.0,
    "ngram_shares": {"1": 0.5, "2": 0.5},
    "length_histogram": {"96-127": 9},
}


def described(name: str, examples: int, **others: Any) -> ShardFile:
    """A file of a data set; of a kilobyte for each example, unless `others` say more."""
    given = {"bytes": 1000 * examples, "sha256": "0" * 64} | others
    return ShardFile(name=name, examples=examples, **given)


def manifest_of(
    files: list[ShardFile], config: DataConfig, *, sha256: str, vocab_size: int
) -> DatasetManifest:
    """The manifest of a data set that has these files."""
    examples: Counter[str] = Counter()
    for file in files:
        examples[file.name.rpartition("/")[0]] += file.examples
    splits: dict[str, Any] = {}
    for split in (TRAIN, EVAL):
        copies = []
        while (folder := copy_directory(split, len(copies))) in examples:
            counts = {"tokens": 0, "masked_tokens": 0}
            copies.append({"examples": examples[folder]} | counts)
        splits[split] = {"documents": len(copies[:1]), "copies": copies}
    manifest = DatasetManifest(
        config=config,
        vocabulary={"file": "spiece.model", "sha256": sha256, "size": vocab_size},
        fingerprint="",
        versions={"albert": "0.1.0"},
        inputs=(),
        splits=splits,
        statistics=STATISTICS,
        dropped={},
        changed={},
        shards=tuple(sorted(files, key=lambda file: file.name)),
    )
    return with_fingerprint(manifest)


def with_fingerprint(manifest: DatasetManifest) -> DatasetManifest:
    """The same manifest with the fingerprint of what it says."""
    fingerprint = fingerprint_of(manifest.to_dict())
    return dataclasses.replace(manifest, fingerprint=fingerprint)


def edit_manifest(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit a manifest file in place and give it the fingerprint of what it then says.

    Args:
        path: The file.
        edit: Changes the JSON object that it is given.
    """
    values = json.loads(path.read_text(encoding="utf-8"))
    edit(values)
    values["fingerprint"] = fingerprint_of(values)
    path.write_text(json_text(values), encoding="utf-8")


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a JSON value, from the outermost to the innermost."""
    yield place
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inner:
            yield from places(item, (*place, key))
