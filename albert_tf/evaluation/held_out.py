"""What a model gives on held-out examples, always the same with the same masks.

Its losses and accuracies; and how far each layer moves its input (Lan et al. 2019, Figure
1: L2 distance and cosine similarity of the input and output of each layer, which change
smoothly where layers share weights).
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from albert_tf.data.input_pipeline import Records, evaluation_batches, is_accelerated
from albert_tf.model.compiling import Compiled, Program, Stop, never
from albert_tf.model.pretrainer import AlbertPretrainer, Batch, task_sums
from albert_tf.model.unpadding import batches_of_each_size, unpadded
from albert_tf.planning.cost import MAX_TOKENS, free_memory_bytes, measured_tokens
from albert_tf.runs.metrics import DEVIATIONS, Metrics, Progress, Sums, means
from schemas.architecture import ModelConfig
from schemas.errors import AlbertError
from schemas.layout import EVAL

Tensor = Any
Array = np.ndarray[Any, Any]


class Measured(NamedTuple):
    """What a model gives on N held-out examples.

    Attributes:
        sums: Over all of them.
        by_example: Of each its masked-LM loss and its masked tokens, its sentence loss
            and whether it has a sentence label, `[4, N]`.
    """

    sums: Sums
    by_example: Array

    def figures(self) -> Metrics:
        """Means, and what their 95 % intervals follow from.

        An `_error` is half the width of an interval, over the draw of the examples;
        None of fewer than two. The intervals of accuracies follow from the counts.
        """
        mlm, masked, sentence, labelled = self.by_example
        return {
            **means(self.sums),
            "mlm_loss_error": error_of_ratio(mlm, masked),
            "sentence_loss_error": error_of_ratio(sentence, labelled),
            "mlm_count": int(self.sums.mlm_count),
            "sentence_count": int(self.sums.sentence_count),
        }


def error_of_ratio(values: Array, weights: Array) -> float | None:
    """Half the width of the 95 % interval of a ratio of two sums over N draws.

    To first order; None of fewer than two draws.

    >>> round(error_of_ratio(np.array([1.0, 3.0]), np.array([1.0, 1.0])), 2)
    1.96
    """
    number = np.count_nonzero(weights)
    if number < 2:
        return None
    residuals = values - values.sum() / weights.sum() * weights
    variance = np.sum(residuals**2) * number / (number - 1)
    return float(DEVIATIONS * math.sqrt(variance) / weights.sum())


def _measure(model: AlbertPretrainer, batch: Batch) -> Tensor:
    """The `Sums` of a batch without dropout, then `by_example`, `[6 + 4 * B]`."""
    mlm_logits, sentence_logits = model(batch)
    labels, weights, places = (
        ops.reshape(batch[f"masked_lm_{name}"], (-1,)) for name in ("ids", "weights", "positions")
    )
    rows, length = batch["input_ids"].shape
    # Of a batch without padding, positions are places in all rows one after the other.
    is_of_row = ops.equal(ops.arange(rows)[:, None], places[None] // length)
    losses, _ = model.operations.cross_entropy(mlm_logits, labels)
    weights = ops.cast(weights, "float32")
    of_masked = ops.stack([losses * weights, weights], axis=1)
    masked = ops.matmul(ops.cast(is_of_row, "float32"), of_masked)
    sentences = ops.zeros((rows, 2), "float32")
    if sentence_logits is not None:
        labels = batch["sentence_order_labels"]
        losses, _ = model.operations.cross_entropy(sentence_logits, ops.maximum(labels, 0))
        labelled = ops.cast(labels >= 0, "float32")
        sentences = ops.stack([losses * labelled, labelled], axis=1)
    by_example = ops.concatenate([masked, sentences], axis=1)
    sums = ops.stack(task_sums(model, batch, mlm_logits, sentence_logits))
    return ops.concatenate([sums, ops.reshape(ops.transpose(by_example), (-1,))])


def held_out_examples(records: Records, *, maximum: int | None) -> int:
    """The number of held-out examples to measure on, at least one."""
    held_out = records.manifest.num_examples(EVAL)
    if not held_out:
        raise AlbertError(
            f"{records.dataset} has no held-out examples; make data with a larger "
            "--eval-fraction, or measure a text with albert evaluate --text."
        )
    return held_out if maximum is None else min(maximum, held_out)


class HeldOut:
    """The examples that a model is measured on, with the measurement compiled.

    Args:
        keeps: Whether to keep those of the last measurement in memory, for the next one: an
            accelerator measures them many times faster than they are read.
    """

    def __init__(
        self, model: AlbertPretrainer, records: Records, *, examples: int, keeps: bool = False
    ) -> None:
        self._keeps = keeps
        self._kept: dict[int, list[Batch]] = {}
        self.examples = examples
        self._records = records
        length = records.manifest.config.max_seq_length
        self._measure = Compiled(_measure, model)
        self._rows, devices = rows_at_once(model.config, length=length), self._measure.devices
        if devices > 1:
            # As few as make the same number of batches, so that the last one is nearly full.
            batches = -(-examples // (devices * self._rows))
            self._rows = -(-examples // (devices * batches))
        self._batch_size = devices * self._rows
        self._sizes = Records(records.dataset, records.manifest).sizes(self._rows)

    def programs(self) -> list[Program]:
        """What compiles all that measuring needs, if it takes long."""
        number = self._measure.devices
        batches = batches_of_each_size(self._sizes, number=number, rows=self._rows)
        return [self._measure.program(one_after_another(each)) for each in batches]

    def measure(
        self,
        *,
        on_batch: Callable[[int], None],
        examples: int | None = None,
        should_stop: Stop = never,
    ) -> Measured | None:
        """Losses and hits without dropout, of the first examples; None if stopped.

        Args:
            on_batch: Told the examples of each batch.
        """
        total = np.zeros(len(Sums._fields))
        size, number = self._batch_size, examples or self.examples
        by_example, left = np.zeros((4, 0)), number
        for batch in self._kept.get(number) or self._batches(number):
            if should_stop():
                return None
            values = self._measure(batch).reshape(self._measure.devices, -1)
            total += values[:, : len(total)].sum(axis=0)
            of_batches = values[:, len(total) :].reshape(-1, 4, self._rows)
            by_example = np.concatenate([by_example, *of_batches], axis=1)
            on_batch(min(size, left))
            left -= size
        return Measured(Sums(*total.tolist()), by_example[:, :number])

    def _batches(self, examples: int) -> Iterator[Batch]:
        """The first examples, without padding."""
        read: list[Batch] = []
        for batch in evaluation_batches(
            self._records, batch_size=self._batch_size, examples=examples
        ):
            rows = {n: each.reshape(-1, self._rows, *each.shape[1:]) for n, each in batch.items()}
            read.append(one_after_another(unpadded(rows, sizes=self._sizes)))
            yield read[-1]
            if not self._keeps:
                read.clear()
        if self._keeps:
            self._kept = {examples: read}


def tokens_at_once(config: ModelConfig, *, length: int) -> int:
    """Tokens that a device measures a model on at a time, padding included, on any host."""
    if keras.backend.backend() != "jax" or not is_accelerated():
        return MAX_TOKENS
    import jax
    from jax.experimental.multihost_utils import process_allgather

    memory = jax.local_devices()[0].memory_stats() or {}
    memory_bytes = memory.get("bytes_limit", free_memory_bytes())
    tokens = measured_tokens(config, length=length, memory_bytes=memory_bytes)
    return int(process_allgather(np.int32(tokens)).min())


def rows_at_once(config: ModelConfig, *, length: int) -> int:
    """Sequences of a length that a model is measured on at a time."""
    return max(1, tokens_at_once(config, length=length) // length)


def one_after_another(batches: Batch) -> Batch:
    """N batches `[N, B, ...]` as one `[N*B, ...]`."""
    return {name: np.concatenate(each) for name, each in batches.items()}


@dataclasses.dataclass(frozen=True)
class LayerSimilarity:
    """Input and output of one layer compared, as means over tokens."""

    layer: int
    l2_distance: float
    cosine_similarity: float
    degrees: float


def layer_similarities(
    model: AlbertPretrainer, records: Records, *, examples: int, progress: Progress
) -> list[LayerSimilarity]:
    """Measure all layers of a model on the first held-out examples, masks and all."""
    length = records.manifest.config.max_seq_length
    sums = Compiled(similarity_sums, model)
    rows = min(-(-examples // sums.devices), rows_at_once(model.config, length=length))
    batch_size = sums.devices * rows
    total = np.zeros((model.config.num_hidden_layers, 3))
    tokens, left = 0, examples
    batches = evaluation_batches(records, batch_size=batch_size, examples=examples)
    for batch in batches:
        total += sums(batch).reshape(-1, *total.shape).sum(axis=0)
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
