"""The parts of an ALBERT encoder: factorised embeddings, self-attention, feed-forward.

Lan et al. 2019, section 3.1, as in google-research/albert `modeling.py`: layer
normalisation after each residual, GELU in its tanh approximation, dropout on attention
weights and before each residual.

Axes: B batch, S sequence, E embedding, H hidden, A heads, D = H / A, F inside the FFN.
Between attentions a batch is kept as rows `[B*S, H]`, or without those of padding
`[T, H]`: TensorFlow multiplies a rank-3 tensor by a kernel as B products and sums B
gradients of it.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from albert_tf.model.operations import (
    SharedWeights,
    attend,
    normalize,
    project,
    project_activated,
)
from albert_tf.model.unpadding import Unpadding
from schemas.config import ModelConfig

Tensor = Any

# Between the first seed of a layer and that of the next.
MAX_SEEDS_OF_A_LAYER = 16


class DropoutSeeds(keras.random.SeedGenerator):
    """The seeds of one forward pass: a key, numbered in the order of drawing.

    Keras' own generator has a variable that every call changes. Here no state needs
    to be saved: the key comes from (seed, step, micro-batch), which a checkpoint knows
    anyway, and a layer that is computed again draws the same masks.

    Args:
        key: Two integers, a tensor of the backend's seed dtype.
    """

    def __init__(self, key: Tensor) -> None:
        self._key = key
        self._num_drawn = 0

    def next(self, ordered: bool = True) -> Tensor:
        """The next seed, different from all earlier ones."""
        self._num_drawn += 1
        return self._numbered(self._num_drawn)

    def of_layer(self, layer: int | Tensor) -> "DropoutSeeds":
        """The seeds of one layer, the same at each call."""
        return DropoutSeeds(self._numbered((layer + 1) * MAX_SEEDS_OF_A_LAYER))

    def _numbered(self, number: int | Tensor) -> Tensor:
        return self._key + ops.cast([0, number], self._key.dtype)


def dropout(x: Tensor, rate: float, seeds: DropoutSeeds | None) -> Tensor:
    """Drop elements of `x` and scale the rest; the identity without seeds."""
    if seeds is None or rate == 0.0:
        return x
    return keras.random.dropout(x, rate, seed=seeds)


Weights = tuple[Tensor, ...]

# What is added to the scores of padding (modeling.py `attention_layer`).
MASKED_SCORE = -10000.0


def attention_bias(input_mask: Tensor) -> Tensor:
    """What to add to attention scores, `[B, 1, 1, S]`; padding is 0 in `[B, S]`."""
    bias = (1.0 - ops.cast(input_mask, "float32")) * MASKED_SCORE
    return bias[:, None, None]


class Dense(keras.layers.Layer):
    """Rows times a kernel plus a bias, both kept in float32."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape: tuple[int | None, int]) -> None:
        """Create the weights, zero; `initialize_weights` gives them values."""
        shapes = {"kernel": (input_shape[-1], self.units), "bias": (self.units,)}
        self.kernel, self.bias = (
            self.add_weight(name=name, shape=shape, initializer="zeros", autocast=False)
            for name, shape in shapes.items()
        )

    def call(self, rows: Tensor) -> Tensor:
        """Transform rows `[N, inputs]` to `[N, units]`."""
        weights = SharedWeights([self.kernel, self.bias], dtype=rows.dtype)
        return project(rows, *weights.copy())


def dense(units: int, name: str, *, inputs: int, dtype: Any) -> Dense:
    """A dense layer whose weights exist."""
    layer = Dense(units, name=name, dtype=dtype)
    layer.build((None, inputs))
    return layer


class LayerNorm(keras.layers.Layer):
    """Layer normalisation of rows `[N, C]`."""

    def __init__(self, epsilon: float, **kwargs: Any) -> None:
        super().__init__(name="layer_norm", **kwargs)
        self.epsilon = epsilon

    def build(self, input_shape: tuple[int | None, int]) -> None:
        """Create the weights, which no precision rounds."""
        shape = input_shape[-1:]
        self.gamma, self.beta = (
            self.add_weight(name=name, shape=shape, initializer=value, autocast=False)
            for name, value in (("gamma", "ones"), ("beta", "zeros"))
        )

    def call(self, rows: Tensor) -> Tensor:
        """Normalise each row by itself."""
        return normalize(rows, self.gamma, self.beta, epsilon=self.epsilon)


def layer_norm(width: int, config: ModelConfig, *, dtype: Any) -> LayerNorm:
    """A layer normalisation whose weights exist."""
    layer = LayerNorm(config.layer_norm_eps, dtype=dtype)
    layer.build((None, width))
    return layer


class Embeddings(keras.layers.Layer):
    """Piece, position and segment, summed at width E, then projected to H.

    The factorisation of section 3.1: V x E + E x H weights instead of V x H. Without a
    projection when E = H, as BERT.
    """

    def __init__(self, config: ModelConfig, **kwargs: Any) -> None:
        super().__init__(name="embeddings", **kwargs)
        self.config = config

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        config, width = self.config, self.config.embedding_size
        # Looked up in float32, in which the gradients of a token are then added up.
        self.word_embeddings = self._table(
            "word_embeddings", config.vocab_size, autocast=False
        )
        self.position_embeddings = self._table(
            "position_embeddings", config.max_position_embeddings
        )
        self.token_type_embeddings = self._table(
            "token_type_embeddings", config.type_vocab_size
        )
        self.layer_norm = layer_norm(width, config, dtype=self.dtype_policy)
        self.projection = None
        if width != config.hidden_size:
            self.projection = dense(
                config.hidden_size,
                "projection",
                inputs=width,
                dtype=self.dtype_policy,
            )

    def _table(self, name: str, rows: int, *, autocast: bool = True) -> keras.Variable:
        shape = (rows, self.config.embedding_size)
        return self.add_weight(
            name=name, shape=shape, initializer="zeros", autocast=autocast
        )

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
        segments = ops.one_hot(
            segment_ids, self.config.type_vocab_size, dtype=self.compute_dtype
        )
        tokens = ops.take(self.word_embeddings, input_ids, axis=0)  # [B, S, E]
        x = ops.cast(tokens, self.compute_dtype)
        x = x + ops.matmul(segments, self.token_type_embeddings)
        x = x + self.position_embeddings[:length]
        x = ops.reshape(x, (-1, width))  # [B*S, E]
        x = self.layer_norm(unpadding.unpad(x) if unpadding else x)
        x = dropout(x, self.config.hidden_dropout_prob, seeds)
        return x if self.projection is None else self.projection(x)


class SelfAttention(keras.layers.Layer):
    """Multi-head self-attention with its residual and layer normalisation.

    Query, key and value are one matrix product but three variables each: LAMB scales
    every variable by its own trust ratio, and the published model has three.
    """

    def __init__(self, config: ModelConfig, **kwargs: Any) -> None:
        # Keras would cast the weights that are given too.
        super().__init__(autocast=False, **kwargs)
        self.config = config

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        width, policy = self.config.hidden_size, self.dtype_policy
        self.query, self.key, self.value, self.output_dense = (
            dense(width, name, inputs=width, dtype=policy)
            for name in ("query", "key", "value", "output")
        )
        self.layer_norm = layer_norm(width, self.config, dtype=policy)

    def shared_weights(self) -> SharedWeights:
        """All weights, those of query, key and value side by side."""
        parts = (self.query, self.key, self.value)
        kernel = ops.concatenate([part.kernel for part in parts], axis=1)  # [H, 3H]
        bias = ops.concatenate([part.bias for part in parts], axis=0)
        return SharedWeights(
            [kernel, bias, self.output_dense.kernel, self.output_dense.bias],
            exact=[self.layer_norm.gamma, self.layer_norm.beta],
            dtype=self.compute_dtype,
        )

    def call(
        self,
        rows: Tensor,
        input_mask: Tensor,
        seeds: DropoutSeeds | None = None,
        weights: Weights | None = None,
        unpadding: Unpadding | None = None,
    ) -> Tensor:
        """Attend over `rows` `[B*S, H]` as `input_mask` says, see `attention_bias`.

        With an `unpadding` over rows `[T, H]`.
        """
        config = self.config
        kernel, bias, output_kernel, output_bias, *norm = (
            weights or self.shared_weights().copy()
        )
        projected = project(rows, kernel, bias)
        context = attend(
            unpadding.pad(projected) if unpadding else projected,
            attention_bias(input_mask),
            heads=config.num_attention_heads,
            drop=self._drop(seeds),
        )
        context = unpadding.unpad(context) if unpadding else context
        attended = project(context, output_kernel, output_bias)
        attended = dropout(attended, config.hidden_dropout_prob, seeds)
        return normalize(rows + attended, *norm, epsilon=config.layer_norm_eps)

    def _drop(self, seeds: DropoutSeeds | None) -> Callable[[Tensor], Tensor] | None:
        """The dropout of attention weights, where there is one."""
        rate = self.config.attention_probs_dropout_prob
        if seeds is None or rate == 0.0:
            return None
        return lambda weights: dropout(weights, rate, seeds)


class FeedForward(keras.layers.Layer):
    """Two dense layers with GELU between, the residual and layer normalisation.

    Where the model has another activation, it stands in the place of GELU.
    """

    def __init__(self, config: ModelConfig, **kwargs: Any) -> None:
        # Keras would cast the weights that are given too.
        super().__init__(autocast=False, **kwargs)
        self.config = config

    def build(self, input_shape: Any = None) -> None:
        """Create the weights."""
        config, policy = self.config, self.dtype_policy
        width, inner = config.hidden_size, config.intermediate_size
        self.intermediate = dense(inner, "intermediate", inputs=width, dtype=policy)
        self.output_dense = dense(width, "output", inputs=inner, dtype=policy)
        self.layer_norm = layer_norm(width, config, dtype=policy)

    def shared_weights(self) -> SharedWeights:
        """All weights."""
        parts = (self.intermediate, self.output_dense)
        return SharedWeights(
            [weight for part in parts for weight in (part.kernel, part.bias)],
            exact=[self.layer_norm.gamma, self.layer_norm.beta],
            dtype=self.compute_dtype,
        )

    def call(
        self,
        rows: Tensor,
        seeds: DropoutSeeds | None = None,
        weights: Weights | None = None,
    ) -> Tensor:
        """Transform each of `rows` `[B*S, H]` by itself."""
        kernel, bias, output_kernel, output_bias, *norm = (
            weights or self.shared_weights().copy()
        )
        inner = project(rows, kernel, bias)  # [B*S, F]
        x = project_activated(
            inner, output_kernel, output_bias, activation=self.config.hidden_act
        )
        x = dropout(x, self.config.hidden_dropout_prob, seeds)
        return normalize(rows + x, *norm, epsilon=self.config.layer_norm_eps)
