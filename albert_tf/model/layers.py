"""What the encoder and the heads are made of: weights, dense layers, dropout."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import keras
from keras import ops

from albert_tf.model import operations as elementary
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


def dropout(x: Tensor, rate: float, seeds: DropoutSeeds | None) -> Tensor:
    """Drop elements of `x` and scale the rest; the identity without seeds."""
    if seeds is None or rate == 0.0:
        return x
    return keras.random.dropout(x, rate, seed=seeds)


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
        if operations is None and keras.backend.backend() == "tensorflow":
            from albert_tf.model import tensorflow_operations as operations
        self.operations = operations or elementary

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
        return ops.matmul(rows, kernel) + bias


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
