"""`albert vocab`: raw text to a SentencePiece model."""

import dataclasses
import itertools
import time
from pathlib import Path
from typing import Any

import click

from cli import output_folder
from cli.console import Console
from cli.options import (
    common_options,
    config_options,
    find_given_inputs,
    input_options,
    input_settings,
    take_config,
    workers_option,
)
from schemas.config import VocabConfig


@click.command(
    epilog="Example:  albert vocab --wikipedia enwiki.xml.bz2 --books novels/ "
    "--output vocab"
)
@input_options
@config_options(VocabConfig)
@workers_option
@common_options
def vocab(
    output: Path, workers: int, overwrite: bool, quiet: bool, **values: Any
) -> None:
    """Train a SentencePiece vocabulary on raw text.

    Writes spiece.model, which holds the text normalization too, and files by which
    the folder loads in Hugging Face's AutoTokenizer; manifest.json says how large the
    sample was and how held-out sentences fare.
    """
    start = time.monotonic()
    console = Console(quiet=quiet)
    values.pop("debug")
    config = take_config(VocabConfig, values)
    files = find_given_inputs(values, console)
    settings = {
        **input_settings(values),
        **dataclasses.asdict(config),
    }
    identity = dataclasses.asdict(config) | {"inputs": [f.describe() for f in files]}
    with output_folder.claim(
        output,
        output_folder.VOCAB,
        settings=settings,
        identity=identity,
        overwrite=overwrite,
    ) as finished:
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return
        card = _make(files, config, output=output, workers=workers, console=console)
    console.say(
        f"{output}: {config.vocab_size:,} pieces; on {card['held_out_sentences']:,} "
        f"held-out sentences {card['pieces_per_word']:.2f} pieces a word, "
        f"{card['unknown_rate']:.3%} unknown; {time.monotonic() - start:.0f} s"
    )


def _make(
    files: list[Any],
    config: VocabConfig,
    *,
    output: Path,
    workers: int,
    console: Console,
) -> dict[str, Any]:
    """Sample, train and write; returns the card."""
    from pipeline import accents
    from pipeline.splits import Split, plan_splits
    from pipeline.vocabulary import (
        sample_sentences,
        train_vocabulary,
        vocabulary_manifest,
        write_vocabulary,
    )

    splits = plan_splits(files)
    total = sum(split.text_bytes for split in splits)
    with console.bar("reading", total=total, unit="B") as bar:

        def on_split(split: Split) -> None:
            bar.to(bar.done + split.text_bytes)

        text = sample_sentences(splits, config, workers=workers, on_split=on_split)
    console.say(
        f"training on {len(text.train):,} of {text.counts['sentences']:,} sentences, "
        f"about {text.training_seconds:.0f} s and "
        f"{text.training_memory / 1e9:.1f} GB of memory"
    )
    if not config.keep_accents:
        # Those with the smallest keys: a random part, and the same each time.
        some = itertools.islice(text.train, accents.ENOUGH_SENTENCES)
        share = accents.share_of_lost_marks(sentence.text for sentence in some)
        if warning := accents.warning(share):
            console.say(f"Warning: {warning}")
    model = train_vocabulary(text.train, config)
    manifest = vocabulary_manifest(model, text, config, files)
    write_vocabulary(model, manifest, output=output)
    card: dict[str, Any] = manifest["card"]
    return card
