"""A run as `pretrain` leaves it, as far as its text files go."""

import dataclasses
import json

from schemas.config import DataConfig, ModelConfig, TrainConfig
from schemas.json_file import write_json
from schemas.layout import CONFIG, DATA_MANIFEST, METRICS, MODEL_CONFIG
from schemas.manifest import ShardFile
from tests import manifests


def train_line(step, *, loss=2.0, norm=1.0):
    """What is logged of training."""
    return {
        **_of_both(step, "train", loss),
        "learning_rate": 0.001,
        "gradient_norm": norm,
        "sequences_per_second": 8.0,
        "seconds": 3.0 * step,
    }


def eval_line(step, *, loss=2.0, accuracy=0.25):
    """What is logged of an evaluation."""
    return {
        **_of_both(step, "eval", loss),
        "mlm_accuracy": accuracy,
        "learning_rate": None,
        "gradient_norm": None,
        "sequences_per_second": 16.0,
        "seconds": 3.0 * step,
    }


def _of_both(step, split, loss):
    return {
        "step": step,
        "split": split,
        "mlm_loss": loss,
        "mlm_accuracy": 0.25,
        "sentence_loss": 0.5,
        "sentence_accuracy": 0.5,
    }


LINES = (eval_line(0, loss=3.0), train_line(1), train_line(2), eval_line(2))


def manifest_of(held_out):
    """The manifest of a data set with so many held-out examples in one file."""
    config = DataConfig(dupe_factor=1, num_shards=1).resolved(input_bytes=0)
    files = [
        ShardFile(
            name=f"{split}/copy-00/part-00000-of-00001.tfrecord",
            examples=examples,
            bytes=1000 * examples,
            sha256="0" * 64,
        )
        for split, examples in (("train", 900), ("eval", held_out))
    ]
    return manifests.manifest_of(files, config, sha256="0" * 64, vocab_size=30000)


def write_run(folder, *, lines=LINES, held_out=100, **changes):
    """A run of ten steps whose settings are the defaults but for some changes."""
    folder.mkdir()
    config = dataclasses.asdict(TrainConfig(steps=10)) | changes
    settings = {"command": "pretrain", "albert_version": "0.1.0", "data": "data"}
    environment = {"started": "2026-01-02T03:04:05+0000", "python": "3.11.7"}
    record = {"model": "tiny", "overrides": [], "environment": environment}
    identity = config | {"data": "abc", "model": {}}
    record = record | {name: changes[name] for name in record.keys() & changes.keys()}
    write_json(folder / CONFIG, settings | config | record | {"identity": identity})
    write_json(folder / MODEL_CONFIG, dataclasses.asdict(ModelConfig()))
    write_json(folder / DATA_MANIFEST, manifest_of(held_out).to_dict())
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / METRICS).write_text(text, encoding="utf-8")
    return folder
