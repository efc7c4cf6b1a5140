"""ALBERT with the head of one task, under the names and shapes of transformers.

`AlbertForSequenceClassification`, `ForMultipleChoice`, `ForQuestionAnswering` and
`ForTokenClassification` of transformers: a dense layer on the pooled output of each
sequence, or on each token. As there, answers and tags need no pooler.
"""

from typing import Any

import keras
from keras import ops

from albert_tf.model.encoder import Encoder
from albert_tf.model.layers import Dense, DropoutSeeds, dense, dropout
from albert_tf.model.parameters import (
    encoder_config,
    head_name,
    needs_pooler,
    num_outputs,
)
from schemas.config import ModelConfig
from schemas.task import Kind

Tensor = Any
Batch = dict[str, Tensor]


class TaskHead(keras.layers.Layer):
    """A dense layer: `[N, H]` to `[N, C]`.

    Its name is that of the attribute in transformers.
    """

    def __init__(self, name: str, units: int, *, inputs: int, **kwargs: Any) -> None:
        super().__init__(name="task_head", **kwargs)
        self._layer, self._units, self._inputs = name, units, inputs

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        self.output_dense: Dense = dense(
            self._units, self._layer, inputs=self._inputs, dtype=self.dtype_policy
        )

    def call(self, rows: Tensor) -> Tensor:
        """Logits of rows."""
        return self.output_dense(rows)


class TaskModel(keras.layers.Layer):
    """The encoder with the head of a task.

    Args:
        config: The architecture; whether there is a pooler follows from the task.
        kind: Of the task.
        labels: Number of its labels, where it has any.
        head_dropout: Dropout of the head's input in training; the head for answers has
            none, as in google-research/albert and transformers.
        precision: `float32`, or `bfloat16` for computing in it; weights are float32.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        kind: Kind,
        labels: int = 0,
        head_dropout: float = 0.0,
        precision: str = "float32",
    ) -> None:
        policy = "mixed_bfloat16" if precision == "bfloat16" else "float32"
        super().__init__(name="albert", dtype=policy)
        self.config, self.kind = config, kind
        self.head_dropout = 0.0 if kind == "answer" else head_dropout
        self.encoder = Encoder(encoder_config(config, kind), dtype=policy)
        self.task_head = TaskHead(
            head_name(kind),
            num_outputs(kind, labels),
            inputs=config.hidden_size,
            dtype=policy,
        )
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Create the weights, all zero but the scales of layer normalisation."""
        self.encoder.build()
        self.task_head.build()

    @property
    def weights_by_path(self) -> dict[str, keras.Variable]:
        """Every weight under its full name, the one checkpoints use."""
        return {weight.path: weight for weight in self.trainable_variables}

    def call(self, batch: Batch, seeds: DropoutSeeds | None = None) -> Tensor:
        """Logits, in float32.

        Args:
            batch: `input_ids`, `input_mask` and `segment_ids`, `[B, S]`, of `choose`
                `[B, O, S]` for O options.
            seeds: Where dropout draws from; without, there is no dropout.

        Returns:
            `[B, L]` for L labels of `classify` and `multilabel`, `[B, 1]` of `regress`,
            `[B, O]` of `choose`, `[B, S, L]` of `tag`, and of `answer` `[B, S, 2]`:
            that it begins at a token, that it ends there.
        """
        shape = ops.shape(batch["input_ids"])
        length = shape[-1]
        rows = self.encoder(
            *(
                ops.reshape(batch[name], (-1, length))
                for name in ("input_ids", "input_mask", "segment_ids")
            ),
            seeds=seeds,
        )
        if needs_pooler(self.kind):
            rows = self.encoder.pool(rows, length)
        logits = self.task_head(dropout(rows, self.head_dropout, seeds))
        logits = ops.cast(logits, "float32")
        if self.kind == "choose":
            return ops.reshape(logits, (-1, shape[1]))
        if needs_pooler(self.kind):
            return logits
        return ops.reshape(logits, (-1, length, logits.shape[-1]))
