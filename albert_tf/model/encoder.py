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
import importlib
import itertools
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import keras
from keras import ops

from albert_tf.model.parameters import sublayers
from albert_tf.model.unpadding import Unpadding
from schemas.architecture import ModelConfig

Tensor = Any
Weights = tuple[Tensor, ...]

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
        return self._key + ops.cast([0, self._num_drawn], self._key.dtype)

    def of_layer(self, layer: int | Tensor) -> "DropoutSeeds":
        """The seeds of one layer, the same at each call."""
        first = (layer + 1) * MAX_SEEDS_OF_A_LAYER
        return DropoutSeeds(self._key + ops.cast([0, first], self._key.dtype))


class ReadPlaces(NamedTuple):
    """The rows of a batch that are read after the last layer.

    Attributes:
        places: Theirs in `[B*S]`, `[N]`.
        rows: Which of all rows `[T]` they are, `[N]`.
        of: All rows before that layer, `[T, H]`.
    """

    places: Tensor
    rows: Tensor
    of: Tensor


def dropout(
    x: Tensor, rate: float, seeds: DropoutSeeds | None, *, read: ReadPlaces | None = None
) -> Tensor:
    """Drop elements of `x` and scale the rest; the identity without seeds.

    Args:
        read: Where `x` has only these rows: of them the same is dropped as of all.
    """
    if seeds is None or rate == 0.0:
        return x
    if read is None:
        return keras.random.dropout(x, rate, seed=seeds)
    kept = keras.random.dropout(ops.ones_like(read.of, x.dtype), rate, seed=seeds)
    return x * ops.take(kept, read.rows, axis=0)


class Layer(keras.layers.Layer):
    """A layer whose parts have its precision and compute with the same operations.

    Args:
        operations: The module that has them: `operations`, which compiles nothing and
            which any program can run, or by default the quickest of the backend.

    Attributes:
        casts: Whether Keras casts what the layer is called with to its precision.
    """

    casts = True

    def __init__(
        self, config: ModelConfig, *, operations: ModuleType | None = None, **kwargs: Any
    ) -> None:
        super().__init__(autocast=self.casts, **kwargs)
        self.config = config
        if operations is None:
            backend = keras.backend.backend()
            operations = importlib.import_module(f"albert_tf.model.{backend}_operations")
        self.operations = operations

    @property
    def likewise(self) -> dict[str, Any]:
        """The arguments for a part of it."""
        return {"config": self.config, "dtype": self.dtype_policy, "operations": self.operations}

    def new_dense(self, name: str, units: int, *, inputs: int) -> "Dense":
        """A dense layer whose weights exist."""
        layer = Dense(name=name, **self.likewise)
        layer.build((inputs, units))
        return layer

    def new_layer_norm(self, width: int) -> "LayerNorm":
        """A layer normalisation whose weights exist."""
        layer = LayerNorm(name="layer_norm", **self.likewise)
        layer.build((None, width))
        return layer

    @property
    def activation(self) -> Any:
        """GELU, or ReLU as some Chinese ALBERTs were trained with."""
        is_relu = self.config.hidden_act == "relu"
        return ops.relu if is_relu else self.operations.gelu


class SharedWeights:
    """Weights that a pass uses several times.

    The gradients of all uses are added up in float32, whatever the precision of the
    computation.

    Args:
        weights: Given to each use in the precision of the computation.
        exact: Given to each use behind them, in float32.
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        *,
        exact: Sequence[Tensor] = (),
        dtype: str,
        operations: ModuleType,
    ) -> None:
        self._weights, self._operations = weights, operations
        # Once for all uses, also where these are the rounds of a loop.
        self._casts = [ops.cast(weight, dtype) for weight in weights]
        self._exact = tuple(exact)

    def copy(self) -> Weights:
        """All of them for one use."""
        copies = map(self._operations.exact_gradient, self._weights, self._casts)
        return (*copies, *self._exact)


class Dense(Layer):
    """Rows times a kernel plus a bias, both kept in float32."""

    def build(self, kernel_shape: tuple[int, int]) -> None:
        """Create the weights, zero; `initialize_weights` gives them values."""
        self.kernel, self.bias = (
            self.add_weight(name=name, shape=shape, initializer="zeros", autocast=False)
            for name, shape in (("kernel", kernel_shape), ("bias", kernel_shape[1:]))
        )

    def call(self, rows: Tensor) -> Tensor:
        """Transform rows `[N, inputs]` to `[N, units]`."""
        kernel, bias = SharedWeights(
            [self.kernel, self.bias], dtype=rows.dtype, operations=self.operations
        ).copy()
        return self.operations.linear(rows, kernel, bias)


class LayerNorm(Layer):
    """Layer normalisation of rows `[N, C]`."""

    def build(self, input_shape: tuple[int | None, int]) -> None:
        """Create the weights, which no precision rounds."""
        shape = input_shape[-1:]
        self.gamma, self.beta = (
            self.add_weight(name=name, shape=shape, initializer=value, autocast=False)
            for name, value in (("gamma", "ones"), ("beta", "zeros"))
        )

    def call(self, rows: Tensor) -> Tensor:
        """Normalise each row by itself."""
        return self.operations.normalize(
            rows, self.gamma, self.beta, epsilon=self.config.layer_norm_eps
        )


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
        read: ReadPlaces | None = None,
    ) -> Tensor:
        """Attend over `rows` `[B*S, H]`, or `[T, H]` with an `unpadding`.

        Args:
            input_mask: 1 at the tokens that are attended to, 0 at padding, `[B, S]`.
            read: The rows `[N, H]` to give; None for all.
        """
        config, operations = self.config, self.operations
        kernel, bias, output_kernel, output_bias, *norm = weights or self.shared_weights().copy()
        projected = operations.linear(rows, kernel, bias)  # [B*S, 3H]
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
        if read:
            rows, context = (
                ops.take(values, own, axis=0)
                for values, own in ((rows, read.rows), (context, read.places))
            )
        elif unpadding:
            context = unpadding.unpad(context)
        attended = operations.linear(context, output_kernel, output_bias)
        attended = dropout(attended, config.hidden_dropout_prob, seeds, read=read)
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
        self,
        rows: Tensor,
        seeds: DropoutSeeds | None = None,
        weights: Weights | None = None,
        read: ReadPlaces | None = None,
    ) -> Tensor:
        """Transform each of `rows` `[B*S, H]` by itself, or of those that are read."""
        kernel, bias, output_kernel, output_bias, *norm = weights or self.shared_weights().copy()
        inner = self.operations.linear(rows, kernel, bias)  # [B*S, F]
        x = self.operations.project_activated(
            inner, output_kernel, output_bias, activate=self.activation
        )
        x = dropout(x, self.config.hidden_dropout_prob, seeds, read=read)
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
        places: Tensor | None = None,
    ) -> Tensor | list[Tensor]:
        """Encode `[B, S]` tokens as rows `[B*S, H]`, or `[T, H]` with an `unpadding`.

        Args:
            input_mask: 1 at tokens, 0 at padding.
            segment_ids: 0 in the first segment and at padding, 1 in the second.
            seeds: Where dropout draws from; without, there is no dropout.
            every_layer: Return the rows of all layers, the last layer's last.
            unpadding: Which places have rows, where not all have.
            places: Those in `[B*S]` that are read, `[N]`; None for all. Of the last layer
                only their rows `[N, H]` are computed: others are keys and values there.
        """
        rows = self.embeddings(input_ids, segment_ids, seeds=seeds, unpadding=unpadding)
        read = None
        if places is not None:
            own = ops.take(unpadding.rows, places, axis=0) if unpadding else places
            read = ReadPlaces(places, own, rows)
        layer = functools.partial(
            self._layer,
            weights={n: part.shared_weights() for n, part in self.sublayers.items()},
            attended={"input_mask": input_mask, "unpadding": unpadding},
            seeds=seeds,
        )
        names = [name for _, name in sublayers(self.config)]
        pairs = list(zip(names[::2], names[1::2], strict=True))
        layers: list[Tensor] = []
        first, last = 0, len(names) // 2 - (read is not None)
        # Layers in a row that have the same weights, at once unless all are asked for.
        for pair, same in itertools.groupby(pairs):
            end = first + len(list(same))
            whole = min(end, last)
            for number in range(first, whole, 1 if every_layer else max(1, whole - first)):
                numbers = range(number, number + 1) if every_layer else range(first, whole)
                rows = self.operations.repeat(functools.partial(layer, pair), rows, numbers)
                layers.append(rows)
            first = end
        if read:
            return layer(pairs[-1], last, rows, read=read)
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
        read: ReadPlaces | None = None,
    ) -> Tensor:
        """Attention and FFN of these names in the place of a layer."""
        attention, ffn = (self.sublayers[name] for name in names)

        def compute(rows: Tensor, *weights: Tensor) -> Tensor:
            own, half = seeds and seeds.of_layer(number), len(weights) // 2
            rows = attention(rows, **attended, seeds=own, weights=weights[:half], read=read)
            return ffn(rows, seeds=own, weights=weights[half:], read=read)

        copies = [weight for name in names for weight in weights[name].copy()]
        if self.recompute and seeds is not None:
            return self.operations.recomputed(compute, rows, *copies)
        return compute(rows, *copies)

    def pool(self, rows: Tensor, length: int = 1) -> Tensor:
        """A summary `[B, H]` of each sequence, from its first piece, [CLS].

        Args:
            rows: All of sequences of some length, or their first ones.
        """
        assert self.pooler is not None, "a model without sentence task pools nothing"
        first = ops.reshape(rows, (-1, length, self.config.hidden_size))[:, 0]
        return ops.tanh(self.pooler(first))
