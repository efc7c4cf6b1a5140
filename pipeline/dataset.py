"""A data set from its finished shards: fingerprint, manifest and data card."""

import dataclasses
import hashlib
import json
import unicodedata
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipeline.files import join, write_json, write_text
from pipeline.inputs import InputFile
from pipeline.statistics import Counts, drops_and_changes, realised
from schemas import __version__
from schemas.config import DataConfig
from schemas.errors import AlbertError
from schemas.example import feature_length, stored_features
from schemas.layout import DATA_CARD, EVAL, MANIFEST, SPM_MODEL, TRAIN
from schemas.manifest import DatasetManifest, ShardFile

# What the card calls the shares of the manifest.
_WORDS = {
    "short_share": "sequences with a short target",
    "document_end_share": "sequences that end a document",
    "fill": "fill of the other sequences",
    "masked_share": "pieces masked",
    "mask_token_share": "masked pieces shown as [MASK]",
    "kept_share": "masked pieces left as they are",
    "random_share": "masked pieces replaced by another",
    "label_1_share": "pairs with label 1 (swapped, or from elsewhere)",
    "unknown_share": "unknown pieces",
}

NOTHING_TO_TRAIN_ON = "The inputs give no document to train on"


@dataclasses.dataclass(frozen=True, kw_only=True)
class DatasetPlan:
    """What decides every byte of a data set.

    Attributes:
        config: The settings as resolved.
        inputs: What was read, by content.
        vocabulary: Name, hash and size of the SentencePiece model.
    """

    config: DataConfig
    inputs: tuple[dict[str, Any], ...]
    vocabulary: dict[str, Any]

    def fingerprint(self) -> str:
        """Hash of the plan and of the tools that carry it out."""
        values = dataclasses.asdict(self) | {"versions": tool_versions()}
        text = json.dumps(values, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def plan_dataset(
    config: DataConfig,
    files: list[InputFile],
    *,
    vocab_sha256: str,
    vocab_size: int,
) -> DatasetPlan:
    """The plan for some inputs, in whatever order they were given."""
    inputs = sorted(
        (file.describe() for file in files),
        key=lambda d: (d["kind"], d["sha256"], d["name"]),
    )
    return DatasetPlan(
        config=config,
        inputs=tuple(inputs),
        vocabulary={"file": SPM_MODEL, "sha256": vocab_sha256, "size": vocab_size},
    )


def tool_versions() -> dict[str, str]:
    """Versions of the tools on which the bytes depend."""
    return {
        "albert": __version__,
        "sentencepiece": version("sentencepiece"),
        "sentencex": version("sentencex"),
        "unicode": unicodedata.unidata_version,
    }


def write_dataset(
    plan: DatasetPlan,
    sidecars: list[dict[str, Any]],
    read_counts: Counter[str],
    *,
    output: str | Path,
) -> None:
    """Write the data card and then, as the last file of all, the manifest.

    Raises:
        AlbertError: No document was found.
    """
    manifest = make_manifest(plan, sidecars, read_counts)
    if not manifest.splits[TRAIN]["copies"][0]["examples"]:
        reasons = "; ".join(f"{n} x {reason}" for reason, n in manifest.dropped.items())
        raise AlbertError(
            NOTHING_TO_TRAIN_ON + (f" (left out: {reasons})." if reasons else ".")
        )
    write_text(join(output, DATA_CARD), data_card(manifest))
    write_json(join(output, MANIFEST), manifest.to_dict())


def make_manifest(
    plan: DatasetPlan, sidecars: list[dict[str, Any]], read_counts: Counter[str]
) -> DatasetManifest:
    """The manifest of a data set.

    Args:
        plan: What was asked for.
        sidecars: Of all shards, see `pipeline.shards.write_shard`.
        read_counts: Documents read, and left out by reason, while reading.
    """
    sidecars = sorted(sidecars, key=lambda s: (s["split"], s["shard"]))
    drops, changed = drops_and_changes(read_counts)
    dropped = Counter(drops)
    for sidecar in sidecars:
        dropped.update(sidecar["dropped"])
    train = copy_counts(sidecars, TRAIN)
    total = Counts()
    for counts in train:
        total.add(counts)
    shards = [ShardFile(**file) for sidecar in sidecars for file in sidecar["files"]]
    return DatasetManifest(
        config=plan.config,
        features=feature_table(plan.config),
        vocabulary=plan.vocabulary,
        fingerprint=plan.fingerprint(),
        versions=tool_versions(),
        inputs=plan.inputs,
        splits={
            split: {
                "documents": sum(
                    s["documents"] for s in sidecars if s["split"] == split
                ),
                "copies": [summary(c) for c in copy_counts(sidecars, split)],
            }
            for split in (TRAIN, EVAL)
        },
        statistics=realised(total, plan.config),
        dropped=dict(sorted(dropped.items())),
        changed=changed,
        shards=tuple(sorted(shards, key=lambda shard: shard.name)),
    )


def copy_counts(sidecars: list[dict[str, Any]], split: str) -> list[Counts]:
    """The counts of each copy of a split, over all its shards."""
    copies: list[Counts] = []
    for sidecar in sidecars:
        if sidecar["split"] != split:
            continue
        for number, values in enumerate(sidecar["copies"]):
            if number == len(copies):
                copies.append(Counts())
            copies[number].add(Counts.from_dict(values))
    return copies


def summary(counts: Counts) -> dict[str, int]:
    """What the manifest says of one copy."""
    totals = counts.totals
    return {
        "examples": totals["examples"],
        "tokens": totals["tokens"],
        "masked_tokens": totals["masked"],
    }


def feature_table(config: DataConfig) -> tuple[dict[str, Any], ...]:
    """The stored features with their greatest lengths."""
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


def data_card(manifest: DatasetManifest) -> str:
    """The data set described for a person, as `README.md`."""
    statistics = manifest.statistics
    lines = [
        "# Pre-training data for ALBERT",
        "",
        "Masked sentence pairs made by `albert make-data`. `manifest.json` beside this",
        "file says the same for programs.",
        "",
        "| split | documents | copies | examples | tokens | masked |",
        "|---|--:|--:|--:|--:|--:|",
        *(_split_row(name, values) for name, values in manifest.splits.items()),
        "",
        "| realised in the training split | share |",
        "|---|--:|",
        *(f"| {words} | {statistics[name]:.2%} |" for name, words in _WORDS.items()),
        *(
            f"| spans of {n} word{'s' if n != '1' else ''} | {value:.2%} |"
            for n, value in statistics["ngram_shares"].items()
        ),
        "",
        "| input | read as | language | bytes | sha256 |",
        "|---|---|---|--:|---|",
        *(
            f"| {i['name']} | {i['format']} | {i['language']} | {i['bytes']:,} "
            f"| `{i['sha256'][:12]}` |"
            for i in manifest.inputs
        ),
        "",
        *_dropped_table(manifest.dropped),
        *_table("read otherwise than it stands", manifest.changed),
        "Settings: "
        + ", ".join(
            f"{name} {value}"
            for name, value in dataclasses.asdict(manifest.config).items()
        )
        + ".",
        "",
        "The licence of the data is that of its inputs (Wikipedia: CC BY-SA).",
    ]
    return "\n".join(lines) + "\n"


def _split_row(name: str, values: dict[str, Any]) -> str:
    copies = values["copies"]
    numbers = (
        values["documents"],
        len(copies),
        *(sum(c[k] for c in copies) for k in ("examples", "tokens", "masked_tokens")),
    )
    return f"| {name} | " + " | ".join(f"{n:,}" for n in numbers) + " |"


def _dropped_table(dropped: dict[str, int]) -> list[str]:
    if not dropped:
        return ["Nothing was left out.", ""]
    return _table("left out", dropped)


def _table(title: str, counts: dict[str, int]) -> list[str]:
    if not counts:
        return []
    rows = [f"| {reason} | {n:,} |" for reason, n in counts.items()]
    return [f"| {title} | count |", "|---|--:|", *rows, ""]
