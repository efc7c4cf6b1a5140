"""A trained model and its vocabulary, as commands read them."""

import dataclasses
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.support.console import Say, silent_stderr
from cli.support.options import Command
from schemas.architecture import ModelConfig
from schemas.errors import AlbertError, SettingError
from schemas.files import read_json
from schemas.layout import (
    DATA_MANIFEST,
    EXPORT_RECORD,
    MODEL_CONFIG,
    SPM_MODEL,
    WORDPIECE,
    vocabulary_file,
)
from schemas.task import TaskSpec

if TYPE_CHECKING:
    from albert_tf.evaluation.words import Vocabulary
    from albert_tf.model.trained_model import TrainedModel
    from albert_tf.runs.checkpoints import Which
    from pipeline.vocabulary.tokenizer import Tokenizer
    from schemas.manifest import DatasetManifest


def checkpoint_option(command: Command) -> Command:
    """The flag --checkpoint of every command that reads a trained model."""
    return click.option(
        "--checkpoint",
        type=click.Choice(["latest", "best"]),
        help="The newest weights, or those that did best on held-out data  "
        "[default: latest for a run, best for a fine-tuned model]",
    )(command)


def check_exists(path: Path) -> None:
    """Say of a folder that is missing that it is, and not what it lacks."""
    if not path.exists():
        raise AlbertError(f"{path} does not exist; give the folder of a model.")


def read_vocabulary(path: Path) -> "Tokenizer":
    """The vocabulary of a run or an export, once it is found to be the model's."""
    from albert_tf.runs.run_record import recorded_manifest
    from pipeline.vocabulary.tokenizer import load_tokenizer, read_model
    from pipeline.vocabulary.wordpiece import read_wordpiece

    check_exists(path)
    file = vocabulary_file(path)
    if not file.is_file():
        raise AlbertError(
            f"{path} has no {SPM_MODEL}, so it is neither a run nor an export; give a "
            "folder that albert pretrain or albert export has written."
        )
    is_wordpiece = file.name == WORDPIECE
    if is_wordpiece and not (path / MODEL_CONFIG).exists():
        raise AlbertError(
            f"{path} has a WordPiece vocabulary, whose pieces are numbered differently "
            "here; turn it into a run with albert import."
        )
    tokenizer: Tokenizer = (
        read_wordpiece(file) if is_wordpiece else load_tokenizer(read_model(path))
    )
    manifest = recorded_manifest(path)
    # Which vocabulary belongs to the model, by the files that say so.
    expected = {}
    if manifest is not None:
        expected[DATA_MANIFEST] = manifest.vocabulary["sha256"]
    if (path / EXPORT_RECORD).exists():
        sha256 = read_json(path / EXPORT_RECORD).get("vocabulary_sha256")
        expected[EXPORT_RECORD] = sha256 if isinstance(sha256, str) else "nothing"
    for record, sha256 in expected.items():
        if tokenizer.sha256 != sha256:
            raise AlbertError(
                f"{file} is not the vocabulary that the model was trained "
                f"with (its sha256 is {tokenizer.sha256[:12]}, and {record} says "
                f"{sha256[:12]}); put that vocabulary back."
            )
    return tokenizer


def vocabulary_for_text(path: Path, *, say: Say) -> "Tokenizer":
    """The vocabulary of a run or an export, to read new text with."""
    from pipeline.vocabulary.normalization import missing_normalization
    from pipeline.vocabulary.tokenizer import has_own_rules

    tokenizer = read_vocabulary(path)
    is_run = (path / MODEL_CONFIG).exists()
    if not is_run and not has_own_rules((path / SPM_MODEL).read_bytes()):
        missing = " and ".join(missing_normalization(tokenizer))
        if missing:
            say(
                f"{path / SPM_MODEL} leaves {missing} to the program around it; albert "
                f"import {shlex.quote(str(path))} --output NEW makes a run whose "
                "vocabulary does it."
            )
    return tokenizer


def plain_vocabulary(tokenizer: "Tokenizer") -> "Vocabulary":
    """The tokens of a vocabulary, as evaluations take them."""
    from albert_tf.evaluation.words import Vocabulary

    texts = tuple(map(tokenizer.piece, range(tokenizer.vocab_size)))
    return Vocabulary(texts, tokenizer.word_starts)


def check_sizes(tokenizer: "Tokenizer", config: ModelConfig, *, path: Path) -> None:
    """Refuse a vocabulary of another size than the model's."""
    if tokenizer.vocab_size != config.vocab_size:
        raise AlbertError(
            f"{vocabulary_file(path)} has {tokenizer.vocab_size} pieces and the model "
            f"has {config.vocab_size}; put back the vocabulary that the model was "
            "trained with."
        )


def open_model(
    path: Path, tokenizer: "Tokenizer", *, which: "Which | None", say: Say
) -> "TrainedModel":
    """The model of a run or an export, once it fits its vocabulary."""
    with silent_stderr():
        from albert_tf.convert.reading import read_model
    model = read_model(path, which=which, say=say)
    return fitted(model, tokenizer, path=path, say=say)


def open_tuned(path: Path, *, which: "Which | None", say: Say) -> "tuple[TrainedModel, Tokenizer]":
    """A fine-tuned model with its vocabulary, to read new text with."""
    with silent_stderr():
        from albert_tf.model.trained_model import read_tuned
    check_exists(path)
    model = read_tuned(path, which=which, say=say)
    tokenizer = vocabulary_for_text(path, say=say)
    check_sizes(tokenizer, model.config, path=path)
    return model, tokenizer


def fitted(
    model: "TrainedModel", tokenizer: "Tokenizer", *, path: Path, say: Say
) -> "TrainedModel":
    """A model of another program without the rows that pad its tables.

    One of any other size than its vocabulary is refused.
    """
    from albert_tf.convert.external import without_padding_rows

    if not (path / MODEL_CONFIG).exists():
        model = without_padding_rows(model, tokenizer.vocab_size)
    for note in model.notes:
        say(note)
    check_sizes(tokenizer, model.config, path=path)
    return model


@dataclasses.dataclass(frozen=True, kw_only=True)
class Start:
    """The parts of a model that fine-tuning starts from.

    Attributes:
        from_scratch: Its architecture, and none of its weights.
        keep_head: Its head for the task too, which is otherwise a new one.
        checkpoint: None for the best of a fine-tuned model and the latest of others.
    """

    from_scratch: bool = False
    keep_head: bool = False
    checkpoint: "Which | None" = None

    def __post_init__(self) -> None:
        flag = "--keep-head" if self.keep_head else "--checkpoint"
        if self.from_scratch and (self.keep_head or self.checkpoint):
            raise SettingError(
                f"{flag} is about the weights of MODEL, and --from-scratch takes none; "
                "leave one of them out."
            )


def read_start(path: Path, spec: TaskSpec, *, start: Start, say: Say) -> "TrainedModel":
    """The model that fine-tuning starts from, with those weights that are taken."""
    with silent_stderr():
        from albert_tf.convert.reading import read_model
        from albert_tf.model.parameters import is_of_encoder

    model = read_model(
        path, which=start.checkpoint, needs_head=False, with_weights=not start.from_scratch, say=say
    )
    if not start.keep_head:
        weights = {
            name: array
            for name, array in model.weights.items()
            # Another program's weights were read to know its architecture's heads.
            if is_of_encoder(name) and not start.from_scratch
        }
        return dataclasses.replace(model, weights=weights)
    if model.task is None:
        raise SettingError(f"{path} is not a fine-tuned model; leave --keep-head out.")
    own = model.task.spec
    if (own.kind, own.labels) != (spec.kind, spec.labels):
        raise SettingError(
            f"--keep-head: {path} is for {own.kind} with other labels than "
            f"{spec.name}; leave it out."
        )
    return model


def untrained_positions(
    model: "TrainedModel", manifest: "DatasetManifest", *, data: Path
) -> Iterator[str]:
    """A sentence where data are longer than all that a model was trained on."""
    longest, length = model.max_seq_length, manifest.config.max_seq_length
    if longest < length <= model.config.max_position_embeddings:
        yield (
            f"{data} has sequences of {length} tokens and {model.folder} was trained "
            f"on at most {longest}: the positions after that were never trained."
        )
