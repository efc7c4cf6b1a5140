"""A data set as a section of a report: histograms, sources, drops and sample rows."""

import dataclasses
import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

from pipeline.example_view import LABELS, view_example
from pipeline.masking import KEEP_SHARE, MASK_SHARE
from pipeline.tokenizer import load_tokenizer, read_model
from pipeline.verification import read_examples, unpadded
from schemas.errors import AlbertError
from schemas.layout import MANIFEST, TRAIN
from schemas.manifest import DatasetManifest, read_manifest
from schemas.report import Bars, Example, Plot, Section, Table, Unit

# Records lie in random order, so the first so many are a sample.
SAMPLE = 2000
# Classes of a histogram that is made here.
MOST_CLASSES = 40
# The largest inputs, listed one by one.
MOST_INPUTS = 100


def dataset_section(dataset: Path, *, title: str, examples: int) -> Section:
    """Everything a report shows of a data set.

    Args:
        dataset: A finished data set.
        title: What the report calls it.
        examples: How many of its rows to show.

    Raises:
        AlbertError: It is unfinished, or a file that is read is missing or damaged.
    """
    manifest = read_manifest(dataset)
    records = read_examples(dataset, manifest, split=TRAIN, copy=0)
    sample = list(itertools.islice(records, max(SAMPLE, examples)))
    try:
        return _section(
            dataset, manifest, sample=sample, title=title, examples=examples
        )
    except KeyError as error:
        raise AlbertError(
            f"{dataset / MANIFEST} is damaged: it has no {error}; make the data again."
        ) from error


def _section(
    dataset: Path,
    manifest: DatasetManifest,
    *,
    sample: list[dict[str, Any]],
    title: str,
    examples: int,
) -> Section:
    return Section(
        title=title,
        kind="Data set",
        facts=_facts(manifest),
        notes=_notes(manifest),
        plots=tuple(plots(manifest, sample)),
        tables=(_splits(manifest), *_inputs(manifest), _settings(manifest)),
        examples=tuple(_examples(dataset, manifest, records=sample[:examples])),
    )


def _facts(manifest: DatasetManifest) -> tuple[tuple[str, str], ...]:
    config, statistics = manifest.config, manifest.statistics
    train = manifest.splits[TRAIN]
    pieces = sum(copy["tokens"] for copy in train["copies"])
    megabytes = sum(shard.bytes for shard in manifest.shards) / 1e6
    return (
        ("training examples", f"{_count(manifest, TRAIN):,}"),
        ("documents", f"{train['documents']:,}"),
        ("copies of the text", f"{manifest.num_copies(TRAIN)}"),
        ("pieces", f"{pieces:,}"),
        ("longest example", f"{config.max_seq_length} pieces"),
        ("vocabulary", f"{manifest.vocabulary['size']:,}"),
        ("pieces masked", f"{statistics['masked_share']:.1%}"),
        ("short on purpose", f"{statistics['short_share']:.1%}"),
        ("fill of the others", f"{statistics['fill']:.1%}"),
        ("unknown pieces", f"{statistics['unknown_share']:.2%}"),
        ("size on disk", f"{megabytes:,.1f} MB"),
    )


def _count(manifest: DatasetManifest, split: str) -> int:
    return sum(s.examples for s in manifest.shards if s.name.startswith(f"{split}/"))


def _notes(manifest: DatasetManifest) -> tuple[str, ...]:
    nothing_lost = "Nothing of the text was left out."
    return (
        f"Fingerprint {manifest.fingerprint[:12]}.",
        *(() if manifest.dropped else (nothing_lost,)),
        "The licence of the data is that of its inputs.",
    )


def plots(manifest: DatasetManifest, sample: list[dict[str, Any]]) -> list[Plot]:
    """The histograms of a data set.

    Args:
        manifest: Of the data set.
        sample: Some of its records as decoded.
    """
    found = [_lengths(manifest), _spans(manifest), _replaced(manifest)]
    if manifest.config.sentence_task != "none":
        found.append(_labels(manifest))
    found += [_masked_places(sample), _sources(manifest)]
    for title, counts in (
        ("Left out, by reason", manifest.dropped),
        ("Read otherwise than it stands", manifest.changed),
    ):
        if counts:
            ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            about = "How often, while reading the inputs and making sequences."
            found.append(_ranking(title, about, heading="reason", ranked=ranked))
    return list(found)


def _lengths(manifest: DatasetManifest) -> Bars:
    """The classes of the manifest; the last ends at the greatest length there is."""
    longest = manifest.config.max_seq_length
    counts = manifest.statistics["length_histogram"]
    bounds = [[min(int(b), longest) for b in name.split("-")] for name in counts]
    return Bars(
        title="Length of the examples",
        about="Pieces in a training example, special ones included.",
        heading="pieces",
        labels=tuple(_class(low, high) for low, high in bounds),
        values=tuple(counts.values()),
        unit="count",
    )


def _class(low: int, high: int) -> str:
    """The name of a class of numbers, both ends included.

    >>> _class(0, 31), _class(512, 512)
    ('0–31', '512')
    """
    return str(low) if low == high else f"{low}–{high}"


def _spans(manifest: DatasetManifest) -> Bars:
    most = manifest.config.max_ngram
    shares = manifest.statistics["ngram_shares"]
    total = sum(1 / n for n in range(1, most + 1))
    names = [str(n) for n in range(1, most + 1)]
    return Bars(
        title="Words masked together",
        about="Masked spans by their number of whole words; the lines are what the "
        "paper asks for, proportional to 1/n.",
        heading="words",
        labels=tuple(names),
        values=tuple(shares.get(name, 0.0) for name in names),
        unit="share",
        wanted=tuple(1 / n / total for n in range(1, most + 1)),
    )


def _replaced(manifest: DatasetManifest) -> Bars:
    statistics = manifest.statistics
    names = ("mask_token_share", "kept_share", "random_share")
    return Bars(
        title="What stands at masked places",
        about="Most masked pieces become [MASK]; some are kept, some become another "
        "piece; the lines are what is asked for.",
        heading="what the model sees",
        labels=("[MASK]", "kept", "another"),
        values=tuple(statistics[name] for name in names),
        unit="share",
        wanted=(MASK_SHARE, KEEP_SHARE, 1 - MASK_SHARE - KEEP_SHARE),
    )


def _labels(manifest: DatasetManifest) -> Bars:
    ones = manifest.statistics["label_1_share"]
    return Bars(
        title="Label of the sentence task",
        about="Both should be equally frequent, which is where the lines are.",
        heading="label",
        labels=LABELS[manifest.config.sentence_task],
        values=(1 - ones, ones),
        unit="share",
        wanted=(0.5, 0.5),
    )


def _masked_places(sample: list[dict[str, Any]]) -> Bars:
    counts = Counter(len(unpadded(features)[1]) for features in sample)
    most = max(counts, default=0)
    width = 1 + most // MOST_CLASSES
    lows = range(0, most + 1, width)
    return Bars(
        title="Masked pieces in an example",
        about=f"How many pieces there are to predict, in {len(sample):,} examples "
        "of the first copy.",
        heading="masked pieces",
        labels=tuple(_class(low, low + width - 1) for low in lows),
        values=tuple(sum(counts[low + i] for i in range(width)) for low in lows),
        unit="count",
    )


def _sources(manifest: DatasetManifest) -> Bars:
    sizes, files = Counter[str](), Counter[str]()
    for source in manifest.inputs:
        kind = f"{source['kind']}: {source['format']} ({source['language']})"
        sizes[kind] += source["bytes"]
        files[kind] += 1
    ranked = [
        (f"{kind}, {files[kind]:,} file{'s' * (files[kind] > 1)}", size / 1e6)
        for kind, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    ]
    about = "Megabytes of the input files as they lie on disk."
    return _ranking("Sources", about, heading="read as", ranked=ranked, unit="value")


def _ranking(
    title: str,
    about: str,
    *,
    heading: str,
    ranked: list[tuple[str, Any]],
    unit: Unit = "count",
) -> Bars:
    return Bars(
        title=title,
        about=about,
        heading=heading,
        labels=tuple(name for name, _ in ranked),
        values=tuple(value for _, value in ranked),
        unit=unit,
        is_ranking=True,
    )


def _splits(manifest: DatasetManifest) -> Table:
    keys = ("examples", "tokens", "masked_tokens")
    return Table(
        title="Splits",
        columns=("split", "documents", "copies", "examples", "pieces", "masked"),
        rows=tuple(
            (
                name,
                split["documents"],
                len(split["copies"]),
                *(sum(copy[key] for copy in split["copies"]) for key in keys),
            )
            for name, split in manifest.splits.items()
        ),
    )


def _inputs(manifest: DatasetManifest) -> list[Table]:
    """The largest inputs one by one, and the rest together."""
    ordered = sorted(manifest.inputs, key=lambda i: (-i["bytes"], i["name"]))
    listed, rest = ordered[:MOST_INPUTS], ordered[MOST_INPUTS:]
    rows: list[tuple[str | int, ...]] = [
        (i["name"], i["format"], i["language"], i["bytes"], i["sha256"][:12])
        for i in listed
    ]
    if rest:
        size = sum(source["bytes"] for source in rest)
        rows.append((f"and {len(rest):,} smaller files", "", "", size, ""))
    return [
        Table(
            title=f"Input files ({len(ordered):,})",
            columns=("file", "read as", "language", "bytes", "sha256"),
            rows=tuple(rows),
            is_folded=True,
        )
    ]


def _settings(manifest: DatasetManifest) -> Table:
    values = dataclasses.asdict(manifest.config)
    values |= {f"version of {name}": v for name, v in manifest.versions.items()}
    return Table(
        title="Settings",
        columns=("setting", "value"),
        rows=tuple(
            (name, value if isinstance(value, str) else json.dumps(value))
            for name, value in values.items()
        ),
        is_folded=True,
    )


def _examples(
    dataset: Path, manifest: DatasetManifest, *, records: list[dict[str, Any]]
) -> list[Example]:
    piece = load_tokenizer(read_model(dataset)).piece
    task = manifest.config.sentence_task
    return [view_example(features, piece, task=task) for features in records]
