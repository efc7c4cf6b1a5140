"""The two tasks of pretraining on top of the encoder."""

from typing import Any

import keras
from keras import ops

from albert_tf.model.layers import dense, layer_norm
from albert_tf.model.operations import activate
from albert_tf.model.unpadding import Unpadding
from schemas.config import ModelConfig

Tensor = Any


def gather_rows(
    rows: Tensor, positions: Tensor, length: int, unpadding: Unpadding | None = None
) -> Tensor:
    """The rows `[B*P, H]` of the pieces at `positions` `[B, P]`.

    Args:
        rows: All pieces of a batch, `[B*S, H]`, or `[T, H]` with an `unpadding`.
        positions: Places inside each sequence.
        length: S.
        unpadding: Which places have rows, where not all have.
    """
    starts = ops.arange(ops.shape(positions)[0], dtype=positions.dtype) * length
    places = ops.reshape(positions + starts[:, None], (-1,))
    if unpadding:
        places = ops.take(unpadding.rows, places, axis=0)
    return ops.take(rows, places, axis=0)


class MaskedLmHead(keras.layers.Layer):
    """Predicts pieces at width E, with the embedding table as the output layer.

    It sees only the masked positions: logits of all of them would take S / P, about
    seven times, the memory.
    """

    def __init__(self, config: ModelConfig, **kwargs: Any) -> None:
        super().__init__(name="masked_lm_head", **kwargs)
        self.config = config

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        config, policy = self.config, self.dtype_policy
        width = config.embedding_size
        self.transform = dense(
            width, "transform", inputs=config.hidden_size, dtype=policy
        )
        self.layer_norm = layer_norm(width, config, dtype=policy)
        self.output_bias = self.add_weight(
            name="output_bias", shape=(config.vocab_size,), initializer="zeros"
        )

    def call(self, rows: Tensor, word_embeddings: Tensor) -> Tensor:
        """Logits `[N, V]` of `rows` `[N, H]`, given the embedding table `[V, E]`."""
        x = activate(self.transform(rows), self.config.hidden_act)
        x = self.layer_norm(x)  # [N, E]
        table = ops.cast(word_embeddings, self.compute_dtype)
        return ops.matmul(x, ops.transpose(table)) + self.output_bias


class SentenceHead(keras.layers.Layer):
    """Tells whether the second segment follows the first: `[B, H]` to `[B, 2]`."""

    def __init__(self, config: ModelConfig, **kwargs: Any) -> None:
        super().__init__(name="sentence_head", **kwargs)
        self.config = config

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        self.classifier = dense(
            2, "classifier", inputs=self.config.hidden_size, dtype=self.dtype_policy
        )

    def call(self, pooled: Tensor) -> Tensor:
        """Logits of label 0 (in order) and 1."""
        return self.classifier(pooled)
