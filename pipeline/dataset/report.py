"""A data set as a section of a report: histograms, sources, drops and sample rows."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.core.documents import largest_first
from pipeline.dataset.manifest import (
    LABELS,
    load_vocabulary,
    read_examples,
    repeated_lines,
    view_example,
)
from pipeline.examples.masking import RANDOM_SHARE
from pipeline.noise.look import look_facts
from schemas.layout import TRAIN
from schemas.manifest import DatasetManifest, inputs_table, read_manifest, recorded, splits_table
from schemas.readable import counted, percent, prefixed
from schemas.report import Bars, Plot, Section, Table

# Records lie in random order, so the first ones are a sample.
SAMPLE = 2000
# The maximum number of classes of a histogram that is made here.
MAX_CLASSES = 40


def dataset_section(dataset: Path, *, title: str, examples: int) -> Section:
    """Everything a report shows of a data set, with some of its examples."""
    manifest = read_manifest(dataset)
    config, statistics, look = manifest.config, manifest.statistics, manifest.text
    piece = load_vocabulary(dataset, manifest).piece
    records = read_examples(dataset, manifest, split=TRAIN, copy=0)
    sample = list(itertools.islice(records, max(SAMPLE, examples)))
    train = manifest.splits[TRAIN]
    tokens = sum(copy["tokens"] for copy in train["copies"])
    tables = [splits_table(manifest), *repeated_lines(manifest)]
    signs = (("html", "HTML"), ("mojibake", "wrong encoding"), ("list", "list"))
    if found := tuple((name, text) for s, name in signs for text in look.get(f"{s}_examples", ())):
        columns = ("sign of noise", "where it is")
        tables.append(Table(title="Noise", columns=columns, rows=found, is_folded=True))
    settings = recorded(config) | {
        f"version of {name}": version for name, version in manifest.versions.items()
    }
    tables += [
        inputs_table(manifest),
        Table(
            title="Settings",
            columns=("setting", "value"),
            rows=[
                (name, value if isinstance(value, str) else json.dumps(value))
                for name, value in settings.items()
            ],
            is_folded=True,
        ),
    ]
    return Section(
        title=title,
        kind="Data set",
        facts=(
            ("training examples", manifest.num_examples(TRAIN)),
            ("documents", train["documents"]),
            ("copies of the text", tables[0].rows[0][2]),
            ("tokens", tokens),
            ("longest example", counted(config.max_seq_length, "token")),
            ("vocabulary", counted(manifest.vocabulary["size"], "piece")),
            ("tokens masked", percent(statistics["masked_share"])),
            ("short on purpose", percent(statistics["short_share"])),
            ("fill of the others", percent(statistics["fill"])),
            ("unknown tokens", percent(statistics["unknown_share"])),
            ("size on disk", prefixed(sum(shard.bytes for shard in manifest.shards), "B")),
        ),
        parts=(*dataset_remarks(manifest), *tables),
        plots=tuple(plots(manifest, sample)),
        examples=tuple(
            view_example(record, piece, task=config.sentence_task) for record in sample[:examples]
        ),
    )


def dataset_remarks(manifest: DatasetManifest) -> Iterator[str]:
    """Sentences that stand below the facts."""
    if manifest.has_documents:
        yield (
            "Training makes the examples from documents, a new copy in each epoch; the "
            "counts are of the first copy."
        )
    yield f"Fingerprint {manifest.fingerprint[:12]}."
    if not manifest.dropped and not manifest.changed:
        yield "Nothing of the text was left out."
    yield "The licence of the data is that of its inputs."


def plots(manifest: DatasetManifest, sample: list[dict[str, Any]]) -> Iterator[Plot]:
    """The histograms of a data set."""
    config, statistics = manifest.config, manifest.statistics
    yield _bars(
        "Length of the examples",
        "Tokens in a training example, special ones included.",
        heading="tokens",
        bars={
            # The last class ends at the maximum length.
            _class(*(min(int(bound), config.max_seq_length) for bound in name.split("-"))): n
            for name, n in statistics["length_histogram"].items()
        },
    )
    numbers, shares = range(1, config.max_ngram + 1), statistics["ngram_shares"]
    yield _bars(
        "Words masked together",
        "Masked spans by their number of whole words; the lines show the shares of the paper, "
        "proportional to 1/n.",
        heading="words",
        bars={str(n): shares.get(str(n), 0.0) for n in numbers},
        unit="share",
        wanted=tuple(1 / n / sum(1 / each for each in numbers) for n in numbers),
    )
    names = {"[MASK]": "mask_token", "kept": "kept", "another": "random"}
    yield _bars(
        "What is at masked places",
        "Most masked tokens become [MASK]; some are kept, some become another token; the "
        "lines show the shares wanted.",
        heading="what the model sees",
        bars={shown: statistics[f"{name}_share"] for shown, name in names.items()},
        unit="share",
        wanted=(1 - RANDOM_SHARE - config.kept_share, config.kept_share, RANDOM_SHARE),
    )
    if config.sentence_task != "none":
        ones = statistics["label_1_share"]
        yield _bars(
            "Label of the sentence task",
            "Both should be equally frequent, as the lines show.",
            heading="label",
            bars=dict(zip(LABELS[config.sentence_task], (1 - ones, ones), strict=True)),
            unit="share",
            wanted=(0.5, 0.5),
        )
    masked = Counter(len(features["masked_lm_positions"]) for features in sample)
    width = 1 + max(masked, default=0) // MAX_CLASSES
    yield _bars(
        "Masked tokens in an example",
        f"How many tokens there are to predict, in {len(sample):,} examples of the first copy.",
        heading="masked tokens",
        bars={
            _class(low, low + width - 1): sum(masked[low + i] for i in range(width))
            for low in range(0, max(masked, default=0) + 1, width)
        },
    )
    sizes, files = Counter[str](), Counter[str]()
    for source in manifest.inputs:
        kind = f"{source['kind']}: {source['format']} ({source['language']})"
        sizes[kind] += source["bytes"]
        files[kind] += 1
    yield _bars(
        "Sources",
        "Megabytes of the input files as they are on disk.",
        heading="read as",
        bars={
            f"{kind}, {counted(files[kind], 'file')}": size / 1e6
            for kind, size in largest_first(sizes)
        },
        unit="value",
        is_ranking=True,
    )
    if look := manifest.text:
        yield _bars(
            "The text, on a sample of its documents",
            f"Seen in {counted(look['sampled_documents'], 'document')}.",
            heading="share of",
            bars=dict(look_facts(look)),
            unit="share",
            is_ranking=True,
        )
    for title, counts in (
        ("Left out, by reason", manifest.dropped),
        ("Changed while reading", manifest.changed),
    ):
        if counts:
            yield _bars(
                title,
                "How often, while reading the inputs and making sequences.",
                heading="reason",
                bars=dict(largest_first(counts)),
                is_ranking=True,
            )


def _class(low: int, high: int) -> str:
    """The name of a class of numbers, both ends included.

    >>> _class(0, 31), _class(512, 512)
    ('0–31', '512')
    """
    return str(low) if low == high else f"{low}–{high}"


def _bars(title: str, about: str, *, bars: Mapping[str, float], **more: Any) -> Bars:
    labels, values = tuple(bars), tuple(bars.values())
    return Bars(title=title, about=about, labels=labels, values=values, **{"unit": "count", **more})
