"""A trained model and its vocabulary, as commands read them."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.support.console import Say, silent_stderr
from schemas.errors import SettingError
from schemas.layout import MANIFEST
from schemas.manifest import DatasetManifest, read_manifest
from schemas.task import TaskSpec

if TYPE_CHECKING:
    from albert_tf.evaluation.bits_per_character import Vocabulary
    from albert_tf.inference import Model
    from albert_tf.model.trained_model import TrainedModel
    from albert_tf.runs.checkpoints import Which
    from pipeline.vocabulary.tokenizer import Tokenizer


# Of every command that reads a trained model.
checkpoint_option = click.option(
    "--checkpoint",
    type=click.Choice(["latest", "best"]),
    help="The newest weights, or those that did best on held-out data  "
    "[default: latest for a run, best for a fine-tuned model]",
)


def plain_vocabulary(tokenizer: "Tokenizer") -> "Vocabulary":
    """The tokens of a vocabulary, as evaluations take them."""
    from albert_tf.evaluation.bits_per_character import Vocabulary

    return Vocabulary(tuple(tokenizer.pieces), tokenizer.word_starts)


def open_model(path: Path, *, which: "Which | None", say: Say, needs_head: bool = False) -> "Model":
    """A model with its vocabulary, and what a person should know of it said.

    Args:
        needs_head: Whether its masked-LM head is asked for.
    """
    from pipeline.vocabulary.importing import read_vocabulary

    # Of what is no model somebody hears before libraries are loaded for some seconds.
    tokenizer = read_vocabulary(path)
    with silent_stderr():
        from albert_tf.inference import Model
    model = Model(path, checkpoint=which, needs_head=needs_head, say=say, tokenizer=tokenizer)
    for note in model.trained.notes if needs_head else model.trained.remarks:
        say(note)
    return model


def data_of(run: Path) -> Path | None:
    """The data set that a run was trained on, if it is still where it was."""
    from albert_tf.runs.run_record import recorded_manifest, recorded_settings

    known, place = recorded_manifest(run), recorded_settings(run).get("data")
    if known is None or not place or not (Path(place) / MANIFEST).is_file():
        return None
    is_same = read_manifest(place).fingerprint == known.fingerprint
    return Path(place) if is_same else None


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
        from albert_tf.convert.reading import read_whole_model
        from albert_tf.model.parameters import is_of_encoder

    model = read_whole_model(
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
    model: "TrainedModel", manifest: DatasetManifest, *, data: Path
) -> Iterator[str]:
    """A sentence where data are longer than all that a model was trained on."""
    longest, length = model.max_seq_length, manifest.config.max_seq_length
    if longest < length <= model.config.max_position_embeddings:
        yield (
            f"{data} has sequences of {length} tokens and {model.folder} was trained "
            f"on at most {longest}: the positions after that were never trained."
        )
