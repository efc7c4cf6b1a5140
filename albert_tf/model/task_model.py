"""ALBERT with the head of one task, under the names and shapes of transformers.

`AlbertForSequenceClassification`, `ForMultipleChoice`, `ForQuestionAnswering` and
`ForTokenClassification` of transformers: a dense layer on the pooled output of each
sequence, or on each token. As there, answers and tags need no pooler.
"""

from types import ModuleType
from typing import Any

from keras import ops

from albert_tf.model.encoder import Encoder
from albert_tf.model.layers import DropoutSeeds, dropout
from albert_tf.model.parameters import (
    encoder_config,
    head_name,
    needs_pooler,
    num_outputs,
)
from albert_tf.model.pretrainer import ClassifierHead, Model
from schemas.architecture import ModelConfig
from schemas.config import Precision
from schemas.task import Kind

Tensor = Any
Batch = dict[str, Tensor]


class TaskModel(Model):
    """The encoder with the head of a task.

    Args:
        config: The architecture; whether there is a pooler follows from the task.
        labels: Number of its labels, where it has any.
        head_dropout: Dropout of the head's input in training; the head for answers has
            none, as in google-research/albert and transformers.
        operations: See `Layer`.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        kind: Kind,
        labels: int = 0,
        head_dropout: float = 0.0,
        precision: Precision = "float32",
        operations: ModuleType | None = None,
    ) -> None:
        super().__init__(precision=precision, operations=operations)
        self.config, self.kind = config, kind
        self.head_dropout = 0.0 if kind == "answer" else head_dropout
        self.encoder = Encoder(encoder_config(config, kind), **self.likewise)
        self.task_head = ClassifierHead(
            head_name(kind),
            num_outputs(kind, labels),
            inputs=config.hidden_size,
            name="task_head",
            **self.likewise,
        )
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Create the weights, all zero but the scales of layer normalisation."""
        self.encoder.build()
        self.task_head.build()

    def call(self, batch: Batch, seeds: DropoutSeeds | None = None) -> Tensor:
        """Logits, in float32.

        Args:
            batch: `input_ids`, `input_mask` and `segment_ids`, `[B, S]`, of `choose`
                `[B, O, S]` for O options.

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
