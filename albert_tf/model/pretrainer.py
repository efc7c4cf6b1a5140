"""The model that is pretrained, and what is summed over its predictions.

All that is numerical is `keras.ops`, so that it runs on any backend of Keras. A batch
is a dict of the tensors of `BATCH_FEATURES`.
"""

import itertools
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import keras
from keras import ops

from albert_tf.model.encoder import DropoutSeeds, Encoder, Layer
from albert_tf.model.unpadding import unpadding_of
from albert_tf.runs.metrics import Sums
from schemas.architecture import ModelConfig
from schemas.config import Precision

Tensor = Any
Batch = dict[str, Tensor]


def places_of(positions: Tensor, length: int) -> Tensor:
    """The places `[B*P]`, in `[B*S]`, of the pieces at `positions` `[B, P]`.

    Args:
        length: S, of each sequence, in which `positions` are places.
    """
    starts = ops.arange(ops.shape(positions)[0], dtype=positions.dtype) * length
    return ops.reshape(positions + starts[:, None], (-1,))


def gather_rows(rows: Tensor, positions: Tensor, length: int) -> Tensor:
    """The rows `[B*P, H]` of the pieces at `positions` `[B, P]`, of all `[B*S, H]`."""
    return ops.take(rows, places_of(positions, length), axis=0)


class MaskedLmHead(Layer):
    """Predicts pieces at width E, with the embedding table as the output layer.

    It sees only the masked positions: logits of all of them would take S / P, about
    seven times, the memory.
    """

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        config, width = self.config, self.config.embedding_size
        self.transform = self.new_dense("transform", width, inputs=config.hidden_size)
        self.layer_norm = self.new_layer_norm(width)
        self.output_bias = self.add_weight(
            name="output_bias", shape=(config.vocab_size,), initializer="zeros"
        )

    def call(self, rows: Tensor, word_embeddings: Tensor, sampled: Batch | None = None) -> Tensor:
        """Logits `[N, V]` of `rows` `[N, H]`, given the embedding table `[V, E]`.

        Args:
            sampled: A batch with `candidates` `[C]`, whose rows of the table `[C, E]` are
                given: the logits are theirs, with the offset of each but where it is the label.
        """
        x = self.activation(self.transform(rows))
        x = self.layer_norm(x)  # [N, E]
        bias = self.output_bias
        if sampled is not None:
            bias = ops.take(bias, sampled["candidates"], axis=0)
        table = ops.cast(word_embeddings, self.compute_dtype)
        logits = self.operations.linear(x, ops.transpose(table), ops.cast(bias, x.dtype))
        if sampled is None:
            return logits
        labels = ops.reshape(sampled["masked_lm_ids"], (-1,))
        return self.operations.lowered(logits, sampled["offsets"], labels)


class ClassifierHead(Layer):
    """A dense layer on its own: rows `[N, H]` to logits `[N, C]`.

    Args:
        dense: The name of the dense layer, which is that of transformers.
        units: C.
    """

    def __init__(self, *, dense: str, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._dense, self._units = dense, units

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        width = self.config.hidden_size
        self.output_dense = self.new_dense(self._dense, self._units, inputs=width)

    def call(self, rows: Tensor) -> Tensor:
        """Logits of rows."""
        return self.output_dense(rows)


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

    def direction(rows: Tensor) -> Tensor:
        """Rows `[N, H]` scaled to length 1; a row of zeros stays zero."""
        squares = ops.sum(rows * rows, axis=-1, keepdims=True)
        return rows * ops.rsqrt(ops.maximum(squares, 1e-30))

    weights = ops.cast(ops.reshape(input_mask, (-1,)), "float32")  # [B*S]
    directions = [direction(ops.cast(rows, "float32")) for rows in layers]
    losses = [
        ops.softplus(-ops.sum(lower * upper, axis=-1))  # [B*S]
        for lower, upper in itertools.pairwise(directions)
    ]
    return ops.sum(weights * sum(losses)) / len(losses)


# The shapes of a batch: S pieces, P predictions; a sentence label of -1 is no label.
# In a batch without padding (`model.unpadding`) predictions are those of one row of all
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


class Model(Layer):
    """An encoder with heads, whose weights have paths that checkpoints know."""

    def __init__(
        self, config: ModelConfig, *, precision: Precision, operations: ModuleType | None
    ) -> None:
        policy = "mixed_bfloat16" if precision == "bfloat16" else "float32"
        super().__init__(config, name="albert", dtype=policy, operations=operations)

    @property
    def weights_by_path(self) -> dict[str, keras.Variable]:
        """Every weight under its full name, the one checkpoints use."""
        return {weight.path: weight for weight in self.trainable_variables}


class AlbertPretrainer(Model):
    """The encoder with the masked-LM head and, unless its task is none, the other.

    The latter tells whether the second segment follows the first: label 0, in order.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        precision: Precision = "float32",
        recompute: bool = False,
        operations: ModuleType | None = None,
    ) -> None:
        super().__init__(config, precision=precision, operations=operations)
        self.encoder = Encoder(recompute=recompute, **self.likewise)
        self.masked_lm_head = MaskedLmHead(name="masked_lm_head", **self.likewise)
        self.sentence_head = None
        if config.sentence_task != "none":
            self.sentence_head = ClassifierHead(
                name="sentence_head", dense="classifier", units=2, **self.likewise
            )
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Create the weights, all zero but the scales of layer normalisation."""
        self.encoder.build()
        self.masked_lm_head.build()
        if self.sentence_head is not None:
            self.sentence_head.build()

    def call(
        self, batch: Batch, seeds: DropoutSeeds | None = None, every_layer: bool = False
    ) -> tuple[Any, ...]:
        """Logits `[B*P, V]` of the masked pieces and `[B, 2]` of the sentence task.

        Of a batch with `candidates` `[C]` the former are `[B*P, C]`
        (`model.sampled_softmax`).

        The latter are None without such a task. With `every_layer` the rows `[B*S, H]`
        of all layers come third, or `[T, H]` of a batch without padding.
        """
        ids, positions = batch["input_ids"], batch["masked_lm_positions"]
        unpadding, length = unpadding_of(batch), ids.shape[1]
        places = masked = places_of(positions, length)
        if self.sentence_head is not None:
            first = ops.zeros((ops.shape(ids)[0], 1), positions.dtype)
            places = ops.concatenate([masked, places_of(first, length)], axis=0)
        layers = self.encoder(
            *(batch[name] for name in ("input_ids", "input_mask", "segment_ids")),
            seeds=seeds,
            every_layer=every_layer,
            unpadding=unpadding,
            places=None if every_layer else places,
        )
        rows = layers
        if every_layer:
            own = ops.take(unpadding.rows, places, axis=0) if unpadding else places
            rows = ops.take(layers[-1], own, axis=0)
        number, table = ops.shape(masked)[0], self.encoder.embeddings.word_embeddings
        sampled = batch if "candidates" in batch else None
        if sampled is not None:
            # Before Keras casts what the head is called with.
            table = ops.take(table, sampled["candidates"], axis=0)
        mlm_logits, sentence_logits = self.masked_lm_head(rows[:number], table, sampled), None
        if self.sentence_head is not None:
            sentence_logits = self.sentence_head(self.encoder.pool(rows[number:]))
        outputs = (mlm_logits, sentence_logits)
        return (*outputs, layers) if every_layer else outputs


def task_sums(
    model: AlbertPretrainer, batch: Batch, mlm_logits: Tensor, sentence_logits: Tensor | None
) -> Sums:
    """Losses and hits of both tasks, added up over a batch in float32."""

    def weighted(logits: Tensor, labels: Tensor, weights: Tensor) -> list[Tensor]:
        """Cross-entropy and hits of `logits` `[N, C]`, and the weights' sum."""
        losses, hits = model.operations.cross_entropy(logits, ops.maximum(labels, 0))
        return [ops.sum(losses * weights), ops.sum(hits * weights), ops.sum(weights)]

    labels = ops.reshape(batch["masked_lm_ids"], (-1,))
    weights = ops.cast(ops.reshape(batch["masked_lm_weights"], (-1,)), "float32")
    mlm = weighted(mlm_logits, labels, weights)
    if sentence_logits is None:
        return Sums(*mlm, *[ops.zeros((), "float32")] * 3)
    labels = batch["sentence_order_labels"]
    weights = ops.cast(labels >= 0, "float32")
    return Sums(*mlm, *weighted(sentence_logits, labels, weights))


def step_loss(sums: Sums, *, mlm_count: Tensor, sentence_count: Tensor) -> Tensor:
    """A micro-batch's share of the loss of a step: both task losses, added 1 to 1.

    Each is divided by the count of the whole step.
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
        mlm_count: Masked pieces in the whole step.
        sentence_count: Pairs in the whole step.
        piece_count: Pieces in the whole step, those that are no padding.

    Returns:
        The loss, and the `Sums` as one tensor `[6]`; if the model has a
        `layer_consistency_weight`, `[7]` with the share of that loss's mean.
    """
    weight = model.config.layer_consistency_weight
    mlm_logits, sentence_logits, *rest = model(batch, seeds=seeds, every_layer=bool(weight))
    sums = task_sums(model, batch, mlm_logits, sentence_logits)
    loss = step_loss(sums, mlm_count=mlm_count, sentence_count=sentence_count)
    if not weight:
        return loss, ops.stack(sums)
    (layers,) = rest
    mask, unpadding = ops.reshape(batch["input_mask"], (-1,)), unpadding_of(batch)
    if unpadding:
        mask = ops.take(mask, unpadding.places, axis=0)
    mean = layer_consistency_sum(layers, mask) / ops.maximum(piece_count, 1.0)
    return loss + weight * mean, ops.stack([*sums, mean])
