"""Train what others give on the same text for the same time, for `quality` to score.

    python -m benchmarks.peers hugging-face --data DATA --vocab VOCAB --output MODEL
    python -m benchmarks.peers keras-hub ...
    python -m benchmarks.peers keras-hub-guide ...

DATA is of `albert make-data --examples on-the-fly` and gives the text as the tokens of
VOCAB: documents one after the other, cut into rows of 128. Time runs from the first
step, after compiling; the learning rate of all but the guide falls linearly over it.
Single tokens are masked, 80 % by [MASK], 10 % by another, and logits are computed of
them alone.

hugging-face: as transformers' run_mlm.py with --model_type, compiled.
keras-hub: AlbertMaskedLM of KerasHub, by `fit`.
keras-hub-guide: the model of the guide "Pretraining a Transformer from scratch with
KerasHub", three layers of 256, in float32; its settings are --batch-size 128 --share
0.25 --learning-rate 0.0005, which stays as it is.

The first two are in bfloat16 unless --precision says float32, which is faster on
processors without its products.

KerasHub cannot read files of its own where weights are shared; so its weights are kept
as an array each.
"""

import argparse
import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from benchmarks.step_frameworks import huggingface_config, keras_hub_albert
from pipeline.core.machine import usable_cores
from pipeline.records.reading import read_tokens
from pipeline.vocabulary.tokenizer import read_spm_model
from schemas.architecture import PRESETS, ModelConfig
from schemas.config import Precision
from schemas.example import CLS_ID, FIRST_ORDINARY_ID, MASK_ID, PAD_ID, SEP_ID
from schemas.files import read_json, write_json
from schemas.layout import SPM_MODEL, TRAIN
from schemas.manifest import read_manifest

# Tokens in a row.
LENGTH = 128

# Steps whose losses are told together.
WINDOW = 20

# The share of the time in which the learning rate rises.
WARMUP = 0.02

Arrays = dict[str, np.ndarray]

# The peer whose learning rate stays as it is, in float32.
GUIDE = "keras-hub-guide"

# The files of a model of KerasHub.
KERAS_HUB_FILE, WEIGHTS_FILE = "keras_hub.json", "weights.npz"


class Masks(NamedTuple):
    """How rows are masked.

    Attributes:
        number: P, tokens to predict in a row.
    """

    number: int
    vocab_size: int

    def masked(self, rows: np.ndarray, random: np.random.Generator) -> Arrays:
        """Rows `[B, S]` with `ids`, `places` and `labels` `[B, P]`."""
        batch, length = rows.shape
        order = random.random((batch, length - 2)).argsort(axis=1)
        places = np.sort(1 + order[:, : self.number], axis=1)
        labels = np.take_along_axis(rows, places, axis=1)
        others = random.integers(FIRST_ORDINARY_ID, self.vocab_size, labels.shape)
        kind = random.random(labels.shape)
        shown = np.where(kind < 0.8, MASK_ID, np.where(kind < 0.9, others, labels))
        ids = rows.copy()
        np.put_along_axis(ids, places, shown.astype(ids.dtype), axis=1)
        return {"ids": ids, "places": places.astype(np.int32), "labels": labels}


def rows_of(data: Path) -> np.ndarray:
    """The training text in rows `[N, S]` of which each has [CLS] and [SEP]."""
    manifest, inside = read_manifest(data), LENGTH - 2
    shards = manifest.shard_files(TRAIN, 0)
    read = (read_tokens(data, s, manifest, config=manifest.config) for s in shards)
    tokens = np.concatenate([shard.ids for shard in read]).astype(np.int32)
    tokens = tokens[: len(tokens) // inside * inside].reshape(-1, inside)
    return np.pad(tokens, ((0, 0), (1, 1)), constant_values=((0, 0), (CLS_ID, SEP_ID)))


def batches_of(rows: np.ndarray, masks: Masks, *, size: int, seed: int) -> Iterator[Arrays]:
    """Batches without end, every epoch in another order with other masks."""
    random = np.random.default_rng(seed)
    while True:
        order = random.permutation(len(rows))
        for start in range(0, len(order) - size + 1, size):
            yield masks.masked(rows[order[start : start + size]], random)


def rate_at(share: float) -> float:
    """The learning rate after a share of the time, of the greatest.

    >>> rate_at(0.0), rate_at(0.01), round(rate_at(0.51), 2), rate_at(1.0)
    (0.0, 0.5, 0.5, 0.0)
    """
    return min(share / WARMUP, max(0.0, (1 - share) / (1 - WARMUP)))


def train_hugging_face(
    arguments: argparse.Namespace, config: ModelConfig, batches: Iterator[Arrays]
) -> int:
    """Train a model and write it; how many steps it did."""
    import torch
    from transformers import AutoTokenizer

    torch.set_num_threads(usable_cores())
    torch.manual_seed(arguments.seed)
    model, encoder, head = model_of(config, arguments.architecture)
    model.train()
    optimizer = optimizer_of(model)
    loss_of = compiled_loss(encoder, head, width=config.hidden_size)
    starts = np.arange(arguments.batch_size)[:, None] * LENGTH

    def step(batch: Arrays, rate: float) -> float:
        places = (batch["places"] + starts).reshape(-1)
        given = batch["ids"], places, batch["labels"].reshape(-1)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)
        in_bfloat16 = arguments.precision == "bfloat16"
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=in_bfloat16):
            loss = loss_of(*(torch.from_numpy(values).long() for values in given))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss.detach())

    steps = for_some_time(step, batches, arguments)
    model.save_pretrained(arguments.output)
    AutoTokenizer.from_pretrained(arguments.vocab).save_pretrained(arguments.output)
    return steps


def model_of(config: ModelConfig, architecture: str) -> tuple[Any, Any, Any]:
    """A masked language model of transformers, its encoder and its head."""
    from transformers import AlbertForMaskedLM, BertConfig, BertForMaskedLM

    if architecture == "albert":
        model = AlbertForMaskedLM(huggingface_config(config))
        return model, model.albert, model.predictions
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.hidden_size,
            num_hidden_layers=config.num_hidden_layers,
            num_attention_heads=config.num_attention_heads,
            intermediate_size=config.intermediate_size,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=PAD_ID,
        )
    )
    return model, model.bert, model.cls


def optimizer_of(model: Any) -> Any:
    """AdamW as run_mlm.py has it, without weight decay of vectors."""
    import torch

    matrices, vectors = [], []
    for parameter in model.parameters():
        (matrices if parameter.ndim > 1 else vectors).append(parameter)
    return torch.optim.AdamW(
        [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}], weight_decay=0.01
    )


def compiled_loss(encoder: Any, head: Any, *, width: int) -> Callable[..., Any]:
    """The loss of ids `[B, S]`, flat places to predict `[B*P]` and labels `[B*P]`."""
    import torch

    @torch.compile
    def loss_of(ids: Any, places: Any, labels: Any) -> Any:
        states = encoder(input_ids=ids).last_hidden_state
        rows = states.reshape(-1, width).index_select(0, places)
        return torch.nn.functional.cross_entropy(head(rows).float(), labels)

    return loss_of


def for_some_time(
    step: Callable[[Arrays, float], float], batches: Iterator[Arrays], arguments: argparse.Namespace
) -> int:
    """Do steps until the time is over; how many."""
    step(next(batches), 0.0)  # compiles
    begun, steps, window = time.monotonic(), 0, 0.0
    while (share := (time.monotonic() - begun) / arguments.seconds) < 1:
        window += step(next(batches), arguments.learning_rate * rate_at(share))
        steps += 1
        if steps % WINDOW == 0:
            print(f"{share:.1%} of the time, step {steps}, loss {window / WINDOW:.3f}")
            window = 0.0
    return steps


def train_keras_hub(
    arguments: argparse.Namespace, config: ModelConfig, batches: Iterator[Arrays]
) -> int:
    """Train a model and write it; how many steps it did."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    import keras

    keras.utils.set_random_seed(arguments.seed)
    if arguments.peer != GUIDE and arguments.precision == "bfloat16":
        keras.config.set_dtype_policy("mixed_bfloat16")
    model = KERAS_HUB_MODELS[arguments.peer](config)
    model.compile(
        optimizer=keras.optimizers.AdamW(arguments.learning_rate, weight_decay=0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=arguments.xla,
    )
    clock = Clock(model, arguments)
    model.fit(
        dataset_of(batches),
        epochs=10**6,
        steps_per_epoch=WINDOW,
        callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=clock.tick)],
        verbose=2,
    )
    folder = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    written = {"peer": arguments.peer, "config": dataclasses.asdict(config)}
    write_json(folder / KERAS_HUB_FILE, written)
    np.savez(folder / WEIGHTS_FILE, *model.get_weights())
    (folder / SPM_MODEL).write_bytes(read_spm_model(arguments.data))
    return clock.steps


class Clock:
    """Ends a training in time, and sets its learning rate unless that stays."""

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


def read_keras_hub(folder: Path) -> Any:
    """A model that `train_keras_hub` wrote."""
    written = read_json(folder / KERAS_HUB_FILE)
    model = KERAS_HUB_MODELS[written["peer"]](ModelConfig(**written["config"]))
    with np.load(folder / WEIGHTS_FILE) as weights:
        model.set_weights(list(weights.values()))
    return model


def albert_model(config: ModelConfig) -> Any:
    """KerasHub's ALBERT for rows of the training."""
    return keras_hub_albert(config, longest=LENGTH)


def guide_model(config: ModelConfig) -> Any:
    """The model of KerasHub's guide to pretraining."""
    import keras
    from keras_hub.layers import MaskedLMHead, TokenAndPositionEmbedding, TransformerEncoder

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


KERAS_HUB_MODELS = {"keras-hub": albert_model, GUIDE: guide_model}

PEERS = {"hugging-face": train_hugging_face, **dict.fromkeys(KERAS_HUB_MODELS, train_keras_hub)}


def main() -> None:
    """Train, and say how far it came."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vocab", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--model", choices=PRESETS, default="tiny")
    parser.add_argument("--architecture", choices=["albert", "bert"], default="albert")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--share", type=float, default=0.15, help="to predict")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--precision", choices=get_args(Precision), default="bfloat16")
    parser.add_argument("--xla", action="store_true", help="for KerasHub")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rows = rows_of(arguments.data)
    size = read_manifest(arguments.data).vocabulary["size"]
    config = dataclasses.replace(PRESETS[arguments.model], vocab_size=size)
    masks = Masks(round(arguments.share * (LENGTH - 2)), size)
    batches = batches_of(rows, masks, size=arguments.batch_size, seed=arguments.seed)
    steps = PEERS[arguments.peer](arguments, config, batches)
    print(f"{steps:,} steps, {steps * arguments.batch_size * LENGTH:,} tokens")


if __name__ == "__main__":
    main()
