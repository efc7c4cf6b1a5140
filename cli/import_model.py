"""`albert import`: an ALBERT from elsewhere becomes a run to go on from."""

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli import output_folder
from cli.console import Console, silent_stderr
from cli.options import common_options
from schemas.errors import AlbertError, SettingError
from schemas.json_file import write_json
from schemas.layout import MODEL_CONFIG, SPM_MODEL

if TYPE_CHECKING:
    from albert_tf.foreign_model import ForeignModel
    from pipeline.foreign_vocabulary import ForeignVocabulary
    from pipeline.imported_vocabulary import Normalization

# Files of weights: a folder that has one is more than a vocabulary.
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.ckpt*", "*.h5", "saved_model.pb")


@click.command(
    "import", epilog="Example:  albert import albert-base-v2 --output imported"
)
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--vocab",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Its SentencePiece model  [default: the one in SOURCE]",
)
@click.option(
    "--cased/--no-cased",
    default=None,
    help="Whether it keeps capital letters  [default: what its tokenizer's files say, "
    "else as its pieces are]",
)
@click.option(
    "--keep-accents/--no-keep-accents",
    default=None,
    help="Whether it keeps accents  [default: likewise]",
)
@common_options
def import_model(
    source: Path,
    vocab: Path | None,
    cased: bool | None,
    keep_accents: bool | None,
    output: Path,
    overwrite: bool,
    quiet: bool,
    debug: bool,
) -> None:
    """Make a run of another ALBERT, to go on from.

    It is for pretrain --init-from. SOURCE is a folder of Hugging Face's with
    model.safetensors, a checkpoint of google-research/albert with its configuration, or
    a SentencePiece model alone, which becomes a vocabulary. What is done to a text
    around that model goes into it.
    """
    console = Console(quiet=quiet)
    vocabulary, asked, model = take_vocabulary(
        source, vocab, cased=cased, keep_accents=keep_accents
    )
    foreign = read_weights(source)
    if foreign is not None:
        check_fits(foreign, model, vocabulary=vocabulary)
    settings = {
        "source": os.path.abspath(source),
        "vocab": os.path.abspath(vocab) if vocab else None,
        "cased": cased,
        "keep_accents": keep_accents,
    }
    with output_folder.claim(
        output,
        output_folder.IMPORT,
        settings=settings,
        identity=identity(model, foreign),
        overwrite=overwrite,
    ) as finished:
        if finished:
            console.say(f"{output} is finished already; nothing to do.")
            return
        write(output, model, foreign, asked=asked, vocabulary=vocabulary)
    for line in summary(output, foreign, asked=asked, model=model, before=vocabulary):
        console.say(line)


def take_vocabulary(
    source: Path,
    given: Path | None,
    *,
    cased: bool | None,
    keep_accents: bool | None,
) -> tuple["ForeignVocabulary", "Normalization", bytes]:
    """The vocabulary as found, what it keeps of a text, and as it is written.

    Raises:
        AlbertError: There is none that can be used.
    """
    from pipeline.foreign_vocabulary import read_vocabulary
    from pipeline.imported_vocabulary import (
        Normalization,
        has_own_rules,
        imported_model,
        normalization_of_pieces,
    )
    from pipeline.tokenizer import load_tokenizer

    if not source.exists():
        raise SettingError(f"{source} does not exist; give a folder or a file.")
    if (source / MODEL_CONFIG).exists():
        raise SettingError(
            f"{source} is a run already; give it to albert pretrain as --init-from."
        )
    found = read_vocabulary(source, given=given)
    of_pieces = normalization_of_pieces(load_tokenizer(found.model))
    if has_own_rules(found.model):
        return found, of_pieces, found.model
    default = found.asked or of_pieces
    asked = Normalization(
        cased=default.cased if cased is None else cased,
        keep_accents=default.keep_accents if keep_accents is None else keep_accents,
    )
    with silent_stderr():
        model = imported_model(found.model, asked, scores=found.scores)
    return found, asked, model


def read_weights(source: Path) -> "ForeignModel | None":
    """The weights of a folder; None where it holds a vocabulary alone.

    Raises:
        AlbertError: They cannot be read.
    """
    if not source.is_dir():
        return None
    with silent_stderr():
        from albert_tf.trained_model import read_foreign
    foreign = read_foreign(source)
    if foreign is None:
        left = sorted(path for glob in _WEIGHTS for path in source.glob(glob))
        if left:
            raise AlbertError(
                f"{left[0]} holds weights, and nothing beside it says how to read "
                "them; give the whole folder of a model of Hugging Face or "
                "google-research/albert, or its SentencePiece model alone."
            )
    return foreign


def check_fits(
    foreign: "ForeignModel", model: bytes, *, vocabulary: "ForeignVocabulary"
) -> None:
    """Refuse a vocabulary of another size than the model's.

    Raises:
        AlbertError: The sizes differ.
    """
    from pipeline.tokenizer import load_tokenizer

    size = load_tokenizer(model).vocab_size
    if size != foreign.config.vocab_size:
        raise AlbertError(
            f"{vocabulary.path} has {size} pieces and the model "
            f"{foreign.config.vocab_size}; give the vocabulary it was trained with, "
            "with --vocab if it is elsewhere."
        )


def identity(model: bytes, foreign: "ForeignModel | None") -> dict[str, Any]:
    """What decides the files."""
    from pipeline.tokenizer import load_tokenizer

    if foreign is None:
        return {"vocabulary": load_tokenizer(model).sha256}
    from albert_tf.checkpoints import arrays_sha256

    return {
        "vocabulary": load_tokenizer(model).sha256,
        "model": dataclasses.asdict(foreign.config),
        "weights": arrays_sha256(foreign.weights),
    }


def write(
    output: Path,
    model: bytes,
    foreign: "ForeignModel | None",
    *,
    asked: "Normalization",
    vocabulary: "ForeignVocabulary",
) -> None:
    """Write the weights, if there are any, and the vocabulary, its manifest last."""
    from pipeline.vocabulary import imported_manifest, write_vocabulary

    if foreign is not None:
        from albert_tf.checkpoints import Checkpoint, save_checkpoint

        write_json(output / MODEL_CONFIG, dataclasses.asdict(foreign.config))
        checkpoint = Checkpoint(foreign.weights, {}, {"step": 0})
        save_checkpoint(output, checkpoint, is_best=False)
    manifest = imported_manifest(model, vocabulary.model, **asked._asdict())
    write_vocabulary(model, manifest, output=output)


def summary(
    output: Path,
    foreign: "ForeignModel | None",
    *,
    asked: "Normalization",
    model: bytes,
    before: "ForeignVocabulary",
) -> list[str]:
    """What was made, and what to type next."""
    from pipeline.tokenizer import load_tokenizer

    lines = list(foreign.notes) if foreign else []
    if model == before.model:
        lines.append("The vocabulary has its normalization inside already.")
    else:
        words = (
            "capital letters kept" if asked.cased else "lower case",
            "accents kept" if asked.keep_accents else "without accents",
        )
        lines.append(f"Written into {SPM_MODEL}: {', '.join(words)}.")
    size = load_tokenizer(model).vocab_size
    if foreign is None:
        lines.append(f"{output}: {size:,} pieces; give it to make-data as --vocab.")
        return lines
    config = foreign.config
    lines.append(
        f"{output}: {config.num_hidden_layers} layers of width {config.hidden_size}, "
        f"{size:,} pieces; make data with --vocab {output}, then train on it with "
        f"--init-from {output}."
    )
    return lines
