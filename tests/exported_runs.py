"""Runs with a real vocabulary and random weights, as exports take them."""

import dataclasses
import json
import shutil

from albert_tf.convert.reading import read_whole_model
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.model.task_model import TaskModel
from albert_tf.model.trained_model import pretrainer_of
from albert_tf.runs.checkpoints import Checkpoint, save_checkpoint
from albert_tf.runs.task_record import write_record
from schemas.config import TrainConfig
from schemas.files import write_json
from schemas.task import TaskRecord, TaskSpec
from tests.commands import run
from tests.evaluations import TASK
from tests.google_albert import save_google
from tests.huggingface_albert import SMALL, lively_arrays, lively_weights

VOCAB_SIZE = 400
SMALL_RUN = dataclasses.replace(SMALL, vocab_size=VOCAB_SIZE, max_position_embeddings=48)
# Compiled, and asked, in less time.
ONE_LAYER = dataclasses.replace(SMALL_RUN, num_hidden_layers=1, num_hidden_groups=1)
EVALUATION = {"step": 7, "split": "eval", **TASK, "sentence_loss": 0.6931, "sentence_accuracy": 0.5}

TUNED_LENGTH, TUNED_LABELS = 48, ("dull", "fair", "fine")


def load_pretrainer(folder) -> AlbertPretrainer:
    """The model of a folder with its weights and the heads of pretraining."""
    return pretrainer_of(read_whole_model(folder))


def write_tuned(folder, kind, vocabulary, *, config=SMALL_RUN, **values):
    """A fine-tuned model with random weights; `values` are of its record."""
    has_labels = kind in ("classify", "multilabel", "tag")
    labels = TUNED_LABELS if has_labels else ()
    spec = TaskSpec(name=kind, kind=kind, labels=labels, metrics=("accuracy",))
    folder.mkdir()
    weights = lively_weights(TaskModel(config, kind=kind, labels=len(labels)))
    write_json(folder / "model.json", dataclasses.asdict(config))
    lengths = {"max_seq_length": TUNED_LENGTH, "max_query_tokens": 16, "max_answer_tokens": 8}
    write_record(folder, TaskRecord(spec=spec, doc_stride=16, **lengths, **values))
    (folder / "spiece.model").write_bytes(vocabulary)
    save_checkpoint(folder, Checkpoint(weights, {}, {"step": 1}), is_best=True)


def write_run(folder, config, small, *, step=7, data=None, **settings):
    """A run on the data set of the fixture `small`; its weights by path.

    `data` and `settings`, fields of `TrainConfig`, are for its record.
    """
    folder.mkdir()
    weights = dict(lively_arrays(config))
    write_json(folder / "model.json", dataclasses.asdict(config))
    shutil.copy(small / "vocab" / "spiece.model", folder)
    shutil.copy(small / "data" / "manifest.json", folder / "data_manifest.json")
    (folder / "metrics.jsonl").write_text(json.dumps(EVALUATION) + "\n")
    train = dataclasses.asdict(TrainConfig(**settings))
    record = {"command": "pretrain", "data": data, **train}
    write_json(folder / "config.json", record)
    save_checkpoint(folder, Checkpoint(weights, {}, {"step": step}), is_best=True)
    return weights


def write_models(folder, small):
    """The fixture `small` with models beside it, in a folder that is made here.

    `run` has random weights, as `hf` and `google` have them that Hugging Face and
    google-research/albert could have written; `tuned` is a fine-tuned model.
    """
    for name in ("text", "vocab", "data"):
        shutil.copytree(small / name, folder / name)
    weights = write_run(folder / "run", SMALL_RUN, small)
    vocabulary = (small / "vocab/spiece.model").read_bytes()
    write_tuned(folder / "tuned", "classify", vocabulary)
    run("export", folder / "run", "--to", "hf", "--output", folder / "hf")
    (folder / "google").mkdir()
    save_google(folder / "google", weights, SMALL_RUN)
    (folder / "google/spiece.model").write_bytes(vocabulary)
