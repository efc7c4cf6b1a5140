"""Small data sets for the trainer's tests, written with TensorFlow itself."""

import dataclasses
import hashlib
import itertools
import os
import signal
from pathlib import Path

import numpy as np
import tensorflow as tf

from albert_tf.model.initial_weights import initialize_weights
from albert_tf.model.pretrainer import AlbertPretrainer
from albert_tf.runs.checkpoints import Checkpoint, arrays_of, save_checkpoint
from albert_tf.training.loop import Training
from albert_tf.training.run import ResolvedRun
from schemas.architecture import ModelConfig
from schemas.config import DataConfig
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, MASK_ID, SEP_ID, stored_features
from schemas.files import write_json
from schemas.layout import DATA_MANIFEST, MANIFEST, MODEL_CONFIG, SPM_MODEL, shard_file
from schemas.manifest import read_manifest
from tests.manifests import described, manifest_of
from tests.pipeline.records import one_record

VOCAB_SIZE = 64
MAX_SEQ_LENGTH = 24
MAX_PREDICTIONS = 4

TINY = ModelConfig(
    vocab_size=VOCAB_SIZE,
    embedding_size=8,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=32,
)


def make_instance(rng, *, sentence_task="sop"):
    """A compact example: pieces count up from a low one, so masks can be guessed."""
    lengths = rng.integers(3, 10, size=2)
    starts = FIRST_ORDINARY_ID + rng.integers(0, 10, size=2)
    a, b = ([*range(s, s + n)] for s, n in zip(starts.tolist(), lengths.tolist(), strict=True))
    label = int(a[0] > b[0])
    if sentence_task == "none":
        ids, label = [CLS_ID, *a, SEP_ID], 0
    else:
        ids = [CLS_ID, *a, SEP_ID, *b, SEP_ID]
    ordinary = [i for i, piece in enumerate(ids) if piece >= FIRST_ORDINARY_ID]
    count = int(rng.integers(1, MAX_PREDICTIONS + 1))
    positions = sorted(int(i) for i in rng.choice(ordinary, count, replace=False))
    labels = [ids[i] for i in positions]
    for position in positions:
        ids[position] = MASK_ID
    return {
        "input_ids": ids,
        "masked_lm_positions": positions,
        "masked_lm_ids": labels,
        "next_sentence_labels": [label],
    }


def padded_instance(instance):
    """All eight features of a compact instance, padded."""
    ids = instance["input_ids"]
    first_separator = ids.index(SEP_ID)

    def pad(values, length):
        return [*values, *[0] * (length - len(values))]

    num_masked = len(instance["masked_lm_ids"])
    return instance | {
        "input_ids": pad(ids, MAX_SEQ_LENGTH),
        "input_mask": pad([1] * len(ids), MAX_SEQ_LENGTH),
        "segment_ids": pad([int(i > first_separator) for i in range(len(ids))], MAX_SEQ_LENGTH),
        "token_boundary": [0] * MAX_SEQ_LENGTH,
        "masked_lm_positions": pad(instance["masked_lm_positions"], MAX_PREDICTIONS),
        "masked_lm_ids": pad(instance["masked_lm_ids"], MAX_PREDICTIONS),
        "masked_lm_weights": pad([1.0] * num_masked, MAX_PREDICTIONS),
    }


def encode(instance, layout="compact"):
    """An instance as the bytes of a `tf.train.Example`."""
    values = padded_instance(instance) if layout == "padded" else instance
    return one_record.encode({each.name: values[each.name] for each in stored_features(layout)})


def write_dataset(
    root: Path,
    *,
    copies=2,
    shards=3,
    examples=10,
    eval_examples=7,
    layout="compact",
    sentence_task="sop",
    seed=0,
):
    """A finished data set with `examples` in each of `shards` of each of `copies`."""
    rng = np.random.default_rng(seed)
    sizes = {("train", copy): [examples] * shards for copy in range(copies)}
    if eval_examples:
        sizes["eval", 0] = [eval_examples - eval_examples // 2, eval_examples // 2]
    files = []
    for (split, copy), counts in sizes.items():
        for shard, count in enumerate(counts):
            name = shard_file(split, copy, shard=shard, num_shards=len(counts))
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with tf.io.TFRecordWriter(str(path)) as writer:
                for _ in range(count):
                    instance = make_instance(rng, sentence_task=sentence_task)
                    writer.write(encode(instance, layout))
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            files.append(described(name, count, bytes=len(content), sha256=digest))
    (root / SPM_MODEL).write_bytes(b"pieces")
    manifest = make_manifest(files, layout=layout, sentence_task=sentence_task)
    write_json(root / MANIFEST, manifest.to_dict())
    return manifest


def make_manifest(files, *, layout="compact", sentence_task="sop"):
    """The manifest of a data set made of these files."""
    config = DataConfig(
        max_seq_length=MAX_SEQ_LENGTH,
        max_predictions_per_seq=MAX_PREDICTIONS,
        sentence_task=sentence_task,
        record_layout=layout,
        num_shards=3,
    ).resolved(input_bytes=0)
    sha256 = hashlib.sha256(b"pieces").hexdigest()
    return manifest_of(files, config, sha256=sha256, vocab_size=VOCAB_SIZE)


def signal_at_step(number, *, which=signal.SIGTERM):
    """Have this process signalled as it begins its n-th step."""
    begun, begin = itertools.count(1), Training.begin

    def signalled(self, batches, step):
        if next(begun) == number:
            os.kill(os.getpid(), which)
        return begin(self, batches, step)

    Training.begin = signalled


def resolved_run(data, folder, config, **changes):
    """A run of nothing but its settings, unless changed."""
    run = ResolvedRun(
        folder=folder,
        model_config=TINY,
        config=config.resolved(),
        data=data,
        manifest=read_manifest(data),
    )
    return dataclasses.replace(run, **changes)


def save_run(run, config, *, step=9, seed=1, is_best=False):
    """A run with a checkpoint of random weights; these weights."""
    model = AlbertPretrainer(config)
    initialize_weights(model, standard_deviation=1.0, seed=seed)
    run.mkdir(exist_ok=True)
    write_json(run / MODEL_CONFIG, dataclasses.asdict(config))
    files = [described(shard_file("train", 0, shard=n, num_shards=3), 1) for n in range(3)]
    write_json(run / DATA_MANIFEST, make_manifest(files).to_dict())
    (run / SPM_MODEL).write_bytes(b"pieces")
    weights = arrays_of(model.weights_by_path)
    save_checkpoint(run, Checkpoint(weights, {}, {"step": step}), is_best=is_best)
    return weights
