"""Whether the files of a data set are what its manifest says."""

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.tf_example import decode_example
from pipeline.tfrecord import read_records
from schemas.config import DataConfig
from schemas.errors import AlbertError
from schemas.example import feature_length, least_length, stored_features
from schemas.layout import SPM_MODEL
from schemas.manifest import DatasetManifest, ShardFile
from schemas.special_tokens import CLS_ID, FIRST_ORDINARY_ID, SEP_ID

Features = dict[str, Any]


def verify(dataset: Path, manifest: DatasetManifest) -> Iterator[str]:
    """Every way in which the files differ from the manifest, one sentence each.

    The vocabulary and every shard are hashed again, and every record is decoded and
    held against the feature table. Nothing is yielded for a data set that is whole.
    """
    model = dataset / SPM_MODEL
    if not model.exists():
        yield f"{SPM_MODEL} is missing."
    elif _hash(model) != manifest.vocabulary["sha256"]:
        yield f"{SPM_MODEL} is not the vocabulary that the data was made with."
    for shard in manifest.shards:
        yield from _verify_shard(dataset, shard, manifest)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _verify_shard(
    dataset: Path, shard: ShardFile, manifest: DatasetManifest
) -> Iterator[str]:
    path = dataset / shard.name
    if not path.exists():
        yield f"{shard.name} is missing."
        return
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != shard.sha256:
        yield f"{shard.name} is not the file that the manifest describes."
    count = 0
    try:
        for count, record in enumerate(read_records(io.BytesIO(data)), start=1):
            if problem := record_problem(
                record, manifest.config, vocab_size=manifest.vocabulary["size"]
            ):
                yield f"{shard.name}: record {count} {problem}."
    except ValueError as error:
        yield f"{shard.name}: {error}."
        return
    if count != shard.examples:
        yield f"{shard.name} has {count} records, the manifest {shard.examples}."


def record_problem(record: bytes, config: DataConfig, *, vocab_size: int) -> str:
    """What is wrong with a record; empty if nothing is."""
    try:
        features = decode_example(record)
    except ValueError:
        return "is no tf.train.Example"
    for feature in stored_features(config.record_layout):
        if feature.name not in features:
            return f"has no {feature.name}"
        kind = float if feature.dtype == "float32" else int
        if not all(isinstance(value, kind) for value in features[feature.name]):
            return f"has something else than {feature.dtype} in {feature.name}"
        most = feature_length(
            feature,
            max_seq_length=config.max_seq_length,
            max_predictions_per_seq=config.max_predictions_per_seq or 1,
        )
        least = most if config.record_layout == "padded" else least_length(feature)
        count = len(features[feature.name])
        if not least <= count <= most:
            return (
                f"has {count} values of {feature.name}, which takes {least} to {most}"
            )
    return _content_problem(features, vocab_size=vocab_size)


def _content_problem(features: Features, *, vocab_size: int) -> str:
    ids, positions = unpadded(features)
    labels = features["masked_lm_ids"]
    if "input_mask" in features:
        labels = labels[: len(positions)]
    if features["next_sentence_labels"][0] not in (0, 1):
        return "has a label that is neither 0 nor 1"
    return _text_problem(ids, vocab_size=vocab_size) or _masks_problem(
        positions, labels, length=len(ids), vocab_size=vocab_size
    )


def _text_problem(ids: list[int], *, vocab_size: int) -> str:
    if not ids or ids[0] != CLS_ID or ids[-1] != SEP_ID:
        return "does not begin with [CLS] and end with [SEP]"
    if max(ids) >= vocab_size:
        return "has a piece that the vocabulary has not"
    return ""


def _masks_problem(
    positions: list[int], labels: list[int], *, length: int, vocab_size: int
) -> str:
    if len(labels) != len(positions):
        return f"has {len(positions)} masked places and {len(labels)} labels"
    if any(not FIRST_ORDINARY_ID <= label < vocab_size for label in labels):
        return "has a masked piece that is special or that the vocabulary has not"
    if positions != sorted(set(positions)):
        return "has masked places that do not ascend"
    if positions and not 0 < positions[0] <= positions[-1] < length - 1:
        return "has a masked place outside its text"
    return ""


def unpadded(features: Features) -> tuple[list[int], list[int]]:
    """The piece ids and the masked places of a record without their padding."""
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
        AlbertError: A file is missing or damaged.
    """
    for shard in manifest.shard_files(split, copy):
        try:
            with (dataset / shard.name).open("rb") as file:
                yield from map(decode_example, read_records(file))
        except FileNotFoundError:
            raise AlbertError(f"{dataset / shard.name} is missing.") from None
        except ValueError as error:
            raise AlbertError(f"{dataset / shard.name}: {error}.") from error
