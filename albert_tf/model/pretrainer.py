"""The model that is pretrained, and what is summed over its predictions.

All that is numerical is `keras.ops`, so that it runs on any backend of Keras. A batch
is a dict of the tensors of `BATCH_FEATURES`.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from albert_tf.model.encoder import Encoder
from albert_tf.model.layers import DropoutSeeds, dense, layer_norm
from albert_tf.model.operations import activate, cross_entropy
from albert_tf.model.unpadding import Unpadding, unpadding_of
from albert_tf.runs.metrics import Sums
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


def layer_consistency_sum(layers: Sequence[Tensor], input_mask: Tensor) -> Tensor:
    """Minus log sigmoid of the cosine similarity of each token in adjacent layers.

    A write-up of ALBERT describes such a loss. The paper does not: its section 3.1 only
    observes that sharing makes the steps from one layer to the next smoother, and
    google-research/albert trains on the other two losses alone. So its weight,
    `layer_consistency_weight`, is 0 by default.

    Summed over the tokens, averaged over the pairs of adjacent layers. A token adds
    between 0.313, where all layers have the same direction, and 1.313.

    Args:
        layers: The rows `[N, H]` of every layer, at least two, the first layer first.
        input_mask: `[N]` or `[B, S]`, 1 at tokens, 0 at padding, which is left out.

    Returns:
        A scalar, float32 whatever the precision.
    """
    weights = ops.cast(ops.reshape(input_mask, (-1,)), "float32")  # [B*S]
    directions = [_direction(ops.cast(rows, "float32")) for rows in layers]
    losses = [
        ops.softplus(-ops.sum(lower * upper, axis=-1))  # [B*S]
        for lower, upper in itertools.pairwise(directions)
    ]
    return ops.sum(weights * sum(losses)) / len(losses)


def _direction(rows: Tensor) -> Tensor:
    """`rows` `[N, H]` scaled to length 1; a row of zeros stays zero."""
    squares = ops.sum(rows * rows, axis=-1, keepdims=True)
    return rows * ops.rsqrt(ops.maximum(squares, 1e-30))


Batch = dict[str, Tensor]

# The shapes of a batch: S pieces, P predictions; a sentence label of -1 is no label.
# In a batch without padding (`data.unpadding`) predictions are those of one row of all
# places, `[1, Q]`, and there are `row_places` `[T]` and `place_rows` `[B*S]` as well.
BATCH_FEATURES = {
    "input_ids": "[B, S]",
    "input_mask": "[B, S]",
    "segment_ids": "[B, S]",
    "masked_lm_positions": "[B, P]",
    "masked_lm_ids": "[B, P]",
    "masked_lm_weights": "[B, P]",
    "sentence_order_labels": "[B]",
}


class AlbertPretrainer(keras.layers.Layer):
    """The encoder with the masked-LM head and, unless its task is none, the other.

    Args:
        config: The architecture.
        precision: `float32`, or `bfloat16` for computing in it; weights are float32.
        recompute: See `Encoder`.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        precision: str = "float32",
        recompute: bool = False,
    ) -> None:
        policy = "mixed_bfloat16" if precision == "bfloat16" else "float32"
        super().__init__(name="albert", dtype=policy)
        self.config = config
        self.encoder = Encoder(config, recompute=recompute, dtype=policy)
        self.masked_lm_head = MaskedLmHead(config, dtype=policy)
        self.sentence_head = None
        if config.sentence_task != "none":
            self.sentence_head = SentenceHead(config, dtype=policy)
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Create the weights, all zero but the scales of layer normalisation."""
        self.encoder.build()
        self.masked_lm_head.build()
        if self.sentence_head is not None:
            self.sentence_head.build()

    @property
    def weights_by_path(self) -> dict[str, keras.Variable]:
        """Every weight under its full name, the one checkpoints use."""
        return {weight.path: weight for weight in self.trainable_variables}

    def call(
        self,
        batch: Batch,
        seeds: DropoutSeeds | None = None,
        every_layer: bool = False,
    ) -> tuple[Any, ...]:
        """Logits `[B*P, V]` of the masked pieces and `[B, 2]` of the sentence task.

        The latter are None without such a task. With `every_layer` the rows `[B*S, H]`
        of all layers come third, or `[T, H]` of a batch without padding.
        """
        layers = self.encoder(
            batch["input_ids"],
            batch["input_mask"],
            batch["segment_ids"],
            seeds=seeds,
            every_layer=every_layer,
            unpadding=unpadding_of(batch),
        )
        if every_layer:
            return *self._logits(layers[-1], batch), layers
        return self._logits(layers, batch)

    def _logits(self, rows: Tensor, batch: Batch) -> tuple[Tensor, Tensor | None]:
        length, unpadding = batch["input_ids"].shape[1], unpadding_of(batch)
        masked = gather_rows(rows, batch["masked_lm_positions"], length, unpadding)
        mlm_logits = self.masked_lm_head(
            masked, self.encoder.embeddings.word_embeddings
        )
        if self.sentence_head is None:
            return mlm_logits, None
        pooled = self.encoder.pool(rows, length, unpadding)
        return mlm_logits, self.sentence_head(pooled)


def pretraining_sums(
    model: AlbertPretrainer, batch: Batch, seeds: DropoutSeeds | None = None
) -> Sums:
    """Run the model and add up losses and hits, in float32 whatever the precision."""
    mlm_logits, sentence_logits = model(batch, seeds=seeds)
    return task_sums(mlm_logits, sentence_logits, batch)


def task_sums(mlm_logits: Tensor, sentence_logits: Tensor | None, batch: Batch) -> Sums:
    """Losses and hits of both tasks, added up over a batch."""
    labels = ops.reshape(batch["masked_lm_ids"], (-1,))
    weights = ops.reshape(batch["masked_lm_weights"], (-1,))
    mlm = _weighted_sums(mlm_logits, labels, ops.cast(weights, "float32"))
    if sentence_logits is None:
        zero = ops.zeros((), "float32")
        return Sums(*mlm, zero, zero, zero)
    labels = batch["sentence_order_labels"]
    weights = ops.cast(labels >= 0, "float32")
    return Sums(*mlm, *_weighted_sums(sentence_logits, labels, weights))


def _weighted_sums(
    logits: Tensor, labels: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Cross-entropy and hits of `logits` `[N, C]`, weighted, and the weights' sum."""
    losses, hits = cross_entropy(logits, ops.maximum(labels, 0))
    return ops.sum(losses * weights), ops.sum(hits * weights), ops.sum(weights)


def step_loss(sums: Sums, *, mlm_count: Tensor, sentence_count: Tensor) -> Tensor:
    """A micro-batch's share of the loss of a step: both task losses, added 1 to 1.

    Args:
        sums: Of the micro-batch.
        mlm_count: Masked pieces in the whole step.
        sentence_count: Pairs in the whole step.
    """
    return sums.mlm_loss / ops.maximum(mlm_count, 1.0) + (
        sums.sentence_loss / ops.maximum(sentence_count, 1.0)
    )


def micro_batch_loss(
    model: AlbertPretrainer,
    batch: Batch,
    *,
    mlm_count: Tensor,
    sentence_count: Tensor,
    piece_count: Tensor,
    seeds: DropoutSeeds | None = None,
) -> tuple[Tensor, Tensor]:
    """A micro-batch's share of the loss of a step, and what adds up over its shares.

    Args:
        model: Run on the batch.
        batch: One micro-batch.
        mlm_count: Masked pieces in the whole step.
        sentence_count: Pairs in the whole step.
        piece_count: Pieces in the whole step, those that are no padding.
        seeds: Where dropout draws from.

    Returns:
        The loss, and the `Sums` as one tensor `[6]`; if the model has a
        `layer_consistency_weight`, `[7]` with the share of that loss's mean.
    """
    counts = {"mlm_count": mlm_count, "sentence_count": sentence_count}
    weight = model.config.layer_consistency_weight
    if not weight:
        sums = pretraining_sums(model, batch, seeds)
        return step_loss(sums, **counts), ops.stack(sums)
    mlm_logits, sentence_logits, layers = model(batch, seeds=seeds, every_layer=True)
    sums = task_sums(mlm_logits, sentence_logits, batch)
    mask, unpadding = ops.reshape(batch["input_mask"], (-1,)), unpadding_of(batch)
    if unpadding:
        mask = ops.take(mask, unpadding.places, axis=0)
    total = layer_consistency_sum(layers, mask)
    mean = total / ops.maximum(piece_count, 1.0)
    return step_loss(sums, **counts) + weight * mean, ops.stack([*sums, mean])
