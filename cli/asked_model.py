"""The model that a command asks: its vocabulary, its weights, how much it reads."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cli.console import Console, silent_stderr
from schemas.config import ModelConfig
from schemas.errors import AlbertError
from schemas.json_file import read_json
from schemas.layout import DATA_MANIFEST, EXPORT_RECORD, MODEL_CONFIG, SPM_MODEL

if TYPE_CHECKING:
    from albert_tf.pretrainer import AlbertPretrainer
    from pipeline.tokenizer import Tokenizer


class AskedModel(NamedTuple):
    """A model ready to be asked.

    Attributes:
        model: With its trained weights.
        max_seq_length: Pieces in the longest sequences it was trained on or, where that
            is not known, in the longest that it takes.
    """

    model: "AlbertPretrainer"
    max_seq_length: int


def read_vocabulary(path: Path) -> "Tokenizer":
    """The vocabulary of a run or an export.

    Raises:
        AlbertError: There is none, or it is not the one the model was trained with.
    """
    from pipeline.tokenizer import load_tokenizer, read_model

    if not (path / SPM_MODEL).is_file():
        raise AlbertError(
            f"{path} has no {SPM_MODEL}, so it is neither a run nor an export; give a "
            "folder that albert pretrain or albert export has written."
        )
    tokenizer = load_tokenizer(read_model(path))
    for record, expected in _recorded(path):
        if tokenizer.sha256 != expected:
            raise AlbertError(
                f"{path / SPM_MODEL} is not the vocabulary that the model was trained "
                f"with (its sha256 is {tokenizer.sha256[:12]} and not {expected[:12]}, "
                f"as {record} has it); put that one back."
            )
    return tokenizer


def _recorded(path: Path) -> Iterator[tuple[str, str]]:
    """What says which vocabulary belongs to a model, and its sha256."""
    if (path / DATA_MANIFEST).exists():
        yield DATA_MANIFEST, read_json(path / DATA_MANIFEST)["vocabulary"]["sha256"]
    if (path / EXPORT_RECORD).exists():
        yield EXPORT_RECORD, read_json(path / EXPORT_RECORD)["vocabulary_sha256"]


def vocabulary_for_text(path: Path) -> "Tokenizer":
    """The vocabulary of a run or an export, to read new text with.

    Says so where other programs do more to a text than the vocabulary itself does.

    Raises:
        AlbertError: There is none, or it is not the one the model was trained with.
    """
    from pipeline.imported_vocabulary import has_own_rules, missing_normalization

    tokenizer = read_vocabulary(path)
    is_run = (path / MODEL_CONFIG).exists()
    if not is_run and not has_own_rules((path / SPM_MODEL).read_bytes()):
        missing = " and ".join(missing_normalization(tokenizer))
        if missing:
            Console(quiet=False).say(
                f"{path / SPM_MODEL} leaves {missing} to the program around it; albert "
                f"import {path} makes a run whose vocabulary does it."
            )
    return tokenizer


def check_sizes(tokenizer: "Tokenizer", config: ModelConfig, *, path: Path) -> None:
    """Refuse a vocabulary of another size than the model's.

    Raises:
        AlbertError: The sizes differ.
    """
    if tokenizer.vocab_size != config.vocab_size:
        raise AlbertError(
            f"{path / SPM_MODEL} has {tokenizer.vocab_size} pieces and the model "
            f"{config.vocab_size}; put the vocabulary there that the model was trained "
            "with."
        )


def open_model(path: Path, tokenizer: "Tokenizer") -> AskedModel:
    """The model of a run or an export, once it fits its vocabulary.

    Raises:
        AlbertError: It cannot be loaded, or has another number of pieces.
    """
    with silent_stderr():
        from albert_tf.trained_model import load_trained_model
    model = load_trained_model(path)
    longest = model.config.max_position_embeddings
    check_sizes(tokenizer, model.config, path=path)
    if (path / DATA_MANIFEST).exists():
        data = read_json(path / DATA_MANIFEST)["config"]
        longest = min(longest, data["max_seq_length"])
    return AskedModel(model, longest)
