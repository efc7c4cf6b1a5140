"""One training step of an ALBERT in three frameworks, for `step_speed`, `gpu_step`.

Each class holds a model on one batch: `accumulate` computes loss and gradients and
waits for them, `apply` the optimizer. All have the same shapes, no dropout, and compute
logits at the masked positions only. KerasHub's has no sentence task, so it does less.
"""

import dataclasses
import os
from typing import Any

import numpy as np

from pipeline.core.machine import usable_cores
from schemas.architecture import PRESETS, ModelConfig
from schemas.config import Precision

Arrays = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
    """A model, and the batch of equally long sequences that it is trained on."""

    precision: Precision
    rows: int
    length: int
    predictions: int
    model: str = "base"

    @property
    def config(self) -> ModelConfig:
        """The architecture."""
        return PRESETS[self.model]


def random_arrays(cell: Cell) -> Arrays:
    """A full batch of random pieces."""
    rng = np.random.default_rng(0)
    shape, chosen = (cell.rows, cell.length), (cell.rows, cell.predictions)
    positions = [rng.permutation(cell.length) for _ in range(cell.rows)]
    return {
        "input_ids": rng.integers(5, cell.config.vocab_size, shape, "int32"),
        "input_mask": np.ones(shape, "int32"),
        "segment_ids": np.tile(np.arange(cell.length) >= cell.length // 2, (cell.rows, 1)).astype(
            "int32"
        ),
        "masked_lm_positions": np.sort(np.stack(positions)[:, : cell.predictions]).astype("int32"),
        "masked_lm_ids": rng.integers(5, cell.config.vocab_size, chosen, "int32"),
        "masked_lm_weights": np.ones(chosen, "float32"),
        "sentence_order_labels": rng.integers(0, 2, cell.rows, "int32"),
    }


class Ours:
    """This package: LAMB, both tasks."""

    def __init__(self) -> None:
        # Before the baseline of memory is taken.
        from albert_tf.training import timing  # noqa: F401

    def prepare(self, cell: Cell, arrays: Arrays) -> None:
        """Build the model."""
        from albert_tf.model.initial_weights import initialize_weights
        from albert_tf.model.pretrainer import AlbertPretrainer
        from albert_tf.training.run import training_steps
        from albert_tf.training.steps import pretraining_counts
        from schemas.config import TrainConfig

        model = AlbertPretrainer(cell.config, precision=cell.precision)
        initialize_weights(model, standard_deviation=0.02, seed=1)
        self.steps = training_steps(model, TrainConfig())
        self.batch = {name: values[None] for name, values in arrays.items()}  # 1 device
        self.counts = pretraining_counts(self.batch)

    def accumulate(self) -> None:
        """Compute loss and gradients."""
        self.steps.accumulate(self.batch, counts=self.counts, step=0, micro=0)
        self.steps.sums()

    def apply(self) -> None:
        """Update the weights."""
        float(self.steps.apply(0.001, step=0))


class KerasHub:
    """KerasHub's AlbertMaskedLM on TensorFlow: AdamW, no sentence task."""

    def __init__(self) -> None:
        os.environ["KERAS_BACKEND"] = "tensorflow"
        import keras_hub  # noqa: F401

    def prepare(self, cell: Cell, arrays: Arrays) -> None:
        """Build the model."""
        import keras
        import tensorflow as tf

        config = cell.config
        if cell.precision == "bfloat16":
            keras.config.set_dtype_policy("mixed_bfloat16")
        model = keras_hub_albert(config, longest=config.max_position_embeddings)
        # Its pooler serves no loss.
        trained = [w for w in model.trainable_variables if "pooled_dense" not in w.path]
        weights = [weight.value for weight in trained]
        optimizer = keras.optimizers.AdamW(1e-3)
        optimizer.build(trained)
        inputs = {
            "token_ids": tf.constant(arrays["input_ids"]),
            "padding_mask": tf.constant(arrays["input_mask"]),
            "segment_ids": tf.constant(arrays["segment_ids"]),
            "mask_positions": tf.constant(arrays["masked_lm_positions"]),
        }
        labels = tf.constant(arrays["masked_lm_ids"])

        def gradients() -> Any:
            with tf.GradientTape() as tape:
                logits = model(inputs, training=True)
                loss = tf.reduce_mean(
                    keras.losses.sparse_categorical_crossentropy(
                        labels, tf.cast(logits, tf.float32), from_logits=True
                    )
                )
            return loss, tape.gradient(loss, weights)

        self.compiled = tf.function(gradients, autograph=False)
        self.update = tf.function(lambda values: optimizer.apply(values, trained), autograph=False)

    def accumulate(self) -> None:
        """Compute loss and gradients."""
        loss, self.gradients = self.compiled()
        loss.numpy()

    def apply(self) -> None:
        """Update the weights."""
        self.update(self.gradients)


def keras_hub_albert(config: ModelConfig, *, longest: int) -> Any:
    """KerasHub's ALBERT with its head of masked tokens, without dropout."""
    import keras_hub

    backbone = keras_hub.models.AlbertBackbone(
        vocabulary_size=config.vocab_size,
        num_layers=config.num_hidden_layers,
        num_heads=config.num_attention_heads,
        embedding_dim=config.embedding_size,
        hidden_dim=config.hidden_size,
        intermediate_dim=config.intermediate_size,
        max_sequence_length=longest,
        dropout=0.0,
    )
    return keras_hub.models.AlbertMaskedLM(backbone)


def huggingface_config(config: ModelConfig) -> Any:
    """The AlbertConfig of a shape, without dropout."""
    from transformers import AlbertConfig

    return AlbertConfig(
        vocab_size=config.vocab_size,
        embedding_size=config.embedding_size,
        hidden_size=config.hidden_size,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        intermediate_size=config.intermediate_size,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        classifier_dropout_prob=0.0,
        attn_implementation="sdpa",
    )


class HuggingFace:
    """AlbertForPreTraining, compiled, masked positions gathered: AdamW."""

    def __init__(self) -> None:
        import torch
        import transformers  # noqa: F401

        torch.set_num_threads(usable_cores())
        self.device = "cuda" if torch.cuda.is_available() else "cpu"

    def prepare(self, cell: Cell, arrays: Arrays) -> None:
        """Build the model."""
        import torch
        from transformers import AlbertForPreTraining

        config = cell.config
        model = AlbertForPreTraining(huggingface_config(config)).to(self.device)
        model.train()
        batch = {n: torch.tensor(v, device=self.device).long() for n, v in arrays.items()}
        starts = torch.arange(cell.rows, device=self.device)[:, None] * cell.length
        places = (batch["masked_lm_positions"] + starts).reshape(-1)
        cross_entropy = torch.nn.functional.cross_entropy

        def loss() -> Any:
            output = model.albert(
                input_ids=batch["input_ids"],
                attention_mask=batch["input_mask"],
                token_type_ids=batch["segment_ids"],
            )
            rows = output.last_hidden_state.reshape(-1, config.hidden_size)
            logits = model.predictions(rows.index_select(0, places))
            pairs = model.sop_classifier(output.pooler_output)
            return cross_entropy(
                logits.float(), batch["masked_lm_ids"].reshape(-1)
            ) + cross_entropy(pairs.float(), batch["sentence_order_labels"])

        self.loss = torch.compile(loss)
        self.cast = torch.autocast(
            self.device, dtype=torch.bfloat16, enabled=cell.precision == "bfloat16"
        )
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def accumulate(self) -> None:
        """Compute loss and gradients."""
        self.optimizer.zero_grad(set_to_none=True)
        with self.cast:
            loss = self.loss()
        loss.backward()
        self._wait()

    def apply(self) -> None:
        """Update the weights."""
        self.optimizer.step()
        self._wait()

    def _wait(self) -> None:
        if self.device == "cuda":
            import torch

            torch.cuda.synchronize()
