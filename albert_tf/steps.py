"""An optimizer step: what the loop asks of a backend, and what both backends share.

A step adds up the gradients of its micro-batches, each already divided by the counts of
the whole step, then clips and applies the sum once. So the size of a micro-batch shows
in memory and in rounding only, and so does the number of devices: each computes whole
micro-batches, whose dropout depends on their place in the step and not on the device.
"""

import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import keras
import numpy as np
from keras import ops

from albert_tf.adamw import adamw_update, is_excluded
from albert_tf.dropout import DropoutSeeds
from albert_tf.lamb import lamb_update
from albert_tf.pretrainer import AlbertPretrainer, Batch, micro_batch_loss
from schemas.config import TrainConfig
from schemas.errors import SettingError

Tensor = Any
Array = np.ndarray[Any, Any]
Update = Callable[..., tuple[Tensor, Tensor, Tensor]]
OfModel = Callable[[AlbertPretrainer, Batch], Tensor]
Counts = dict[str, float]

# The global norm gradients are clipped to (optimization.py).
MAX_GRADIENT_NORM = 1.0

UPDATES: dict[str, Update] = {"lamb": lamb_update, "adamw": adamw_update}


class TrainingSteps(Protocol):
    """A model with what training adds to it: the slots of the optimizer.

    Attributes:
        model: Updated in place by `apply`.
        slots: The moments of every weight, by its path and `/m` or `/v`.
        num_devices: N, micro-batches that are computed at the same time.
    """

    model: AlbertPretrainer
    slots: dict[str, Any]
    num_devices: int

    def accumulate(
        self,
        batch: Batch,
        *,
        counts: Counts,
        step: int,
        micro: int,
    ) -> Array:
        """Add the gradients of N micro-batches; the sums of all of them.

        Args:
            batch: N micro-batches, arrays `[N, M, ...]`.
            counts: Of the whole step, from `step_counts`.
            step: With `micro` and the seed the key of dropout.
            micro: Which micro-batch of the step the first one is.
        """

    def compile(self, batch: Batch) -> float:
        """Compile for micro-batches `[N, M, ...]` like these, changing nothing.

        Returns:
            The seconds that N micro-batches take once compiled.
        """

    def apply(self, learning_rate: float) -> float:
        """Clip and apply what was accumulated; the norm before clipping."""

    def discard(self) -> None:
        """Forget what was accumulated."""


def training_steps(model: AlbertPretrainer, config: TrainConfig) -> TrainingSteps:
    """The steps of the backend that Keras runs on, over all local devices.

    Args:
        model: With the weights that training starts from.
        config: The settings.

    Raises:
        SettingError: There are none for that backend.
    """
    if backend() == "jax":
        from albert_tf.jax_steps import JaxSteps

        return JaxSteps(model, optimizer=config.optimizer, seed=config.seed)
    from albert_tf.tensorflow_steps import TensorFlowSteps

    return TensorFlowSteps(
        model, optimizer=config.optimizer, seed=config.seed, xla=config.xla
    )


def compiled(function: OfModel, model: AlbertPretrainer) -> Callable[[Batch], Array]:
    """A function of a model and a batch `[B, ...]`, compiled, as one of the batch.

    It uses the weights as they are at each call.

    Raises:
        SettingError: Nothing can be compiled for the backend that Keras runs on.
    """
    if backend() == "jax":
        from albert_tf import jax_steps

        return jax_steps.compiled(function, model)
    from albert_tf import tensorflow_steps

    return tensorflow_steps.compiled(function, model)


def backend() -> str:
    """The backend that Keras runs on.

    Raises:
        SettingError: Nothing can be trained on it.
    """
    name: str = keras.backend.backend()
    if name not in ("tensorflow", "jax"):
        raise SettingError(f"KERAS_BACKEND must be tensorflow or jax, not {name}.")
    return name


def step_counts(batch: Batch) -> Counts:
    """What the losses of a whole step `[K, M, ...]` are means over.

    They are arguments of `micro_batch_loss`.
    """
    has_label = batch["sentence_order_labels"] >= 0
    return {
        "mlm_count": float(np.sum(batch["masked_lm_weights"])),
        "sentence_count": float(np.sum(has_label)),
        "piece_count": float(np.sum(batch["input_mask"])),
    }


def micro_batch_seconds(steps: TrainingSteps, batch: Batch) -> float:
    """What `TrainingSteps.compile` returns, the first of two calls compiling."""
    counts = step_counts(batch)
    for _ in range(2):
        start = time.perf_counter()
        steps.accumulate(batch, counts=counts, step=0, micro=0)
    seconds = time.perf_counter() - start
    steps.discard()
    return seconds


def loss_of_values(
    model: AlbertPretrainer,
    values: Mapping[str, Tensor],
    batch: Batch,
    *,
    key: Tensor,
    counts: dict[str, Tensor],
) -> tuple[Tensor, Tensor]:
    """`micro_batch_loss` as a function of the weights, which backends differentiate.

    Args:
        model: The architecture.
        values: Of the weights, by path.
        batch: Tensors `[M, ...]`.
        key: Of dropout.
        counts: Of the whole step.
    """
    with with_weights(model, values):
        return micro_batch_loss(model, batch, **counts, seeds=DropoutSeeds(key))


def with_weights(
    model: AlbertPretrainer, values: Mapping[str, Tensor]
) -> keras.StatelessScope:
    """Within it the weights of a model have these values, by path."""
    return keras.StatelessScope(
        state_mapping=[(w, values[path]) for path, w in model.weights_by_path.items()]
    )


def clipped_update(
    update: Update,
    weights: Mapping[str, Tensor],
    gradients: Mapping[str, Tensor],
    slots: Mapping[str, Tensor],
    *,
    learning_rate: Tensor,
) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    """The norm of all gradients, and weights and slots after one clipped update.

    Args:
        update: Of one weight.
        weights: By path.
        gradients: By path.
        slots: By path and `/m` or `/v`.
        learning_rate: Of this step.
    """
    norm = ops.sqrt(sum(ops.sum(g * g) for g in gradients.values()))
    scale = MAX_GRADIENT_NORM / ops.maximum(norm, MAX_GRADIENT_NORM)
    new_weights, new_slots = {}, {}
    for path, weight in weights.items():
        new_weights[path], new_slots[f"{path}/m"], new_slots[f"{path}/v"] = update(
            weight,
            gradients[path] * scale,
            slots[f"{path}/m"],
            slots[f"{path}/v"],
            learning_rate=learning_rate,
            is_excluded=is_excluded(path),
        )
    return norm, new_weights, new_slots


def dropout_keys(seed: int, step: int, micro: int, *, number: int) -> Array:
    """The keys `[number, 2]` of some micro-batches in a row, for dropout."""
    return np.array([dropout_key(seed, step, micro + n) for n in range(number)])


def dropout_key(seed: int, step: int, micro: int) -> tuple[int, int]:
    """The key of the dropout masks of one micro-batch, two 31-bit integers."""
    digest = hashlib.sha256(f"dropout {seed} {step} {micro}".encode()).digest()
    first, second = digest[:4], digest[4:8]
    return int.from_bytes(first, "big") >> 1, int.from_bytes(second, "big") >> 1
