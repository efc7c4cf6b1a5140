"""Runs for tests: trained in a second, or written as `pretrain` leaves them."""

import dataclasses
import json
import os
import signal
import zlib

import numpy as np
import safetensors.numpy

from albert_tf.data.data_check import check_data
from albert_tf.runs.metrics import read_metrics
from albert_tf.training.pretraining import pretrain
from albert_tf.training.run import check_run
from albert_tf.training.steps import PRETRAINING
from albert_tf.training.tensorflow_steps import TensorFlowSteps
from schemas.architecture import ModelConfig
from schemas.config import DataConfig, TrainConfig
from schemas.files import write_json
from schemas.layout import CONFIG, DATA_MANIFEST, METRICS, MODEL_CONFIG
from tests import manifests
from tests.training_data import TINY, resolved_run

SETTINGS = TrainConfig(
    batch_size=8,
    micro_batch_size=4,
    steps=12,
    warmup_steps=3,
    learning_rate=0.01,
    eval_every=5,
    checkpoint_every=4,
    eval_examples=7,
)
DROPOUT = dataclasses.replace(TINY, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)
OF_DOCUMENTS = dataclasses.replace(TINY, vocab_size=400)


def train(data, folder, *, model=TINY, config=SETTINGS, init_from=None, **kwargs):
    """Check and train a run, without a word unless `progress` is given."""
    run = resolved_run(data, folder, config, model_config=model, init_from=init_from)
    if not (folder / "checkpoints").exists():
        check_data(run.manifest, data=data)
        check_run(run)
    return pretrain(run, **kwargs)


def final(run):
    """The arrays of the newest checkpoint, and the metrics but for times."""
    directory = run / "checkpoints" / (run / "checkpoints/latest").read_text().strip()
    arrays = {}
    for name in ("model", "optimizer"):
        arrays |= safetensors.numpy.load_file(directory / f"{name}.safetensors")
    lines = read_metrics(run)
    for line in lines:
        line.pop("sequences_per_second")
        line.pop("seconds")
    return {name: array.tobytes() for name, array in arrays.items()}, lines


def evaluations(run):
    return [line for line in read_metrics(run) if line["split"] == "eval"]


def take_light_steps(monkeypatch):
    """Have steps note what they are given and compile nothing, which takes most of a tiny run.

    What a run leaves still follows from each batch, dropout key, count, rate and number, and
    from the weights and the optimizer state that it goes on from.
    """

    def noted(self, batch, keys, counts):
        given = [*batch.values(), keys, np.array([*counts.values()])]
        seen = zlib.crc32(b"".join(array.tobytes() for array in given)) % 1000 / 1000
        row = [seen, 0, 1, 0, 0, 1] if self.loss is PRETRAINING else [seen, 1]
        return np.array([row] * self.num_devices, np.float32)

    def applied(self, learning_rate, *, step):
        norm = float(self.sums()[0])
        self.discard()
        for variable in (*self.model.weights_by_path.values(), *self.optimizer_state.values()):
            variable.assign(variable + 0.001 * learning_rate * norm / (1 + step))
        return norm

    def compiled(self, parts, *, should_stop):
        return None if should_stop() else 1.0

    monkeypatch.setattr(TensorFlowSteps, "_accumulated", noted)
    monkeypatch.setattr(TensorFlowSteps, "apply", applied)
    monkeypatch.setattr(TensorFlowSteps, "compile", compiled)


def signal_at_micro_batch(monkeypatch, number, *, which=signal.SIGTERM):
    """Have this process signalled while it computes its n-th micro-batch."""
    accumulate, compiled = TensorFlowSteps.accumulate, TensorFlowSteps.compile
    calls = []

    def signalled(self, *args, **kwargs):
        calls.append(None)
        if len(calls) == number:
            os.kill(os.getpid(), which)
        return accumulate(self, *args, **kwargs)

    def compiled_without_a_signal(self, parts, **kwargs):
        with monkeypatch.context() as patch:
            patch.setattr(TensorFlowSteps, "accumulate", accumulate)
            return compiled(self, parts, **kwargs)

    monkeypatch.setattr(TensorFlowSteps, "accumulate", signalled)
    monkeypatch.setattr(TensorFlowSteps, "compile", compiled_without_a_signal)


def train_line(step, *, split="train", loss=2.0, accuracy=0.25, rate=0.001, norm=1.0, speed=8.0):
    """What is logged of training."""
    task = {"mlm_loss": loss, "mlm_accuracy": accuracy}
    task |= {"sentence_loss": 0.5, "sentence_accuracy": 0.5}
    times = {"sequences_per_second": speed, "seconds": 3.0 * step}
    return {
        "step": step,
        "split": split,
        **task,
        "learning_rate": rate,
        "gradient_norm": norm,
        **times,
    }


def eval_line(step, **changes):
    """What is logged of an evaluation."""
    return train_line(step, split="eval", rate=None, norm=None, speed=16.0, **changes)


LINES = (eval_line(0, loss=3.0), train_line(1), train_line(2), eval_line(2))


def manifest_of(held_out):
    """The manifest of a data set with so many held-out examples in one file."""
    config = DataConfig(dupe_factor=1, num_shards=1).resolved(input_bytes=0)
    files = [
        manifests.described(f"{split}/copy-00/part-00000-of-00001.tfrecord", examples)
        for split, examples in (("train", 900), ("eval", held_out))
    ]
    return manifests.manifest_of(files, config, sha256="0" * 64, vocab_size=30000)


def write_records(folder, *, lines=LINES, held_out=100, **changes):
    """The text files of a run of ten steps, with the defaults but for changes."""
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
