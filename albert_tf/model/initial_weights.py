"""The weights that a run starts from, the same on every backend of Keras.

Each tensor is drawn from (seed, its path) alone, so models that differ in depth or
heads start with the same values wherever they have the same tensors.
"""

import hashlib
import math
from typing import Any

import keras
import numpy as np

from albert_tf.model.positional_heads import begin_with_positional_heads
from schemas.config import Initializer, ModelConfig

Array = np.ndarray[Any, np.dtype[np.float32]]


def draw_first_weights(
    model: keras.layers.Layer,
    *,
    initializer: Initializer,
    seed: int,
    token_vectors: Array | None = None,
) -> None:
    """Give a new model the first weights that a training from nothing begins with.

    Args:
        model: An encoder with any heads.
        initializer: A setting of the training.
        seed: Of the run.
        token_vectors: What token embeddings begin with instead of what is drawn, of
            deviation 1, `[V, E]` or narrower; zeros for tokens that keep what is drawn.
    """
    deviation = initial_deviation(model.encoder.config, initializer)
    initialize_weights(model, standard_deviation=deviation, seed=seed)
    if token_vectors is not None:
        set_token_vectors(model.encoder.embeddings.word_embeddings, token_vectors)
    if initializer == "positional-heads":
        begin_with_positional_heads(model.encoder)


def set_token_vectors(table: keras.Variable, vectors: Array) -> None:
    """Let a table `[V, E]` begin with vectors, scaled to vary as the drawn values."""
    values = table.numpy()
    has_one = vectors.any(axis=1)
    values[has_one, : vectors.shape[1]] = vectors[has_one] * values.std()
    table.assign(values)


def initialize_weights(
    model: keras.layers.Layer, *, standard_deviation: float, seed: int
) -> None:
    """Give a new model its first weights (modeling.py `create_initializer`).

    Kernels and tables are drawn; biases stay 0 and scales of layer normalisation 1.
    """
    for variable in model.trainable_variables:
        if len(variable.shape) > 1:
            values = truncated_normal(variable.shape, path=variable.path, seed=seed)
            variable.assign(values * np.float32(standard_deviation))


def initial_deviation(config: ModelConfig, initializer: Initializer) -> float:
    """The standard deviation of the first weights.

    By width it is "small init" (Nguyen and Salazar, 1910.05895), which LTG-BERT
    (2303.09859) uses for whole encoders.

    >>> initial_deviation(ModelConfig(hidden_size=250, num_attention_heads=1), "width")
    0.04
    """
    if initializer == "range":
        return config.initializer_range
    return math.sqrt(2 / (5 * config.hidden_size))


def truncated_normal(shape: tuple[int, ...], *, path: str, seed: int) -> Array:
    """Standard normal values; any beyond 2 is drawn again."""
    digest = hashlib.sha256(f"{seed} {path}".encode()).digest()
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
    values = rng.standard_normal(shape, dtype=np.float32)
    while (outside := np.abs(values) > 2).any():
        values[outside] = rng.standard_normal(int(outside.sum()), dtype=np.float32)
    return values
