"""The data card: a data set described for a person, its `README.md`."""

from typing import Any

from schemas.config import recorded
from schemas.layout import TRAIN
from schemas.manifest import DatasetManifest
from schemas.readable import counted, percent

# What the card calls the shares of the manifest.
_WORDS = {
    "short_share": "sequences with a short target",
    "document_end_share": "sequences that end a document",
    "fill": "fill of the other sequences",
    "masked_share": "tokens masked",
    "mask_token_share": "masked tokens shown as [MASK]",
    "kept_share": "masked tokens left as they are",
    "random_share": "masked tokens replaced by another",
    "label_1_share": "pairs with label 1 (swapped, or from elsewhere)",
    "unknown_share": "unknown tokens",
}

_OF_EXAMPLES = (
    "Masked sentence pairs made by `albert make-data`. `manifest.json` beside this",
    "file says the same for programs.",
)
_OF_DOCUMENTS = (
    "Documents as tokens, made by `albert make-data`, from which training makes masked",
    "sentence pairs, a new copy in each epoch; the counts of the training split are of",
    "the first copy. `manifest.json` beside this file says the same for programs.",
)


def data_card(manifest: DatasetManifest) -> str:
    """The data set described for a person, in Markdown."""
    lines = [
        "# Pretraining data for ALBERT",
        "",
        *(_OF_DOCUMENTS if manifest.has_documents else _OF_EXAMPLES),
        "",
        "| split | documents | copies | examples | tokens | masked |",
        "|---|--:|--:|--:|--:|--:|",
        *(_split_row(name, manifest) for name in manifest.splits),
        "",
        "| realised in the training split | share |",
        "|---|--:|",
        *_share_rows(manifest.statistics),
        "",
        "| input | read as | language | bytes | sha256 |",
        "|---|---|---|--:|---|",
        *map(_input_row, manifest.inputs),
        "",
        *_count_table("left out", manifest.dropped),
        *_count_table("changed while reading", manifest.changed),
        *_if_complete(manifest),
        _settings(manifest),
        "",
        "The licence of the data is that of its inputs (Wikipedia: CC BY-SA).",
    ]
    return "\n".join(lines) + "\n"


def _split_row(name: str, manifest: DatasetManifest) -> str:
    split = manifest.splits[name]
    copies = split["copies"]
    of_documents = name == TRAIN and manifest.has_documents
    cells = (
        f"{split['documents']:,}",
        "one an epoch" if of_documents else f"{len(copies):,}",
        *(
            f"{sum(copy[key] for copy in copies):,}"
            for key in ("examples", "tokens", "masked_tokens")
        ),
    )
    return f"| {name} | " + " | ".join(cells) + " |"


def _share_rows(statistics: dict[str, Any]) -> list[str]:
    shares = {words: statistics[name] for name, words in _WORDS.items()}
    for words, share in statistics["ngram_shares"].items():
        shares[f"spans of {counted(int(words), 'word')}"] = share
    return [f"| {words} | {percent(share)} |" for words, share in shares.items()]


def _input_row(described: dict[str, Any]) -> str:
    name, read_as, language, sha256 = (
        _cell(described[key]) for key in ("name", "format", "language", "sha256")
    )
    return (
        f"| {name} | {read_as} | {language} | {described['bytes']:,} "
        f"| `{sha256[:12]}` |"
    )


def _cell(text: str) -> str:
    r"""A text as a cell of a table: in one line, without what a terminal obeys.

    >>> print(_cell("a|b\n\x1b[31mc"))
    a\|b��[31mc
    """
    shown = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return shown.replace("|", "\\|")


def _if_complete(manifest: DatasetManifest) -> list[str]:
    """Said only where reading has neither left out nor changed anything."""
    if manifest.dropped or manifest.changed:
        return []
    return ["Nothing was left out.", ""]


def _count_table(title: str, counts: dict[str, int]) -> list[str]:
    if not counts:
        return []
    rows = [f"| {_cell(reason)} | {n:,} |" for reason, n in counts.items()]
    return [f"| {title} | count |", "|---|--:|", *rows, ""]


def _settings(manifest: DatasetManifest) -> str:
    settings = recorded(manifest.config).items()
    return f"Settings: {', '.join(f'{name} {value}' for name, value in settings)}."
