"""Reading a model from any folder that holds one."""

from pathlib import Path

from albert_tf.convert.google_checkpoint import is_google, read_google
from albert_tf.convert.huggingface import is_huggingface, read_huggingface
from albert_tf.convert.huggingface_tasks import read_huggingface_task
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.trained_model import (
    Say,
    TrainedModel,
    pretrainer_of,
    read_trained,
    silent,
)
from albert_tf.runs.checkpoints import Which
from albert_tf.runs.run_record import is_tuned
from schemas.errors import AlbertError, SettingError
from schemas.layout import MODEL_CONFIG


def read_model(
    folder: Path,
    *,
    which: Which | None = None,
    needs_head: bool = True,
    with_weights: bool = True,
    say: Say = silent,
) -> TrainedModel:
    """A run, a fine-tuned model, or a model of Hugging Face or google-research/albert.

    Args:
        folder: Of the model.
        which: The checkpoint of a run, as for `read_trained`; other programs keep one.
        needs_head: Whether a model of another program without a masked-LM head is
            refused; else it gets a new one.
        with_weights: False to read only the architecture, where it can be read alone.
        say: Told about every damaged checkpoint passed over.
    """
    if is_tuned(folder) or (folder / MODEL_CONFIG).exists():
        return read_trained(folder, which=which, with_weights=with_weights, say=say)
    model = read_external(folder, needs_head=needs_head)
    if model is None:
        raise AlbertError(
            f"{folder} is neither a run nor a model of Hugging Face or "
            "google-research/albert; give the folder of one."
        )
    if which == "best":
        raise SettingError(
            f"--checkpoint {which} is for a run, and {folder} is an export of one "
            "checkpoint; leave it out."
        )
    return model


def read_external(folder: Path, *, needs_head: bool = True) -> TrainedModel | None:
    """The model that another program keeps in a folder; None where there is none."""
    if is_huggingface(folder):
        return read_huggingface_task(folder) or read_huggingface(
            folder, needs_head=needs_head
        )
    return read_google(folder, needs_head=needs_head) if is_google(folder) else None


def load_pretrainer(
    folder: Path, *, which: Which | None = None, say: Say = silent
) -> AlbertPretrainer:
    """The model of a folder with its weights and the heads of pretraining."""
    return pretrainer_of(read_model(folder, which=which, say=say))
