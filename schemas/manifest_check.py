"""What is wrong with a manifest that was edited or damaged, before anything uses it.

Readers trust every number and name of a manifest: as a file to open, as the shape of an
array, as a sum in a table. So this checks types, ranges and names, and that what the
manifest says twice agrees: the examples of the files and of their copy, the features
and the settings, the fingerprint and what it is a hash of.
"""

import hashlib
import json
from typing import Any

from schemas.config import DataConfig
from schemas.example import feature_length, stored_features
from schemas.json_shape import (
    COUNT,
    HASH,
    NUMBER,
    SHARE,
    TEXT,
    Each,
    Only,
    Rule,
    Shape,
    problem,
    text,
    whole_number,
)
from schemas.layout import (
    DOCUMENTS,
    EVAL,
    TRAIN,
    copy_directory,
    part_file,
)
from schemas.special_tokens import FIRST_ORDINARY_ID

# A record has at least its length and two checksums around it.
_FRAME_BYTES = 16
# Every example begins further on in its document, of tokens of two bytes or more.
_TOKEN_BYTES = 2

_SETTING = Rule(
    "a number, a short text, true, false or null",
    lambda value: (
        value is None
        or (isinstance(value, int | float) and abs(value) < 1 << 63)
        or (isinstance(value, str) and len(value) <= 100)
    ),
)
_COPY: Shape = {"examples": COUNT, "tokens": COUNT, "masked_tokens": COUNT}
_SPLIT: Shape = {"documents": COUNT, "copies": [_COPY]}
_FEATURE: Shape = {"name": TEXT, "dtype": TEXT, "length": COUNT, "meaning": TEXT}
_INPUT: Shape = {
    "name": TEXT,
    "kind": TEXT,
    "format": TEXT,
    "language": TEXT,
    "bytes": COUNT,
    # Of a file in remote storage it is the checksum that the storage gives.
    "sha256": TEXT,
}
_STATISTICS: Shape = {
    "short_share": SHARE,
    "document_end_share": SHARE,
    "fill": SHARE,
    "masked_share": SHARE,
    "mask_token_share": SHARE,
    "kept_share": SHARE,
    "random_share": SHARE,
    "unmasked_examples": COUNT,
    "pairs_without_other_document": COUNT,
    "label_1_share": SHARE,
    "unknown_share": SHARE,
    "mean_length": NUMBER,
    "ngram_shares": Each(text("a number of words", pattern="[0-9]{1,2}"), SHARE),
    "length_histogram": Each(text("a range", pattern="[0-9]{1,6}-[0-9]{1,6}"), COUNT),
}
_MANIFEST = Only(
    {
        "format": TEXT,
        "format_version": COUNT,
        "config": Each(TEXT, _SETTING),
        "features": [_FEATURE],
        "vocabulary": {
            "sha256": HASH,
            "size": whole_number(minimum=FIRST_ORDINARY_ID + 1),
        },
        "fingerprint": HASH,
        "versions": Each(TEXT, TEXT),
        "inputs": [_INPUT],
        "splits": Only({TRAIN: _SPLIT, EVAL: _SPLIT}),
        "statistics": _STATISTICS,
        "dropped": Each(TEXT, COUNT),
        "changed": Each(TEXT, COUNT),
        "shards": [
            Only({"name": TEXT, "examples": COUNT, "bytes": COUNT, "sha256": HASH})
        ],
    }
)
_RESOLVED: Shape = {
    "max_predictions_per_seq": whole_number(minimum=1),
    "num_shards": whole_number(minimum=1),
}


def fingerprint_of(values: dict[str, Any]) -> str:
    """The hash of all that decides the bytes of a data set.

    Args:
        values: The config, inputs, vocabulary and versions of a manifest; others are
            left aside.
    """
    names = ("config", "inputs", "vocabulary", "versions")
    deciding = json.dumps({name: values[name] for name in names}, sort_keys=True)
    return hashlib.sha256(deciding.encode()).hexdigest()


def feature_table(config: DataConfig) -> tuple[dict[str, Any], ...]:
    """The stored features with their maximum lengths."""
    return tuple(
        {
            "name": feature.name,
            "dtype": feature.dtype,
            "length": feature_length(
                feature,
                max_seq_length=config.max_seq_length,
                max_predictions_per_seq=config.max_predictions_per_seq or 1,
            ),
            "meaning": feature.meaning,
        }
        for feature in stored_features(config.record_layout)
    )


def shape_problem(values: dict[str, Any]) -> str:
    """What is missing or of another type in a manifest, as a clause; else empty."""
    found = problem(values, _MANIFEST)
    return found or problem({"config": values["config"]}, {"config": _RESOLVED})


def contradiction(values: dict[str, Any], config: DataConfig) -> str:
    """Where a manifest of the right shape contradicts itself, as a clause.

    Args:
        values: The JSON object.
        config: The settings in it.
    """
    if fingerprint_of(values) != values["fingerprint"]:
        return "fingerprint does not match its config, inputs, vocabulary and versions"
    if _without_meaning(values["features"]) != _without_meaning(feature_table(config)):
        return f"features are not those of a {config.record_layout} record"
    return _shards_problem(values, has_documents=config.examples == "on-the-fly")


def _without_meaning(features: Any) -> list[tuple[str, str, int]]:
    return [(f["name"], f["dtype"], f["length"]) for f in features]


def _shards_problem(values: dict[str, Any], *, has_documents: bool) -> str:
    """Where the files are not those of the copies, by their names and examples."""
    if not values["splits"][TRAIN]["copies"]:
        return "splits.train.copies is empty"
    counted = {
        copy_directory(split, copy): (f"splits.{split}.copies[{copy}]", counts)
        for split, described in values["splits"].items()
        for copy, counts in enumerate(described["copies"])
    }
    if has_documents:
        if len(values["splits"][TRAIN]["copies"]) != 1:
            return "splits.train.copies must have one entry, that of the first epoch"
        counted[DOCUMENTS] = counted.pop(copy_directory(TRAIN, 0))
    files: dict[str, list[dict[str, Any]]] = {folder: [] for folder in counted}
    for number, file in enumerate(values["shards"]):
        place, name = f"shards[{number}]", file["name"]
        if (folder := name.rpartition("/")[0]) not in files:
            return f"{place}.name {name[:99]!r} is not the name of a file of its copies"
        least = _TOKEN_BYTES if folder == DOCUMENTS else _FRAME_BYTES
        if file["examples"] > file["bytes"] // least:
            return f"{place} has more examples than its bytes can hold"
        files[folder].append(file)
    problems = (
        _copy_problem(folder, files[folder], place=place, counts=counts)
        for folder, (place, counts) in counted.items()
    )
    return next(filter(None, problems), "")


def _copy_problem(
    folder: str, files: list[dict[str, Any]], *, place: str, counts: dict[str, Any]
) -> str:
    """Where the files of a copy are not those that it must have."""
    names = [
        part_file(folder, number, num_parts=len(files)) for number in range(len(files))
    ]
    if [file["name"] for file in files] != names:
        return f"shards are not the files of {folder}"
    total = sum(file["examples"] for file in files)
    if total != counts["examples"]:
        return f"{place}.examples is {counts['examples']}, and its files hold {total}"
    return ""
