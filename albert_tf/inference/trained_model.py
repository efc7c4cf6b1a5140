"""A trained model for use, from a run or from what another program reads."""

from collections.abc import Callable
from pathlib import Path

from albert_tf.convert.external_model import ExternalModel
from albert_tf.convert.google_checkpoint import is_google, read_google
from albert_tf.convert.huggingface import is_huggingface, read_huggingface
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.run_weights import read_run_weights
from albert_tf.runs.checkpoints import Which, assign_arrays
from albert_tf.runs.run_record import is_tuned
from schemas.errors import AlbertError, SettingError
from schemas.layout import MODEL_CONFIG


def load_trained_model(
    path: Path,
    *,
    which: Which = "latest",
    say: Callable[[str], None] = lambda line: None,
) -> AlbertPretrainer:
    """The model of a run, or of an export to Hugging Face, in float32.

    Args:
        path: The run or the export.
        which: Which checkpoint of a run.
        say: Told about every damaged checkpoint passed over.

    Raises:
        AlbertError: The folder is neither, or a fine-tuned model, or its weights cannot
            be read.
    """
    if is_tuned(path):
        raise AlbertError(
            f"{path} is a fine-tuned model, which has only the head of its task; use "
            "albert predict."
        )
    external = read_external(path, which=which)
    if external is not None:
        config, weights, _ = external
    elif (path / MODEL_CONFIG).exists():
        config, weights, _ = read_run_weights(path, which=which, say=say)
    else:
        raise AlbertError(
            f"{path} is neither a run nor an export whose weights can be read; give a "
            "run, or what albert export --to hf has written."
        )
    model = AlbertPretrainer(config)
    assign_arrays(model.weights_by_path, weights)
    return model


def read_external(
    folder: Path, *, which: Which = "latest", needs_head: bool = True
) -> ExternalModel | None:
    """The model that another program keeps in a folder; None where there is none.

    Args:
        folder: Of the model.
        which: The checkpoint that is asked for; it has only one.
        needs_head: Whether one without a masked-LM head is refused; else it gets a new
            one.

    Raises:
        AlbertError: It is of another architecture, or cannot be read.
    """
    is_of_huggingface = is_huggingface(folder)
    if not is_of_huggingface and not is_google(folder):
        return None
    if which != "latest":
        raise SettingError(
            f"--checkpoint {which} is for a run, and {folder} is an export of one "
            "checkpoint; leave it out."
        )
    read = read_huggingface if is_of_huggingface else read_google
    return read(folder, needs_head=needs_head)
