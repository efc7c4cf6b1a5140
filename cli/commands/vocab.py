"""`albert vocab`: raw text to a SentencePiece model."""

import dataclasses
import shlex
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.support.console import Console
from cli.support.data_summary import SMALL_TEXT_FRACTION, advised_fraction
from cli.support.inputs import (
    INPUT_OPTIONS,
    find_given_inputs,
    input_options,
    input_settings,
    refuse_stray,
)
from cli.support.options import COUNT, common_options, config_options, take_config
from pipeline.core.machine import check_address_space, usable_cores
from pipeline.reading.formats import KINDS, InputFile
from pipeline.storage import output_folder
from pipeline.storage.output_folder import Footprint, Identity
from schemas.config import VocabConfig
from schemas.errors import AlbertError
from schemas.files import Values
from schemas.layout import (
    HF_TOKENIZER,
    HF_TOKENIZER_CONFIG,
    MANIFEST,
    SPM_MODEL,
    SPM_VOCAB,
    vocabulary_file,
)
from schemas.readable import counted, duration, prefixed

if TYPE_CHECKING:
    from pipeline.vocabulary.sampling import SampledText

# A size that follows from the text.
AUTO = "auto"
# NumPy and SentencePiece take this much, or abort.
LEAST_MEMORY = 500_000_000


def has_vocabulary(folder: Path | str, identity: Identity) -> bool:
    """Whether a vocabulary is there, of which the manifest is written last."""
    manifest = Path(folder) / MANIFEST
    return manifest.exists() and vocabulary_file(Path(folder)).exists()


VOCAB = Footprint(
    "vocab",
    what="a vocabulary",
    writes=(SPM_MODEL, SPM_VOCAB, HF_TOKENIZER, HF_TOKENIZER_CONFIG, MANIFEST),
    progress=(MANIFEST,),
    is_finished=has_vocabulary,
)


class IntegerOrAuto(click.types.IntParamType):
    """A number, or the word auto."""

    name = "integer|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the word as it is."""
        return value if value == AUTO else super().convert(value, param, ctx)


# A hint repeats the flags that name the text, unless a script has made many of them.
LONGEST_HINT = 20
# For `pretrain --budget`, which can then mask anew in each epoch, and more than stored
# copies do (docs/reproducing.md, What each choice is worth).
FOR_A_SMALL_MODEL = "--max-seq-length 128 --examples on-the-fly"


@click.command(
    epilog="Example:  albert vocab --wikipedia enwiki.xml.bz2 --books novels/ --output vocab",
    # For a sentence of our own about them.
    context_settings={"allow_extra_args": True},
)
@input_options
@config_options(
    VocabConfig, kinds={"vocab_size": IntegerOrAuto()}, opposites={"keep_accents": "--drop-accents"}
)
@click.option(
    "--workers",
    type=COUNT,
    default=usable_cores,
    show_default="all cores",
    help="Worker processes; never changes the result.",
)
@common_options
def vocab_command(
    output: Path, workers: int, overwrite: bool, console: Console, **values: Any
) -> None:
    """Train a SentencePiece vocabulary on raw text.

    Writes spiece.model, which includes the text normalization, and the files that
    Hugging Face's AutoTokenizer loads it by; manifest.json says how large the sample
    was and how well the vocabulary does on held-out sentences.
    """
    from pipeline.core.documents import PASSED_OVER, left_out
    from pipeline.reading.read import plan_chunks
    from pipeline.reading.sentences import known_language
    from pipeline.vocabulary.normalization import LEAST_CHANGED_LETTERS, changed_letters
    from pipeline.vocabulary.sampling import sample_sentences
    from pipeline.vocabulary.tokenizer import load_tokenizer
    from pipeline.vocabulary.training import suited_size, train_vocabulary
    from pipeline.vocabulary.writing import vocabulary_manifest, write_vocabulary

    start, since = time.monotonic(), time.time()
    check_address_space(LEAST_MEMORY)
    asked = values["vocab_size"]
    if asked == AUTO:
        values["vocab_size"] = VocabConfig.vocab_size
    config = take_config(VocabConfig, values)
    refuse_stray(click.get_current_context().args, takes_options=False)
    output_folder.check_recognised(output, VOCAB)
    files, passed_over = find_given_inputs(values, console, outputs=[output])
    recorded = dataclasses.asdict(config) | {"vocab_size": asked}
    with output_folder.claim(
        output,
        VOCAB,
        settings=input_settings(values) | recorded,
        identity=recorded | {"inputs": [file.describe() for file in files]},
        overwrite=overwrite,
    ) as finished:
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return
        chunks = plan_chunks(files)
        total = sum(chunk.text_bytes for chunk in chunks)
        with console.start("reading", total=total, unit="B") as bar:
            text = sample_sentences(
                chunks, config, workers=workers, since=since, on_progress=bar.to
            )
        text.counts.dropped[PASSED_OVER] += passed_over
        if is_auto := asked == AUTO:
            config = dataclasses.replace(config, vocab_size=suited_size(text.train))
        console.say(
            f"training on {len(text.train):,} of {text.counts.sentences:,} sentences, "
            f"about {duration(text.training_seconds)} and "
            f"{prefixed(text.training_memory, 'B')} of memory"
        )
        if config.keep_accents is None:
            changed = changed_letters(text.train)
            config = dataclasses.replace(config, keep_accents=changed > LEAST_CHANGED_LETTERS)
            if config.keep_accents:
                console.say(
                    f"Accents are kept: without them {100 * changed:.1f} % of the letters would "
                    "become others (--drop-accents drops them, as the paper does)."
                )
        languages = {known_language(file.language) for file in files}
        with console.start("training", total=100, unit="%") as bar:
            try:
                model = train_vocabulary(
                    text.train,
                    config,
                    language=languages.pop() if len(languages) == 1 else "",
                    may_be_smaller=is_auto,
                    on_progress=lambda share: bar.to(round(100 * share)),
                )
            except AlbertError as error:
                # What reading has left out may be why.
                sentence, reasons = str(error), left_out(text.counts.dropped)
                raise AlbertError(f"{sentence.removesuffix('.')}{reasons}.") from error
        tokenizer = load_tokenizer(model)
        config = dataclasses.replace(config, vocab_size=tokenizer.vocab_size)
        manifest = vocabulary_manifest(model, text, config, files)
        write_vocabulary(model, manifest, tokenizer=tokenizer, output=output)
    console.say(
        *vocabulary_lines(manifest, output, time.monotonic() - start),
        *next_lines(values, output, text=text, files=files),
    )


def vocabulary_lines(manifest: Values, output: Path, seconds: float) -> Iterator[str]:
    """What was made, and what to know of its text."""
    from pipeline.core.documents import describe_counts
    from pipeline.noise.look import look_lines

    card = manifest["card"]
    yield (
        f"{output}: {manifest['config']['vocab_size']:,} pieces; on "
        f"{card['held_out_sentences']:,} held-out sentences "
        f"{card['pieces_per_word']:.2f} tokens a word, "
        f"{card['characters_per_piece']:.2f} characters a token, "
        f"{card['unknown_rate']:.3%} unknown; {duration(seconds)}"
    )
    yield from describe_counts(manifest["dropped"], manifest["changed"])
    yield from look_lines(manifest["text"], manifest["inputs"])


def next_lines(
    values: Values, output: Path | str, *, text: "SampledText", files: Iterable[InputFile]
) -> Iterator[str]:
    """What to type next: the same text, made into data for a small model."""
    flags, documents = [], text.counts.documents
    if any(file.format == "numbered" for file in files):
        # Its sentences are in no order.
        flags.append("--sentence-task none")
    if share := advised_fraction(documents, text.first_held_out):
        flags.append(f"--eval-fraction {share:g}")
        if share > SMALL_TEXT_FRACTION:
            held_out = sum(n < share * (1 << 64) for n in text.first_held_out)
            yield (
                f"{flags[-1]} holds out {held_out:,} of the "
                f"{counted(documents, 'document')}, chosen by the hash of their text."
            )
    yield " ".join([next_command(values, output), *flags])


def next_command(values: Values, output: Path | str) -> str:
    """The command that makes data of the same text, which it reads in the same way."""
    text = [f"--{kind} {shlex.quote(path)}" for kind in KINDS for path in values[kind]]
    if len(text) > LONGEST_HINT:
        text = ["..."]
    for name in INPUT_OPTIONS:
        if values[name]:
            text.append(f"--{name.replace('_', '-')} {shlex.quote(values[name])}")
    text += ["--vocab", shlex.quote(str(output))]
    text += ["--output", output_folder.unused("data"), FOR_A_SMALL_MODEL]
    return " ".join(["next: albert make-data", *text])
