"""A trained model for use, from a run or from what another program reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from albert_tf.checkpoints import (
    Checkpoint,
    assign_arrays,
    load_newest_weights,
    read_best_weights,
)
from albert_tf.foreign_model import ForeignModel
from albert_tf.google_checkpoint import is_google, read_google
from albert_tf.huggingface import is_huggingface, read_huggingface
from albert_tf.pretrainer import AlbertPretrainer
from schemas.config import ModelConfig, config_from_dict
from schemas.errors import AlbertError
from schemas.json_file import read_json
from schemas.layout import MODEL_CONFIG

# Which checkpoint of a run: the newest, or the one with the least held-out loss.
Which = Literal["latest", "best"]


def load_trained_model(path: Path) -> AlbertPretrainer:
    """The model of a run, or of an export to Hugging Face or Google, in float32.

    Of a run it is the newest checkpoint.

    Raises:
        AlbertError: It is neither, or its weights cannot be read.
    """
    foreign = read_foreign(path)
    if foreign is not None:
        config, weights, _ = foreign
    elif (path / MODEL_CONFIG).exists():
        config, weights = run_config(path), run_checkpoint(path).weights
    else:
        raise AlbertError(
            f"{path} is neither a run nor an export whose weights can be read; give a "
            "run, or what albert export --to hf or --to google has written."
        )
    model = AlbertPretrainer(config)
    assign_arrays(model.weights_by_path, weights)
    return model


def read_foreign(folder: Path) -> ForeignModel | None:
    """The model that another program keeps in a folder; None where there is none.

    Raises:
        AlbertError: It is of another architecture, or cannot be read.
    """
    if is_huggingface(folder):
        return read_huggingface(folder)
    return read_google(folder) if is_google(folder) else None


def run_config(run: Path) -> ModelConfig:
    """The architecture of a run.

    Raises:
        AlbertError: It is no run.
    """
    if not (run / MODEL_CONFIG).exists():
        raise AlbertError(
            f"{run} has no {MODEL_CONFIG}, so it is no run; give a folder that "
            "albert pretrain or albert import has written."
        )
    return config_from_dict(ModelConfig, read_json(run / MODEL_CONFIG))


def run_checkpoint(
    run: Path,
    *,
    which: Which = "latest",
    say: Callable[[str], None] = lambda line: None,
) -> Checkpoint:
    """A checkpoint of a run, without what only training needs.

    Args:
        run: The run directory.
        which: The newest one, or the one with the least held-out loss.
        say: Told about every damaged checkpoint passed over.

    Raises:
        AlbertError: There is none, or none that can be read.
    """
    if which == "best":
        return read_best_weights(run)
    checkpoint = load_newest_weights(run, say)
    if checkpoint is None:
        raise AlbertError(
            f"{run} holds no checkpoint yet; let albert pretrain save one first."
        )
    return checkpoint
