"""The model that a command asks: its vocabulary, its weights, how much it reads."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from cli.support.console import silent_stderr
from schemas.config import ModelConfig
from schemas.errors import AlbertError
from schemas.json_file import read_json
from schemas.layout import (
    DATA_MANIFEST,
    EXPORT_RECORD,
    MODEL_CONFIG,
    SPM_MODEL,
    WORDPIECE,
    vocabulary_file,
)

if TYPE_CHECKING:
    from albert_tf.model.pretrainer import AlbertPretrainer
    from albert_tf.runs.checkpoints import Which
    from pipeline.vocabulary.tokenizer import Tokenizer
    from schemas.manifest import DatasetManifest

Command = TypeVar("Command", bound=Callable[..., Any])
Say = Callable[[str], None]


def checkpoint_option(command: Command) -> Command:
    """The flag --checkpoint of every command that reads a run."""
    return click.option(
        "--checkpoint",
        type=click.Choice(["latest", "best"]),
        default="latest",
        show_default=True,
        help="For a run: its newest weights, or those with the lowest held-out loss.",
    )(command)


def tuned_checkpoint_option(command: Command) -> Command:
    """The flag --checkpoint of every command that reads a fine-tuned model."""
    return click.option(
        "--checkpoint",
        type=click.Choice(["latest", "best"]),
        default="best",
        show_default=True,
        help="The newest weights, or those that did best on held-out examples.",
    )(command)


def any_checkpoint_option(command: Command) -> Command:
    """The flag --checkpoint of every command that reads a run or a fine-tuned model."""
    return click.option(
        "--checkpoint",
        type=click.Choice(["latest", "best"]),
        help="The newest weights, or those that did best on held-out data  "
        "[default: latest for a run, best for a fine-tuned model]",
    )(command)


class AskedModel(NamedTuple):
    """A model ready to be asked.

    Attributes:
        model: With its trained weights.
        max_seq_length: Tokens in the longest sequences it was trained on or, where that
            is not known, in the longest that it takes.
    """

    model: "AlbertPretrainer"
    max_seq_length: int


def read_vocabulary(path: Path) -> "Tokenizer":
    """The vocabulary of a run or an export.

    Raises:
        AlbertError: There is no vocabulary, or another one than the model's.
    """
    from pipeline.vocabulary.wordpiece import read_tokenizer

    file = vocabulary_file(path)
    if not file.is_file():
        raise AlbertError(
            f"{path} has no {SPM_MODEL}, so it is neither a run nor an export; give a "
            "folder that albert pretrain or albert export has written."
        )
    if file.name == WORDPIECE and not (path / MODEL_CONFIG).exists():
        raise AlbertError(
            f"{path} has a WordPiece vocabulary, whose pieces are numbered differently "
            "here; turn it into a run with albert import."
        )
    tokenizer = read_tokenizer(path)
    for record, expected in _recorded(path):
        if tokenizer.sha256 != expected:
            raise AlbertError(
                f"{file} is not the vocabulary that the model was trained "
                f"with (its sha256 is {tokenizer.sha256[:12]}, and {record} says "
                f"{expected[:12]}); put that vocabulary back."
            )
    return tokenizer


def _recorded(path: Path) -> Iterator[tuple[str, str]]:
    """What says which vocabulary belongs to a model, and its sha256."""
    from albert_tf.runs.run_record import recorded_manifest

    manifest = recorded_manifest(path)
    if manifest is not None:
        yield DATA_MANIFEST, manifest.vocabulary["sha256"]
    if (path / EXPORT_RECORD).exists():
        sha256 = read_json(path / EXPORT_RECORD).get("vocabulary_sha256")
        yield EXPORT_RECORD, sha256 if isinstance(sha256, str) else "nothing"


def vocabulary_for_text(path: Path, *, say: Say) -> "Tokenizer":
    """The vocabulary of a run or an export, to read new text with.

    Args:
        path: The run or the export.
        say: Told where other programs do more to a text than the vocabulary does.

    Raises:
        AlbertError: There is no vocabulary, or another one than the model's.
    """
    from pipeline.core.sentencepiece_proto import has_own_rules
    from pipeline.vocabulary.importing import missing_normalization

    tokenizer = read_vocabulary(path)
    is_run = (path / MODEL_CONFIG).exists()
    if not is_run and not has_own_rules((path / SPM_MODEL).read_bytes()):
        missing = " and ".join(missing_normalization(tokenizer))
        if missing:
            say(
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
            f"{vocabulary_file(path)} has {tokenizer.vocab_size} pieces and the model "
            f"has {config.vocab_size}; put back the vocabulary that the model was "
            "trained with."
        )


def open_model(
    path: Path, tokenizer: "Tokenizer", *, which: "Which", say: Say
) -> AskedModel:
    """The model of a run or an export, once it fits its vocabulary.

    Args:
        path: The run or the export.
        tokenizer: Its vocabulary.
        which: Which checkpoint of a run.
        say: Told about every damaged checkpoint passed over.

    Raises:
        AlbertError: It cannot be loaded, or has another number of pieces.
    """
    with silent_stderr():
        from albert_tf.inference.trained_model import load_trained_model
        from albert_tf.runs.run_record import trained_length
    model = load_trained_model(path, which=which, say=say)
    check_sizes(tokenizer, model.config, path=path)
    return AskedModel(model, trained_length(path, model.config))


def untrained_positions(
    path: Path, config: ModelConfig, manifest: "DatasetManifest", *, data: Path
) -> Iterator[str]:
    """What to say where data are longer than all that a model was trained on.

    Args:
        path: The run or the export.
        config: Its architecture.
        manifest: Of the data set.
        data: For the sentence.
    """
    from albert_tf.runs.run_record import trained_length

    longest, length = trained_length(path, config), manifest.config.max_seq_length
    if longest < length <= config.max_position_embeddings:
        yield (
            f"{data} has sequences of {length} tokens and {path} was trained on at "
            f"most {longest}: the positions after that were never trained."
        )


def other_sentence_task(
    path: Path, config: ModelConfig, manifest: "DatasetManifest", *, data: Path
) -> Iterator[str]:
    """What to say where the labels of data are not those a model was trained on.

    Args:
        path: The run or the export.
        config: Its architecture.
        manifest: Of the data set.
        data: For the sentence.
    """
    task, of_data = config.sentence_task, manifest.config.sentence_task
    if "none" not in (task, of_data) and task != of_data:
        yield (
            f"The sentence task of {path} is {task} and the labels of {data} are of "
            f"{of_data}: sentence_loss and sentence_accuracy say little."
        )
