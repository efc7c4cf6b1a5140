"""An ALBERT as google-research/albert keeps it: albert_config.json and a checkpoint."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from albert_tf.convert.external_model import (
    SENTENCE_TASK,
    ExternalModel,
    Tensors,
    take_over,
    whole_model,
)
from albert_tf.convert.name_maps import GOOGLE, renamed
from albert_tf.model.sharing import whole_layers
from schemas.config import ModelConfig
from schemas.errors import AlbertError
from schemas.json_file import read_json, write_json

CONFIG = "albert_config.json"
CHECKPOINT = "model.ckpt"

# Fields that its AlbertConfig has under the same names.
_FIELDS = (
    "attention_probs_dropout_prob",
    "hidden_dropout_prob",
    "embedding_size",
    "hidden_size",
    "initializer_range",
    "intermediate_size",
    "max_position_embeddings",
    "num_attention_heads",
    "num_hidden_layers",
    "num_hidden_groups",
    "inner_group_num",
    "type_vocab_size",
    "vocab_size",
)
# Fields it reads and does nothing with, as in the published files.
_UNUSED = {
    "net_structure_type": 0,
    "gap_size": 0,
    "num_memory_blocks": 0,
    "down_scale_factor": 1,
}
# Its code has no setting for it.
_LAYER_NORM_EPS = 1e-12

_GLOBAL_STEP = "global_step"
# The file that names the newest checkpoint of a folder.
_NEWEST = "checkpoint"
_MOMENTS = ("/adam_m", "/adam_v")


def write_google(
    weights: Mapping[str, Any], config: ModelConfig, folder: Path, *, step: int
) -> None:
    """Write a checkpoint of format V2 and its configuration.

    Raises:
        AlbertError: That program cannot compute the model.
    """
    if config.layer_norm_eps != _LAYER_NORM_EPS:
        raise AlbertError(
            f"layer_norm_eps is {config.layer_norm_eps}, and google-research/albert "
            f"has {_LAYER_NORM_EPS} in its code; export to hf instead."
        )
    tensors: dict[str, Any] = {
        **renamed(whole_model(weights, config), GOOGLE),
        _GLOBAL_STEP: tf.constant(step, tf.int64),
    }
    names = sorted(tensors)
    tf.raw_ops.SaveV2(
        prefix=str(folder / CHECKPOINT),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[tf.convert_to_tensor(tensors[name]) for name in names],
    )
    (folder / _NEWEST).write_text(f'model_checkpoint_path: "{CHECKPOINT}"\n')
    whole = whole_layers(config)
    record = {
        **{name: getattr(whole, name) for name in _FIELDS},
        "hidden_act": config.hidden_act,
        **_UNUSED,
        SENTENCE_TASK: config.sentence_task,
    }
    write_json(folder / CONFIG, record)


def is_google(folder: Path) -> bool:
    """Whether a folder has a checkpoint of TensorFlow."""
    return any(folder.glob("*.index"))


def read_google(folder: Path, *, needs_head: bool = True) -> ExternalModel:
    """Read a checkpoint that google-research/albert, or `albert export`, saved.

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
    return model._replace(config=config)


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
