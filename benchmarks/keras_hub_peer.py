"""A model of KerasHub, or of its guide to pretraining, trained by `fit` for some time.

Where weights are shared, files that KerasHub itself writes cannot be read again; so the
weights are kept as an array each.
"""

import argparse
import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer_training import LENGTH, Arrays, rate_at
from benchmarks.step_frameworks import keras_hub_albert
from pipeline.vocabulary.tokenizer import read_model
from schemas.config import ModelConfig
from schemas.json_file import read_json, write_json
from schemas.layout import SPM_MODEL
from schemas.special_tokens import PAD_ID

# The peer whose learning rate stays as it is, in float32.
GUIDE = "keras-hub-guide"

# The files of a model.
MODEL, WEIGHTS = "keras_hub.json", "weights.npz"


def train(
    arguments: argparse.Namespace, config: ModelConfig, batches: Iterator[Arrays]
) -> int:
    """Train a model and write it; how many steps it did."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras

    keras.utils.set_random_seed(arguments.seed)
    if arguments.peer != GUIDE:
        keras.config.set_dtype_policy("mixed_bfloat16")
    model = MODELS[arguments.peer](config)
    model.compile(
        optimizer=keras.optimizers.AdamW(arguments.learning_rate, weight_decay=0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=arguments.xla,
    )
    clock = Clock(model, arguments)
    model.fit(
        dataset_of(batches),
        epochs=10**6,
        steps_per_epoch=20,
        callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=clock.tick)],
        verbose=2,
    )
    folder = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    written = {"peer": arguments.peer, "config": dataclasses.asdict(config)}
    write_json(folder / MODEL, written)
    np.savez(folder / WEIGHTS, *model.get_weights())
    (folder / SPM_MODEL).write_bytes(read_model(arguments.data))
    return clock.steps


class Clock:
    """Ends a training in time, and sets its learning rate unless that stays.

    Args:
        model: What is trained.
        arguments: Those of the command.

    Attributes:
        steps: How many were done.
    """

    def __init__(self, model: Any, arguments: argparse.Namespace) -> None:
        self.steps = 0
        self._begun = 0.0
        self._model = model
        self._arguments = arguments

    def tick(self, batch: int, logs: Any = None) -> None:
        """Count a step, once it is done."""
        if not self.steps:
            self._begun = time.monotonic()  # the first one compiles
        self.steps += 1
        share = (time.monotonic() - self._begun) / self._arguments.seconds
        rate = 1.0 if self._arguments.peer == GUIDE else rate_at(share)
        self._model.optimizer.learning_rate = self._arguments.learning_rate * rate
        self._model.stop_training = share >= 1


def dataset_of(batches: Iterator[Arrays]) -> Any:
    """The batches as `fit` reads them."""
    import tensorflow as tf

    def pairs() -> Iterator[tuple[Arrays, np.ndarray]]:
        for batch in batches:
            yield inputs_of(batch["ids"], batch["places"]), batch["labels"]

    example = next(pairs())
    specs = tf.nest.map_structure(lambda v: tf.TensorSpec(v.shape, v.dtype), example)
    return tf.data.Dataset.from_generator(pairs, output_signature=specs).prefetch(4)


def inputs_of(ids: np.ndarray, places: np.ndarray) -> Arrays:
    """What a model reads: ids `[B, S]` and places to predict `[B, P]`."""
    return {
        "token_ids": ids.astype(np.int32),
        "padding_mask": (ids != PAD_ID).astype(np.int32),
        "segment_ids": np.zeros_like(ids, np.int32),
        "mask_positions": places.astype(np.int32),
    }


def read(folder: Path) -> Any:
    """A model that `train` wrote."""
    written = read_json(folder / MODEL)
    model = MODELS[written["peer"]](ModelConfig(**written["config"]))
    with np.load(folder / WEIGHTS) as weights:
        model.set_weights(list(weights.values()))
    return model


def albert_model(config: ModelConfig) -> Any:
    """KerasHub's ALBERT for rows of the training."""
    return keras_hub_albert(config, longest=LENGTH)


def guide_model(config: ModelConfig) -> Any:
    """The model of KerasHub's guide to pretraining."""
    import keras
    from keras_hub.layers import (
        MaskedLMHead,
        TokenAndPositionEmbedding,
        TransformerEncoder,
    )

    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in inputs_of(np.zeros((1, 1)), np.zeros((1, 1)))
    }
    embedding = TokenAndPositionEmbedding(
        vocabulary_size=config.vocab_size, sequence_length=LENGTH, embedding_dim=256
    )
    states = embedding(inputs["token_ids"])
    states = keras.layers.LayerNormalization(epsilon=1e-5)(states)
    states = keras.layers.Dropout(0.1)(states)
    for _ in range(3):
        states = TransformerEncoder(
            intermediate_dim=512, num_heads=4, dropout=0.1, layer_norm_epsilon=1e-5
        )(states, padding_mask=inputs["padding_mask"])
    head = MaskedLMHead(token_embedding=embedding.token_embedding)
    logits = head(states, mask_positions=inputs["mask_positions"])
    return keras.Model(inputs, logits)


MODELS = {"keras-hub": albert_model, GUIDE: guide_model}
