"""The encoder: factorised embeddings, self-attention, feed-forward, and their stack.

Lan et al. 2019, section 3.1, as in google-research/albert `modeling.py`: layer
normalisation after each residual, GELU in its tanh approximation, dropout on attention
weights and before each residual.

Axes: B batch, S sequence, E embedding, H hidden, A heads, D = H / A, F inside the FFN.
Between attentions a batch is kept as rows `[B*S, H]`, or without those of padding
`[T, H]`: TensorFlow multiplies a rank-3 tensor by a kernel as B products and sums B
gradients of it.
"""

import functools
import itertools
from typing import Any

from keras import ops

from albert_tf.model.layers import DropoutSeeds, Layer, SharedWeights, Tensor, Weights, dropout
from albert_tf.model.parameters import sublayers
from albert_tf.model.unpadding import Unpadding
from schemas.architecture import ModelConfig

# What is added to the scores of padding (modeling.py `attention_layer`).
MASKED_SCORE = -10000.0


class Embeddings(Layer):
    """Piece, position and segment, summed at width E, then projected to H.

    The factorisation of section 3.1: V x E + E x H weights instead of V x H. BERT,
    where E = H, has no projection.
    """

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        config, width = self.config, self.config.embedding_size
        # Tokens are looked up in float32, in which the gradients of one are added up.
        self.word_embeddings, self.position_embeddings, self.token_type_embeddings = (
            self.add_weight(
                name=f"{name}_embeddings",
                shape=(rows, width),
                initializer="zeros",
                autocast=name != "word",
            )
            for name, rows in (
                ("word", config.vocab_size),
                ("position", config.max_position_embeddings),
                ("token_type", config.type_vocab_size),
            )
        )
        self.layer_norm = self.new_layer_norm(width)
        self.projection = None
        if config.has_projection:
            self.projection = self.new_dense("projection", config.hidden_size, inputs=width)

    def call(
        self,
        input_ids: Tensor,
        segment_ids: Tensor,
        seeds: DropoutSeeds | None = None,
        unpadding: Unpadding | None = None,
    ) -> Tensor:
        """Embed `[B, S]` piece and segment ids as rows `[B*S, H]`, or `[T, H]`."""
        width, (_, length) = self.config.embedding_size, ops.shape(input_ids)
        # A product with one-hot rows, because the gradient of a lookup in a table of
        # two rows adds up all of B*S rows one by one.
        segments = ops.one_hot(segment_ids, self.config.type_vocab_size, dtype=self.compute_dtype)
        tokens = ops.take(self.word_embeddings, input_ids, axis=0)  # [B, S, E]
        x = ops.cast(tokens, self.compute_dtype)
        x = x + ops.matmul(segments, self.token_type_embeddings)
        x = x + self.position_embeddings[:length]
        x = ops.reshape(x, (-1, width))  # [B*S, E]
        x = self.layer_norm(unpadding.unpad(x) if unpadding else x)
        x = dropout(x, self.config.hidden_dropout_prob, seeds)
        return x if self.projection is None else self.projection(x)


class SelfAttention(Layer):
    """Multi-head self-attention with its residual and layer normalisation.

    Query, key and value are one matrix product but three variables each: LAMB scales
    every variable by its own trust ratio, and the published model has three.
    """

    casts = False  # Keras would cast the weights that are given too.

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        width = self.config.hidden_size
        self.query, self.key, self.value, self.output_dense = (
            self.new_dense(name, width, inputs=width)
            for name in ("query", "key", "value", "output")
        )
        self.layer_norm = self.new_layer_norm(width)

    def shared_weights(self) -> SharedWeights:
        """All weights, those of query, key and value side by side."""
        parts = (self.query, self.key, self.value)
        kernel = ops.concatenate([part.kernel for part in parts], axis=1)  # [H, 3H]
        bias = ops.concatenate([part.bias for part in parts], axis=0)
        return SharedWeights(
            [kernel, bias, self.output_dense.kernel, self.output_dense.bias],
            exact=[self.layer_norm.gamma, self.layer_norm.beta],
            dtype=self.compute_dtype,
            operations=self.operations,
        )

    def call(
        self,
        rows: Tensor,
        input_mask: Tensor,
        seeds: DropoutSeeds | None = None,
        weights: Weights | None = None,
        unpadding: Unpadding | None = None,
    ) -> Tensor:
        """Attend over `rows` `[B*S, H]`, or `[T, H]` with an `unpadding`.

        Args:
            input_mask: 1 at the tokens that are attended to, 0 at padding, `[B, S]`.
        """
        config, operations = self.config, self.operations
        kernel, bias, output_kernel, output_bias, *norm = weights or self.shared_weights().copy()
        projected = ops.matmul(rows, kernel) + bias  # [B*S, 3H]
        rate, drop = config.attention_probs_dropout_prob, None
        if seeds is not None and rate:
            drop = functools.partial(dropout, rate=rate, seeds=seeds)
        scores = (1.0 - ops.cast(input_mask, "float32")) * MASKED_SCORE
        context = operations.attend(
            unpadding.pad(projected) if unpadding else projected,
            scores[:, None, None],
            heads=config.num_attention_heads,
            drop=drop,
        )
        context = unpadding.unpad(context) if unpadding else context
        attended = ops.matmul(context, output_kernel) + output_bias
        attended = dropout(attended, config.hidden_dropout_prob, seeds)
        return operations.normalize(rows + attended, *norm, epsilon=config.layer_norm_eps)


class FeedForward(Layer):
    """Two dense layers with GELU between, the residual and layer normalisation."""

    casts = False  # Keras would cast the weights that are given too.

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        width, inner = self.config.hidden_size, self.config.intermediate_size
        self.intermediate = self.new_dense("intermediate", inner, inputs=width)
        self.output_dense = self.new_dense("output", width, inputs=inner)
        self.layer_norm = self.new_layer_norm(width)

    def shared_weights(self) -> SharedWeights:
        """All weights."""
        parts = (self.intermediate, self.output_dense)
        return SharedWeights(
            [weight for part in parts for weight in (part.kernel, part.bias)],
            exact=[self.layer_norm.gamma, self.layer_norm.beta],
            dtype=self.compute_dtype,
            operations=self.operations,
        )

    def call(
        self, rows: Tensor, seeds: DropoutSeeds | None = None, weights: Weights | None = None
    ) -> Tensor:
        """Transform each of `rows` `[B*S, H]` by itself."""
        kernel, bias, output_kernel, output_bias, *norm = weights or self.shared_weights().copy()
        inner = ops.matmul(rows, kernel) + bias  # [B*S, F]
        x = self.operations.project_activated(
            inner, output_kernel, output_bias, activate=self.activation
        )
        x = dropout(x, self.config.hidden_dropout_prob, seeds)
        return self.operations.normalize(rows + x, *norm, epsilon=self.config.layer_norm_eps)


class Encoder(Layer):
    """Embeddings, L layers and, where there is a sentence task, the pooler.

    Args:
        recompute: Compute each layer again for its gradients, to keep less in memory.
    """

    def __init__(self, config: ModelConfig, *, recompute: bool = False, **kwargs: Any) -> None:
        super().__init__(config, name="encoder", **kwargs)
        self.recompute = recompute
        self.embeddings = Embeddings(name="embeddings", **self.likewise)
        kinds = {"attention": SelfAttention, "ffn": FeedForward}
        self.sublayers = {
            name: kinds[part](name=name, **self.likewise) for part, name in sublayers(config)
        }

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        width = self.config.hidden_size
        self.embeddings.build()
        for sublayer in self.sublayers.values():
            sublayer.build()
        self.pooler = None
        if self.config.sentence_task != "none":
            self.pooler = self.new_dense("pooler", width, inputs=width)

    def call(
        self,
        input_ids: Tensor,
        input_mask: Tensor,
        segment_ids: Tensor,
        seeds: DropoutSeeds | None = None,
        every_layer: bool = False,
        unpadding: Unpadding | None = None,
    ) -> Tensor | list[Tensor]:
        """Encode `[B, S]` tokens as rows `[B*S, H]`, or `[T, H]` with an `unpadding`.

        Args:
            input_mask: 1 at tokens, 0 at padding.
            segment_ids: 0 in the first segment and at padding, 1 in the second.
            seeds: Where dropout draws from; without, there is no dropout.
            every_layer: Return the rows of all layers, the last layer's last.
            unpadding: Which places have rows, where not all have.
        """
        rows = self.embeddings(input_ids, segment_ids, seeds=seeds, unpadding=unpadding)
        layer = functools.partial(
            self._layer,
            weights={n: part.shared_weights() for n, part in self.sublayers.items()},
            attended={"input_mask": input_mask, "unpadding": unpadding},
            seeds=seeds,
        )
        names = [name for _, name in sublayers(self.config)]
        pairs = zip(names[::2], names[1::2], strict=True)
        layers: list[Tensor] = []
        first = 0
        # Layers in a row that have the same weights, at once unless all are asked for.
        for pair, same in itertools.groupby(pairs):
            end = first + len(list(same))
            step = 1 if every_layer else end - first
            for number in range(first, end, step):
                numbers = range(number, number + step)
                of_pair = functools.partial(layer, pair)
                rows = self.operations.repeat(of_pair, rows, numbers)
                layers.append(rows)
            first = end
        inner = self.config.inner_group_num
        return layers[inner - 1 :: inner] if every_layer else rows

    def _layer(
        self,
        names: tuple[str, str],
        number: int | Tensor,
        rows: Tensor,
        *,
        weights: dict[str, SharedWeights],
        attended: dict[str, Any],
        seeds: DropoutSeeds | None,
    ) -> Tensor:
        """Attention and FFN of these names in the place of a layer."""
        attention, ffn = (self.sublayers[name] for name in names)

        def compute(rows: Tensor, *weights: Tensor) -> Tensor:
            own, half = seeds and seeds.of_layer(number), len(weights) // 2
            rows = attention(rows, **attended, seeds=own, weights=weights[:half])
            return ffn(rows, seeds=own, weights=weights[half:])

        copies = [weight for name in names for weight in weights[name].copy()]
        if self.recompute and seeds is not None:
            return self.operations.recomputed(compute, rows, *copies)
        return compute(rows, *copies)

    def pool(self, rows: Tensor, length: int, unpadding: Unpadding | None = None) -> Tensor:
        """A summary `[B, H]` of each sequence, from its first piece, [CLS]."""
        assert self.pooler is not None, "a model without sentence task pools nothing"
        if unpadding:
            places = ops.reshape(unpadding.rows, (-1, length))[:, 0]
            first = ops.take(rows, places, axis=0)
        else:
            first = ops.reshape(rows, (-1, length, self.config.hidden_size))[:, 0]
        return ops.tanh(self.pooler(first))
