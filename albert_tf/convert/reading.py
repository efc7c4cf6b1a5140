"""Reading a model from any folder that holds one: a run, or another program's model.

A model of google-research/albert is `albert_config.json` and a checkpoint; that of
Hugging Face has rooms of its own (`huggingface`, `huggingface_tasks`).
"""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from albert_tf.convert.external import GOOGLE, SENTENCE_TASK, Tensors, architecture, take_over
from albert_tf.convert.huggingface import is_huggingface, read_huggingface, read_huggingface_task
from albert_tf.model.trained_model import TrainedModel, read_trained
from albert_tf.runs.checkpoints import Which
from albert_tf.runs.metrics import QUIET, Say
from albert_tf.runs.run_record import is_tuned
from schemas.architecture import ModelConfig
from schemas.errors import AlbertError, SettingError
from schemas.files import read_json
from schemas.layout import MODEL_CONFIG

_GOOGLE_CONFIG = "albert_config.json"
_PROJECTION = "encoder/embeddings/projection/kernel"
# The file that names the newest checkpoint of a folder.
_NEWEST = "checkpoint"


def read_whole_model(
    folder: Path,
    *,
    which: Which | None = None,
    needs_head: bool = True,
    with_weights: bool = True,
    say: Say = QUIET.say,
) -> TrainedModel:
    """A run, a fine-tuned model, or a model of Hugging Face or google-research/albert.

    Args:
        which: The checkpoint of a run, as for `read_trained`; other programs keep one.
        needs_head: Whether a model of another program without a masked-LM head is
            refused; else it gets a new one.
        with_weights: False to read only the architecture, where it can be read alone.
        say: Told about every damaged checkpoint passed over.
    """
    if is_tuned(folder) or (folder / MODEL_CONFIG).exists():
        return read_trained(folder, which=which, with_weights=with_weights, say=say)
    model = read_other_model(folder, needs_head=needs_head)
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


def read_other_model(folder: Path, *, needs_head: bool = True) -> TrainedModel | None:
    """The model that another program keeps in a folder; None where there is none."""
    if is_huggingface(folder):
        return read_huggingface_task(folder) or read_huggingface(folder, needs_head=needs_head)
    return read_google(folder, needs_head=needs_head) if is_google(folder) else None


def is_google(folder: Path) -> bool:
    """Whether a folder has a checkpoint of TensorFlow."""
    return any(folder.glob("*.index"))


def read_google(folder: Path, *, needs_head: bool = True) -> TrainedModel:
    """Read a checkpoint, without the moments of its optimizer."""
    found = sorted(folder.glob("*config*.json"))
    config_source = folder / _GOOGLE_CONFIG
    if config_source not in found:
        if len(found) != 1:
            raise AlbertError(
                f"{folder} has {len(found)} configurations; put the one of its checkpoint "
                f"there as {_GOOGLE_CONFIG}."
            )
        config_source = found[0]
    values = read_json(config_source)
    activation = values.get("hidden_act", "gelu")
    if activation not in ("gelu", "relu"):
        raise AlbertError(
            f"{config_source}: hidden_act is {activation}; only ALBERTs with gelu or "
            "relu can be read."
        )
    tensors = _find_tensors(_checkpoint(folder))
    config = architecture(values, source=config_source, activation=activation, group_of=_group)
    if GOOGLE.name(_PROJECTION) in tensors.shapes and not config.has_projection:
        config = dataclasses.replace(config, embedding_projection="always")
    return take_over(
        tensors, config, GOOGLE, sentence_task=values.get(SENTENCE_TASK), needs_head=needs_head
    )


def _group(layer: int, config: ModelConfig) -> int:
    """The group of a layer as google-research/albert rounds it (`modeling.py`)."""
    return int(layer / config.num_hidden_layers * config.num_hidden_groups)


def _checkpoint(folder: Path) -> Path:
    """The prefix of the one checkpoint of a folder, or of the one it says is newest."""
    with _refused(folder / _NEWEST):
        newest = tf.train.latest_checkpoint(str(folder))
    if newest is not None:
        # By name only: the file that says so has no business outside its folder.
        return folder / Path(newest).name
    found = sorted(folder.glob("*.index"))
    if len(found) != 1:
        raise AlbertError(f"{folder} has {len(found)} checkpoints; leave the files of one there.")
    return found[0].with_suffix("")


def _find_tensors(prefix: Path) -> Tensors:
    """All tensors of a checkpoint but those of its optimizer."""
    with _refused(prefix):
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = {
            name: tuple(shape)
            for name, shape in reader.get_variable_to_shape_map().items()
            if name != "global_step" and not name.endswith(("/adam_m", "/adam_v"))
        }

    def load(name: str) -> Any:
        with _refused(prefix):
            return reader.get_tensor(name)

    return Tensors(prefix, shapes, load)


@contextlib.contextmanager
def _refused(prefix: Path) -> Iterator[None]:
    """Say in a sentence that a checkpoint cannot be read."""
    try:
        yield
    except (LookupError, ValueError, RuntimeError, tf.errors.OpError) as error:
        reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
        raise AlbertError(f"{prefix} is not whole: {reason}; copy it again.") from error
