"""How far each layer moves its input: the paper's Figure 1, for any model.

Lan et al. 2019, section 3.1: L2 distance and cosine similarity of the input and output
embeddings of each layer. Sharing weights makes both change smoothly over the layers.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from keras import ops

from albert_tf.data.input_pipeline import Records, evaluation_batches
from albert_tf.evaluation.held_out import compiled
from albert_tf.model.pretrainer import AlbertPretrainer, Batch
from albert_tf.planning.memory import MAX_TOKENS
from albert_tf.runs.progress import Progress

Tensor = Any


@dataclasses.dataclass(frozen=True)
class LayerSimilarity:
    """Input and output of one layer compared, as means over tokens.

    Attributes:
        l2_distance: Between the vectors of width H.
        cosine_similarity: Of the two.
        degrees: The angle between them, as the figure has it.
    """

    layer: int
    l2_distance: float
    cosine_similarity: float
    degrees: float


def layer_similarities(
    model: AlbertPretrainer, records: Records, *, examples: int, progress: Progress
) -> list[LayerSimilarity]:
    """Measure all layers of a model on the first held-out examples.

    Args:
        records: The data set; the masks stay in its text.
    """
    length = records.manifest.config.max_seq_length
    batch_size = min(examples, max(1, MAX_TOKENS // length))
    sums = compiled(similarity_sums, model)
    total = np.zeros((model.config.num_hidden_layers, 3))
    tokens, left = 0, examples
    batches = evaluation_batches(records, batch_size=batch_size, examples=examples)
    for batch in batches:
        total += sums(batch)
        tokens += int(batch["input_mask"].sum())
        progress.advance(min(batch_size, left))
        left -= batch_size
    means = (total / tokens).tolist()
    return [LayerSimilarity(layer, *row) for layer, row in enumerate(means, start=1)]


def similarity_sums(model: AlbertPretrainer, batch: Batch) -> Tensor:
    """Distances, cosines and degrees of each layer, summed over tokens, `[L, 3]`."""
    encoder, ids, segments = model.encoder, batch["input_ids"], batch["segment_ids"]
    outputs = encoder(ids, batch["input_mask"], segments, every_layer=True)
    inputs = [encoder.embeddings(ids, segments), *outputs[:-1]]
    weights = ops.cast(ops.reshape(batch["input_mask"], (-1, 1)), "float32")
    return ops.stack(
        [
            ops.sum(compare_rows(before, after) * weights, axis=0)
            for before, after in zip(inputs, outputs, strict=True)
        ]
    )


def compare_rows(before: Tensor, after: Tensor) -> Tensor:
    """L2 distance, cosine and angle in degrees of each pair of rows `[N, H]`, `[N, 3]`.

    >>> before, after = np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]])
    >>> np.round(compare_rows(before, after), 3).tolist()
    [[5.0, 0.0, 90.0]]
    """
    before, after = ops.cast(before, "float32"), ops.cast(after, "float32")
    lengths = ops.norm(before, axis=-1) * ops.norm(after, axis=-1)
    cosines = ops.sum(before * after, axis=-1) / ops.maximum(lengths, 1e-12)
    degrees = ops.arccos(ops.clip(cosines, -1.0, 1.0)) * (180 / math.pi)
    distances = ops.norm(after - before, axis=-1)
    return ops.stack([distances, cosines, degrees], axis=-1)
