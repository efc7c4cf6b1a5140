"""A function of a model and a batch, compiled by the backend that Keras runs on."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import keras
import numpy as np

from albert_tf.data.unpadding import OF_SIZE
from albert_tf.model.pretrainer import Batch
from schemas.errors import SettingError

Array = np.ndarray[Any, Any]
Tensor = Any


class Weighted(Protocol):
    """A model of pretraining or of a task."""

    @property
    def weights_by_path(self) -> dict[str, keras.Variable]:
        """Every weight under its full name, the one checkpoints use."""


OfModel = Callable[[Any, Batch], Tensor]


def backend() -> str:
    """The name of the backend that Keras runs on."""
    name: str = keras.backend.backend()
    if name not in ("tensorflow", "jax"):
        raise SettingError(f"KERAS_BACKEND must be tensorflow or jax, not {name}.")
    return name


def compiled(function: OfModel, model: Weighted) -> Callable[[Batch], Array]:
    """Compile a function of a model and a batch `[B, ...]`.

    Returns:
        A function of the batch alone, with the model's weights as they are at the call.
    """
    by_backend = {"jax": _by_jax, "tensorflow": _by_tensorflow}[backend()]
    return by_backend(function, model)


def with_weights(model: Weighted, values: Mapping[str, Tensor]) -> keras.StatelessScope:
    """A scope in which the weights of a model have these values, by path."""
    return keras.StatelessScope(
        state_mapping=[(w, values[path]) for path, w in model.weights_by_path.items()]
    )


def _by_jax(function: OfModel, model: Weighted) -> Callable[[Batch], Array]:
    import jax

    @jax.jit
    def of_values(values: dict[str, Tensor], batch: Batch) -> Tensor:
        with with_weights(model, values):
            return function(model, batch)

    def call(batch: Batch) -> Array:
        values = {path: w.value for path, w in model.weights_by_path.items()}
        return np.asarray(of_values(values, batch), np.float64)

    return call


def _by_tensorflow(function: OfModel, model: Weighted) -> Callable[[Batch], Array]:
    import tensorflow as tf

    graph = tf.function(lambda batch: function(model, batch), autograph=False)

    def call(batch: Batch) -> Array:
        # Finds the graph that was made before.
        graph.get_concrete_function(of_any_size(batch))
        return np.asarray(graph(batch), np.float64)

    return call


def of_any_size(batch: Batch) -> dict[str, Any]:
    """The TensorSpecs of a batch with any number of tokens and predictions.

    So one graph serves them all; only what XLA compiles in it is compiled for each
    number.
    """
    import tensorflow as tf

    of_size = OF_SIZE if "row_places" in batch else ()
    return {
        name: tf.TensorSpec(
            (*values.shape[:-1], None) if name in of_size else values.shape,
            values.dtype,
        )
        for name, values in batch.items()
    }
