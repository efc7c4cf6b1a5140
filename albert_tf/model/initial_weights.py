"""The weights that a run starts from, the same on every backend of Keras.

Each tensor is drawn from (seed, its path) alone, so models that differ in depth or
heads start with the same values wherever they have the same tensors.
"""

import hashlib
import math
from typing import Any

import keras
import numpy as np

from albert_tf.model.encoder import Embeddings, Encoder, SelfAttention
from schemas.architecture import ModelConfig
from schemas.config import Initializer

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
        token_vectors: What token embeddings begin with instead of what is drawn, of
            deviation 1, `[V, E]` or narrower; zeros for tokens that keep what is drawn.
    """
    deviation = model.encoder.config.initializer_range
    if initializer != "range":
        # By width it is "small init" (Nguyen and Salazar, 1910.05895), which LTG-BERT
        # (2303.09859) uses for whole encoders.
        deviation = math.sqrt(2 / (5 * model.encoder.config.hidden_size))
    initialize_weights(model, standard_deviation=deviation, seed=seed)
    if token_vectors is not None:
        table = model.encoder.embeddings.word_embeddings
        values, has_one = table.numpy(), token_vectors.any(axis=1)
        # Scaled to vary as the drawn values.
        columns = token_vectors.shape[1]
        values[has_one, :columns] = token_vectors[has_one] * values.std()
        table.assign(values)
    if initializer == "positional-heads":
        begin_with_positional_heads(model.encoder)


def initialize_weights(model: keras.layers.Layer, *, standard_deviation: float, seed: int) -> None:
    """Give a new model its first weights (modeling.py `create_initializer`).

    Kernels and tables are drawn; biases stay 0 and scales of layer normalisation 1.
    """
    for variable in model.trainable_variables:
        if len(variable.shape) > 1:
            values = truncated_normal(variable.shape, path=variable.path, seed=seed)
            variable.assign(values * np.float32(standard_deviation))


def truncated_normal(shape: tuple[int, ...], *, path: str, seed: int) -> Array:
    """Standard normal values; any beyond 2 is drawn again."""
    digest = hashlib.sha256(f"{seed} {path}".encode()).digest()
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))
    values = rng.standard_normal(shape, dtype=np.float32)
    while (outside := np.abs(values) > 2).any():
        values[outside] = rng.standard_normal(int(outside.sum()), dtype=np.float32)
    return values


# First weights with which attention heads look at neighbouring tokens.
#
# Trained encoders have heads that look at the token before or after ("positional
# heads", Voita et al. 2019, section 5.2). Attention as it is usually drawn is uniform,
# and as long as no head has found a neighbour a masked token is guessed by frequency
# alone: the plateau on which masked language models stay for thousands of steps. So the
# first weights include such heads, as mimetic initialization (Trockman and Kolter,
# 2305.09828) includes other patterns of trained models. The architecture stays the
# same, and training may change all of them.
#
# The last columns of the embeddings are left to positions alone: a cosine and a sine of
# each frequency (Vaswani et al. 2017). A key is the position of its token, a query the
# position of its token moved by the offset of its head: their product is greatest where
# the two meet.
#
# Axes: P positions, F frequencies, E embedding, H hidden, D width of a head.

# Where the first heads of every layer look; the others stay as they were drawn.
OFFSETS = (-1, 1, -2, 2)

# The share of the embedding that is left to positions.
SHARE_OF_COLUMNS = 1 / 4

# The highest frequency turns by almost half a circle from token to token, so that
# neighbours differ; the lowest turns once in this many tokens, so that distant ones do.
HIGHEST_FREQUENCY, LONGEST_PERIOD = 0.9 * math.pi, 128

# The amplitude of a wave, beside the standard deviation of the tables.
AMPLITUDE = 2.0

# The attention score of the place that a head looks at; that of others is about 0.
SCORE = 5.0


def begin_with_positional_heads(encoder: Encoder) -> None:
    """Change the first weights of an encoder so that some heads look at neighbours.

    The projection keeps the variance of the embedding, as the layer normalisation after
    each layer does: so every layer reads positions on the same scale. What attention
    passes on stays as drawn: if neighbours counted as much as the token itself, little
    of it would be left after four layers.

    Args:
        encoder: Its weights are drawn already; one too narrow for a wave stays as it
            is.
    """
    embeddings, turns = encoder.embeddings, frequencies(encoder.config)
    if not turns.size:
        return
    amplitude = set_positions(embeddings, turns)
    to_embedding: Array = np.eye(encoder.config.hidden_size, dtype="float32")
    if embeddings.projection is not None:
        kernel = embeddings.projection.kernel
        values = kernel.numpy()
        # So that what it gives varies as what it takes.
        kernel.assign(values / (values.std() * math.sqrt(values.shape[0])))
        to_embedding = np.linalg.pinv(kernel.numpy())
    readers = to_embedding[:, -2 * len(turns) :] / amplitude
    for sublayer in encoder.sublayers.values():
        if isinstance(sublayer, SelfAttention):
            set_heads(sublayer, readers, turns)


def frequencies(config: ModelConfig) -> Array:
    """The frequencies of the waves, in radians a token, `[F]`.

    >>> [round(float(turn), 3) for turn in frequencies(ModelConfig(embedding_size=16))]
    [2.827, 0.049]
    """
    columns = min(
        round(config.embedding_size * SHARE_OF_COLUMNS),
        config.hidden_size // config.num_attention_heads,
    )
    lowest = 2 * math.pi / LONGEST_PERIOD
    turns: Array = np.geomspace(HIGHEST_FREQUENCY, lowest, columns // 2, dtype="f4")
    return turns


def waves(places: Array, turns: Array) -> Array:
    """The cosines, then the sines, of places `[P]` at frequencies `[F]`: `[P, 2F]`.

    >>> waves(np.float32([0, 1]), np.float32([np.pi / 2])).round(3).tolist()
    [[1.0, 0.0], [-0.0, 1.0]]
    """
    angles = places[:, None] * turns
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def moved(readers: Array, turns: Array, *, offset: int) -> Array:
    """What reads the waves of a place, made to read those at an offset from it.

    >>> turns = np.float32([0.5])
    >>> here, there = waves(np.float32([3, 5]), turns)
    >>> np.allclose(here @ moved(np.eye(2, dtype="f4"), turns, offset=2), there)
    True

    Args:
        readers: Columns that give the waves, `[H, 2F]`.
        turns: Their frequencies, `[F]`.
    """
    cosines, sines = np.split(readers, 2, axis=1)
    cosine, sine = np.cos(turns * offset), np.sin(turns * offset)
    return np.concatenate(
        [cosines * cosine - sines * sine, sines * cosine + cosines * sine], axis=1
    )


def set_positions(embeddings: Embeddings, turns: Array) -> float:
    """Leave the last columns of the tables to waves of the position.

    Returns:
        The amplitude of the waves once the embedding is normalised.
    """
    tokens, segments, positions = (
        embeddings.word_embeddings,
        embeddings.token_type_embeddings,
        embeddings.position_embeddings,
    )
    columns, width = 2 * len(turns), tokens.shape[1]
    deviation = float(tokens.numpy().std())
    for table in (tokens, segments):
        values = table.numpy()
        values[:, -columns:] = 0
        table.assign(values)
    places = np.arange(positions.shape[0], dtype="f4")
    values = np.zeros(positions.shape, "f4")
    values[:, -columns:] = AMPLITUDE * deviation * waves(places, turns)
    positions.assign(values)
    of_text = 2 * (width - columns)  # a token and its segment, in deviations squared
    of_waves = AMPLITUDE**2 / 2 * columns
    return AMPLITUDE / math.sqrt((of_text + of_waves) / width)


def set_heads(attention: SelfAttention, readers: Array, turns: Array) -> None:
    """Let the first heads look at `OFFSETS`.

    Args:
        attention: Its queries and keys are drawn already.
        readers: Columns that give the waves of a hidden state, `[H, 2F]`.
        turns: Their frequencies, `[F]`.
    """
    queries, keys = attention.query.kernel.numpy(), attention.key.kernel.numpy()
    width = queries.shape[1] // attention.config.num_attention_heads
    # Waves that meet have the product F, and attention divides it by sqrt(D).
    scale = math.sqrt(SCORE * math.sqrt(width) / len(turns))
    for head, offset in enumerate(OFFSETS[: attention.config.num_attention_heads]):
        first = head * width
        for kernel, shift in ((queries, offset), (keys, 0)):
            kernel[:, first : first + width] = 0
            kernel[:, first : first + 2 * len(turns)] = scale * moved(readers, turns, offset=shift)
    attention.query.kernel.assign(queries)
    attention.key.kernel.assign(keys)
