"""An optimizer step on TensorFlow, in two compiled pieces: accumulate, then apply.

A step adds up the gradients of its micro-batches, each already divided by the counts of
the whole step, then clips and applies the sum once. So the size of a micro-batch shows
in memory and in rounding only.
"""

import hashlib
import time
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from albert_tf.adamw import adamw_update, is_excluded
from albert_tf.dropout import DropoutSeeds
from albert_tf.lamb import lamb_update
from albert_tf.pretrainer import AlbertPretrainer, Batch, micro_batch_loss

Update = Callable[..., tuple[Any, Any, Any]]

# The global norm gradients are clipped to (optimization.py).
MAX_GRADIENT_NORM = 1.0

UPDATES: dict[str, Update] = {"lamb": lamb_update, "adamw": adamw_update}


class TrainingSteps:
    """A model with what training adds to it: the slots of the optimizer.

    Attributes:
        model: Updated in place by `apply`.
        slots: The moments of every weight, by its path and `/m` or `/v`.
    """

    def __init__(self, model: AlbertPretrainer, *, optimizer: str, seed: int) -> None:
        self.model = model
        self._update = UPDATES[optimizer]
        self._seed = seed
        self._gradients = [_zeros_like(w) for w in model.trainable_variables]
        self.slots = {
            f"{weight.path}/{slot}": _zeros_like(weight)
            for weight in model.trainable_variables
            for slot in "mv"
        }
        self._accumulate = tf.function(self._add_gradients, autograph=False)
        self._apply = tf.function(self._update_weights, autograph=False)

    def accumulate(
        self,
        batch: Batch,
        *,
        mlm_count: tf.Tensor,
        sentence_count: tf.Tensor,
        piece_count: tf.Tensor,
        step: int,
        micro: int,
    ) -> tf.Tensor:
        """Add the gradients of a micro-batch; its sums as one tensor.

        They are those of `micro_batch_loss`.

        Args:
            batch: One micro-batch, `[M, ...]`.
            mlm_count: Masked pieces in the whole step.
            sentence_count: Pairs in the whole step.
            piece_count: Pieces in the whole step, those that are no padding.
            step: With `micro` and the seed the key of dropout.
            micro: Which micro-batch of the step.
        """
        key = tf.constant(dropout_key(self._seed, step, micro), tf.int64)
        return self._accumulate(batch, mlm_count, sentence_count, piece_count, key)

    def compile(self, batch: Batch) -> float:
        """Compile both pieces for micro-batches like this one, changing nothing.

        Returns:
            The seconds a micro-batch takes once compiled.
        """
        self._apply.get_concrete_function(tf.TensorSpec([], tf.float32))
        one = tf.ones([])
        for _ in range(2):  # the first call compiles
            start = time.perf_counter()
            self.accumulate(
                batch,
                mlm_count=one,
                sentence_count=one,
                piece_count=one,
                step=0,
                micro=0,
            )
        seconds = time.perf_counter() - start
        self.discard()
        return seconds

    def apply(self, learning_rate: float) -> tf.Tensor:
        """Clip and apply what was accumulated; the norm before clipping."""
        return self._apply(tf.constant(learning_rate, tf.float32))

    def discard(self) -> None:
        """Forget what was accumulated."""
        for total in self._gradients:
            total.assign(tf.zeros_like(total))

    def _add_gradients(
        self,
        batch: Batch,
        mlm_count: Any,
        sentence_count: Any,
        piece_count: Any,
        key: Any,
    ) -> tf.Tensor:
        """What `accumulate` compiles."""
        weights = [weight.value for weight in self.model.trainable_variables]
        with tf.GradientTape() as tape:
            loss, sums = micro_batch_loss(
                self.model,
                batch,
                mlm_count=mlm_count,
                sentence_count=sentence_count,
                piece_count=piece_count,
                seeds=DropoutSeeds(key),
            )
        gradients = tape.gradient(loss, weights)
        for total, gradient in zip(self._gradients, gradients, strict=True):
            total.assign_add(tf.convert_to_tensor(gradient))
        return sums

    def _update_weights(self, learning_rate: tf.Tensor) -> tf.Tensor:
        """What `apply` compiles."""
        norm = tf.linalg.global_norm(self._gradients)
        scale = MAX_GRADIENT_NORM / tf.maximum(norm, MAX_GRADIENT_NORM)
        weights = self.model.trainable_variables
        for weight, total in zip(weights, self._gradients, strict=True):
            first, second = (self.slots[f"{weight.path}/{slot}"] for slot in "mv")
            updated = self._update(
                ops.convert_to_tensor(weight),
                total * scale,
                first.value(),
                second.value(),
                learning_rate=learning_rate,
                is_excluded=is_excluded(weight.path),
            )
            for variable, value in zip((weight, first, second), updated, strict=True):
                variable.assign(value)
            total.assign(tf.zeros_like(total))
        return norm


def dropout_key(seed: int, step: int, micro: int) -> tuple[int, int]:
    """The key of the dropout masks of one micro-batch, two 31-bit integers."""
    digest = hashlib.sha256(f"dropout {seed} {step} {micro}".encode()).digest()
    first, second = digest[:4], digest[4:8]
    return int.from_bytes(first, "big") >> 1, int.from_bytes(second, "big") >> 1


def _zeros_like(weight: keras.Variable) -> tf.Variable:
    return tf.Variable(tf.zeros(weight.shape, tf.float32), trainable=False)
