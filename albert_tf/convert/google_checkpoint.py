"""Reading an ALBERT of google-research/albert: albert_config.json and a checkpoint."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

from albert_tf.convert.external_model import (
    Tensors,
    take_over,
)
from albert_tf.convert.name_maps import GOOGLE
from albert_tf.model.trained_model import TrainedModel
from schemas.errors import AlbertError
from schemas.json_file import read_json

CONFIG = "albert_config.json"
_GLOBAL_STEP = "global_step"
# The file that names the newest checkpoint of a folder.
_NEWEST = "checkpoint"
_MOMENTS = ("/adam_m", "/adam_v")


def is_google(folder: Path) -> bool:
    """Whether a folder has a checkpoint of TensorFlow."""
    return any(folder.glob("*.index"))


def read_google(folder: Path, *, needs_head: bool = True) -> TrainedModel:
    """Read a checkpoint.

    The moments of its optimizer are left out.

    Args:
        folder: Of the checkpoint.
        needs_head: See `take_over`.

    Raises:
        AlbertError: There is not exactly one checkpoint, or it is of another
            architecture or not whole.
    """
    config_source = _configuration(folder)
    values = read_json(config_source)
    activation = values.get("hidden_act", "gelu")
    if activation not in ("gelu", "relu"):
        raise AlbertError(
            f"{config_source}: hidden_act is {activation}; only ALBERTs with gelu or "
            "relu can be read."
        )
    tensors = _find_tensors(_checkpoint(folder))
    model = take_over(
        tensors, values, GOOGLE, config_source=config_source, needs_head=needs_head
    )
    config = dataclasses.replace(model.config, hidden_act=activation)
    return dataclasses.replace(model, config=config)


def _configuration(folder: Path) -> Path:
    """The one configuration beside a checkpoint."""
    found = sorted(folder.glob("*config*.json"))
    if folder / CONFIG in found:
        return folder / CONFIG
    if len(found) != 1:
        raise AlbertError(
            f"{folder} has {len(found)} configurations; put the one of its checkpoint "
            f"there as {CONFIG}."
        )
    return found[0]


def _checkpoint(folder: Path) -> Path:
    """The prefix of the one checkpoint of a folder, or of the one it says is newest."""
    with _refused(folder / _NEWEST):
        newest = tf.train.latest_checkpoint(str(folder))
    if newest is not None:
        # By name only: the file that says so has no business outside its folder.
        return folder / Path(newest).name
    found = sorted(folder.glob("*.index"))
    if len(found) != 1:
        raise AlbertError(
            f"{folder} has {len(found)} checkpoints; leave the files of one there."
        )
    return found[0].with_suffix("")


def _find_tensors(prefix: Path) -> Tensors:
    """All tensors of a checkpoint but those of its optimizer.

    Raises:
        AlbertError: A file is missing or cut off.
    """
    with _refused(prefix):
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = {
            name: tuple(shape)
            for name, shape in reader.get_variable_to_shape_map().items()
            if name != _GLOBAL_STEP and not name.endswith(_MOMENTS)
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
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        reason = str(error).split("\n", maxsplit=1)[0].rstrip(".")
        raise AlbertError(f"{prefix} is not whole: {reason}; copy it again.") from error
