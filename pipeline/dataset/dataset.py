"""A data set from its finished shards: the manifest and the data card."""

from collections import Counter
from pathlib import Path
from typing import Any

from pipeline.core.counts import ReadingCounts, in_order, left_out
from pipeline.dataset.data_card import data_card
from pipeline.dataset.fingerprint import DatasetPlan, tool_versions
from pipeline.dataset.statistics import Counts, realised
from pipeline.storage.files import join, write_whole
from schemas.errors import AlbertError
from schemas.json_file import json_text
from schemas.layout import DATA_CARD, EVAL, MANIFEST, TRAIN
from schemas.manifest import DatasetManifest, ShardFile, feature_table


class NothingToTrainOn(AlbertError):
    """No document is left for the training split."""


def write_dataset(
    plan: DatasetPlan,
    sidecars: list[dict[str, Any]],
    read_counts: ReadingCounts,
    *,
    output: str | Path,
) -> None:
    """Write the data card and then, as the last file of all, the manifest.

    Raises:
        NothingToTrainOn: There is no document, or all of them are held out.
    """
    manifest = make_manifest(plan, sidecars, read_counts)
    if not manifest.splits[TRAIN]["copies"][0]["examples"]:
        raise NothingToTrainOn(_why_nothing(manifest))
    write_whole(join(output, DATA_CARD), data_card(manifest))
    write_whole(join(output, MANIFEST), json_text(manifest.to_dict()))


def _why_nothing(manifest: DatasetManifest) -> str:
    if held_out := manifest.splits[EVAL]["documents"]:
        return (
            f"--eval-fraction {manifest.config.eval_fraction:g} holds out every "
            f"document ({held_out:,}), so that none is left to train on; give a "
            "smaller one, or more documents."
        )
    return f"The inputs give no document to train on{left_out(manifest.dropped)}."


def make_manifest(
    plan: DatasetPlan, sidecars: list[dict[str, Any]], read_counts: ReadingCounts
) -> DatasetManifest:
    """The manifest of a data set.

    Args:
        plan: What was to be made.
        sidecars: Of all shards, see `pipeline.dataset.shards.write_shard`.
        read_counts: What reading counted.
    """
    sidecars = sorted(sidecars, key=lambda s: (s["split"], s["shard"]))
    dropped = Counter(read_counts.dropped)
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
        splits={split: split_summary(sidecars, split) for split in (TRAIN, EVAL)},
        statistics=realised(total, plan.config),
        dropped=in_order(dropped),
        changed=in_order(read_counts.changed),
        shards=tuple(sorted(shards, key=lambda shard: shard.name)),
    )


def split_summary(sidecars: list[dict[str, Any]], split: str) -> dict[str, Any]:
    """What the manifest says of a split.

    No two shards count the same document, so that their numbers add up.
    """
    return {
        "documents": sum(s["documents"] for s in sidecars if s["split"] == split),
        "copies": [summary(counts) for counts in copy_counts(sidecars, split)],
    }


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
