"""A run as `albert pretrain` leaves it, without training."""

import shutil
from pathlib import Path

from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from schemas.config import ModelConfig
from schemas.json_file import write_json
from schemas.layout import DATA_MANIFEST, MANIFEST, MODEL_CONFIG, SPM_MODEL
from schemas.manifest import read_manifest
from tests.huggingface_albert import lively_weights


def write_run(run: Path, *, data: Path, seed=7, **changes) -> AlbertPretrainer:
    """A run on a data set, of a small model with lively weights; returns the model."""
    config = ModelConfig(
        **{
            "vocab_size": read_manifest(data).vocabulary["size"],
            "embedding_size": 8,
            "hidden_size": 16,
            "num_hidden_layers": 3,
            "num_attention_heads": 2,
            "intermediate_size": 24,
            "max_position_embeddings": 64,
        }
        | changes
    )
    model = AlbertPretrainer(config)
    weights = lively_weights(model, seed=seed)
    for path, weight in model.weights_by_path.items():
        weight.assign(weights[path])
    run.mkdir(parents=True)
    write_json(run / MODEL_CONFIG, {name: v for name, v in vars(config).items()})
    shutil.copy(data / SPM_MODEL, run / SPM_MODEL)
    shutil.copy(data / MANIFEST, run / DATA_MANIFEST)
    save_checkpoint(run, Checkpoint(weights, {}, {"step": 3}), is_best=True)
    return model
