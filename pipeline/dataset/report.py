"""A data set as a section of a report: histograms, sources, drops and sample rows."""

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

from pipeline.dataset.manifest import LABELS, load_vocabulary, read_examples, view_example
from pipeline.examples.masking import KEEP_SHARE, MASK_SHARE
from pipeline.noise.look import look_facts
from schemas.layout import TRAIN
from schemas.manifest import DatasetManifest, read_manifest, recorded
from schemas.readable import counted, percent, prefixed
from schemas.report import Bars, Plot, Section, Table, Unit

# Records lie in random order, so the first ones are a sample.
SAMPLE = 2000
# The maximum number of classes of a histogram that is made here.
MAX_CLASSES = 40
# How many of the inputs, the largest, are listed one by one.
MAX_INPUTS = 100


def dataset_section(dataset: Path, *, title: str, examples: int) -> Section:
    """Everything a report shows of a data set, with some of its examples."""
    manifest = read_manifest(dataset)
    piece = load_vocabulary(dataset, manifest).piece
    task = manifest.config.sentence_task
    records = read_examples(dataset, manifest, split=TRAIN, copy=0)
    sample = list(itertools.islice(records, max(SAMPLE, examples)))
    return Section(
        title=title,
        kind="Data set",
        facts=_facts(manifest),
        notes=notes(manifest),
        plots=tuple(plots(manifest, sample)),
        tables=(
            _splits(manifest),
            *_noise_tables(manifest.text),
            _inputs(manifest),
            _settings(manifest),
        ),
        examples=tuple(view_example(record, piece, task=task) for record in sample[:examples]),
    )


def _facts(manifest: DatasetManifest) -> tuple[tuple[str, str], ...]:
    config, statistics = manifest.config, manifest.statistics
    train = manifest.splits[TRAIN]
    tokens = sum(copy["tokens"] for copy in train["copies"])
    size = sum(shard.bytes for shard in manifest.shards)
    return (
        ("training examples", f"{manifest.num_examples(TRAIN):,}"),
        ("documents", f"{train['documents']:,}"),
        ("copies of the text", _copies(TRAIN, manifest)),
        ("tokens", f"{tokens:,}"),
        ("longest example", counted(config.max_seq_length, "token")),
        ("vocabulary", counted(manifest.vocabulary["size"], "piece")),
        ("tokens masked", percent(statistics["masked_share"])),
        ("short on purpose", percent(statistics["short_share"])),
        ("fill of the others", percent(statistics["fill"])),
        ("unknown tokens", percent(statistics["unknown_share"])),
        ("size on disk", prefixed(size, "B")),
    )


def _copies(split: str, manifest: DatasetManifest) -> str:
    if split == TRAIN and manifest.has_documents:
        return "one an epoch"
    return str(manifest.num_copies(split))


def notes(manifest: DatasetManifest) -> tuple[str, ...]:
    """Sentences that stand below the facts."""
    is_complete = not manifest.dropped and not manifest.changed
    on_the_fly = (
        "Training makes the examples from documents, a new copy in each epoch; the "
        "counts are of the first copy.",
    )
    return (
        *(on_the_fly if manifest.has_documents else ()),
        f"Fingerprint {manifest.fingerprint[:12]}.",
        *(("Nothing of the text was left out.",) if is_complete else ()),
        "The licence of the data is that of its inputs.",
    )


def plots(manifest: DatasetManifest, sample: list[dict[str, Any]]) -> list[Plot]:
    """The histograms of a data set."""
    found: list[Plot] = [_lengths(manifest), _spans(manifest), _replaced(manifest)]
    if manifest.config.sentence_task != "none":
        found.append(_labels(manifest))
    found += [_masked_places(sample), _sources(manifest)]
    if look := manifest.text:
        title = "The text, on a sample of its documents"
        about = f"Seen in {counted(look['sampled_documents'], 'document')}."
        ranked = list(look_facts(look))
        found.append(_ranking(title, about, heading="share of", ranked=ranked, unit="share"))
    for title, counts in (
        ("Left out, by reason", manifest.dropped),
        ("Changed while reading", manifest.changed),
    ):
        if counts:
            ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            about = "How often, while reading the inputs and making sequences."
            found.append(_ranking(title, about, heading="reason", ranked=ranked))
    return found


def _lengths(manifest: DatasetManifest) -> Bars:
    """The classes of the manifest; the last ends at the maximum length."""
    longest = manifest.config.max_seq_length
    counts = manifest.statistics["length_histogram"]
    bounds = [[min(int(b), longest) for b in name.split("-")] for name in counts]
    return Bars(
        title="Length of the examples",
        about="Tokens in a training example, special ones included.",
        heading="tokens",
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
    numbers = range(1, manifest.config.max_ngram + 1)
    shares = manifest.statistics["ngram_shares"]
    total = sum(1 / n for n in numbers)
    names = tuple(map(str, numbers))
    return Bars(
        title="Words masked together",
        about="Masked spans by their number of whole words; the lines show the shares "
        "of the paper, proportional to 1/n.",
        heading="words",
        labels=names,
        values=tuple(shares.get(name, 0.0) for name in names),
        unit="share",
        wanted=tuple(1 / n / total for n in numbers),
    )


def _replaced(manifest: DatasetManifest) -> Bars:
    statistics = manifest.statistics
    names = ("mask_token_share", "kept_share", "random_share")
    return Bars(
        title="What is at masked places",
        about="Most masked tokens become [MASK]; some are kept, some become another "
        "token; the lines show the shares wanted.",
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
        about="Both should be equally frequent, as the lines show.",
        heading="label",
        labels=LABELS[manifest.config.sentence_task],
        values=(1 - ones, ones),
        unit="share",
        wanted=(0.5, 0.5),
    )


def _masked_places(sample: list[dict[str, Any]]) -> Bars:
    counts = Counter(len(features["masked_lm_positions"]) for features in sample)
    highest = max(counts, default=0)
    width = 1 + highest // MAX_CLASSES
    lows = range(0, highest + 1, width)
    return Bars(
        title="Masked tokens in an example",
        about=f"How many tokens there are to predict, in {len(sample):,} examples "
        "of the first copy.",
        heading="masked tokens",
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
        (f"{kind}, {counted(files[kind], 'file')}", size / 1e6)
        for kind, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    ]
    about = "Megabytes of the input files as they are on disk."
    return _ranking("Sources", about, heading="read as", ranked=ranked, unit="value")


def _ranking(
    title: str, about: str, *, heading: str, ranked: list[tuple[str, Any]], unit: Unit = "count"
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
        columns=("split", "documents", "copies", "examples", "tokens", "masked"),
        rows=tuple(
            (
                name,
                split["documents"],
                _copies(name, manifest),
                *(sum(copy[key] for copy in split["copies"]) for key in keys),
            )
            for name, split in manifest.splits.items()
        ),
    )


def _noise_tables(look: dict[str, Any]) -> list[Table]:
    """Lines that are repeated, and places that look like noise."""
    signs = (("html", "HTML"), ("mojibake", "wrong encoding"), ("list", "list"))
    found = [(words, text) for s, words in signs for text in look.get(f"{s}_examples", ())]
    lines = tuple(tuple(line) for line in look.get("repeated_lines", ()))
    tables = []
    if lines:
        columns = ("repeated line", "documents, about")
        tables.append(Table(title="Repeated lines", columns=columns, rows=lines))
    if found:
        columns = ("sign of noise", "where it is")
        rows = tuple(found)
        tables.append(Table(title="Noise", columns=columns, rows=rows, is_folded=True))
    return tables


def _inputs(manifest: DatasetManifest) -> Table:
    """The largest inputs one by one, and the rest together."""
    ordered = sorted(manifest.inputs, key=lambda i: (-i["bytes"], i["name"]))
    listed, rest = ordered[:MAX_INPUTS], ordered[MAX_INPUTS:]
    rows: list[tuple[str | int, ...]] = [
        (i["name"], i["format"], i["language"], i["bytes"], i["sha256"][:12]) for i in listed
    ]
    if rest:
        size = sum(source["bytes"] for source in rest)
        rows.append((f"and {counted(len(rest), 'smaller file')}", "", "", size, ""))
    return Table(
        title=f"Input files ({len(ordered):,})",
        columns=("file", "read as", "language", "bytes", "sha256"),
        rows=tuple(rows),
        is_folded=True,
    )


def _settings(manifest: DatasetManifest) -> Table:
    values = recorded(manifest.config)
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
