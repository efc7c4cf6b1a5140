"""An ALBERT as google-research/albert saves it: a checkpoint and albert_config.json."""

import dataclasses
import json

import tensorflow as tf

from albert_tf.convert.external import GOOGLE, renamed, whole_model
from albert_tf.model.parameters import whole_layers

# Fields of its AlbertConfig, beside those that it reads and does nothing with.
OTHERS = {"net_structure_type": 0, "gap_size": 0, "num_memory_blocks": 0, "down_scale_factor": 1}


def google_tensors(weights, config):
    """The variables of a checkpoint, by name."""
    step = tf.constant(11, tf.int64)
    return {**renamed(whole_model(weights, config), GOOGLE), "global_step": step}


def google_values(config):
    """What albert_config.json says."""
    values = dataclasses.asdict(whole_layers(config))
    for name in ("sharing", "layer_norm_eps"):
        del values[name]
    return values | OTHERS | {"sentence_task": config.sentence_task}


def save_google(folder, weights, config):
    """Save a model, with the file that names the newest checkpoint."""
    tensors = google_tensors(weights, config)
    names = sorted(tensors)
    tf.raw_ops.SaveV2(
        prefix=str(folder / "model.ckpt"),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[tf.convert_to_tensor(tensors[name]) for name in names],
    )
    (folder / "checkpoint").write_text('model_checkpoint_path: "model.ckpt"\n')
    values = google_values(config)
    (folder / "albert_config.json").write_text(json.dumps(values, indent=2))
