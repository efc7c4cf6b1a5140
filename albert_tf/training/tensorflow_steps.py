"""An optimizer step on TensorFlow, in two compiled pieces: accumulate, then apply.

Every device has a copy of the weights and adds up its own gradients. These meet once in
a step, on the first device, which has the optimizer: ALBERT has few weights for the
time that its steps take.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.client import device_lib

from albert_tf.model.compiling import Stop, of_any_size, with_weights
from albert_tf.model.encoder import DropoutSeeds
from albert_tf.model.pretrainer import Batch, Model
from albert_tf.training.optimizers import Role, Rule, Scales, State, Update
from albert_tf.training.steps import Array, Counts, Memory, TrainingSteps, added_up


class Replica(NamedTuple):
    """A device with its copy of the weights and the gradients it has added up.

    What is left of the step before is overwritten by the first micro-batch of a step.
    """

    device: str
    weights: dict[str, tf.Variable]
    totals: dict[str, tf.Variable]


class TensorFlowSteps(TrainingSteps):
    """`TrainingSteps` over all visible GPUs, or the CPU where there is none.

    Args:
        xla: Compile loss and gradients as a whole with XLA.
    """

    def __init__(self, model: Model, *, xla: bool = False, **settings: Any) -> None:
        super().__init__(model, **settings)
        fused = fused_tables(self._optimizer.update)
        self._optimizer = dataclasses.replace(self._optimizer, update=fused)
        self.optimizer_state = self._optimizer.zeros(model.weights_by_path, _zeros_like)
        weights = [(path, w.value) for path, w in model.weights_by_path.items()]
        self._replicas: list[Replica] = []
        for device in local_devices():
            with tf.device(device):
                # The first has the weights themselves.
                own = {p: tf.Variable(w) if self._replicas else w for p, w in weights}
                totals = {path: _zeros_like(weight) for path, weight in own.items()}
            self._replicas.append(Replica(device, own, totals))
        self.num_devices = len(self._replicas)
        self._gradients = tf.function(
            self._gradients_of_micro_batch, autograph=False, jit_compile=xla or None
        )
        # Of the first micro-batch of a step, and of the others.
        self._accumulate = {
            is_first: tf.function(
                functools.partial(self._add_gradients, is_first=is_first), autograph=False
            )
            for is_first in (True, False)
        }
        self._apply = tf.function(self._update_weights, autograph=False)
        # The kinds of batches for which there is a graph, first in a step or not.
        self._traced: set[tuple[Any, ...]] = set()

    def _accumulated(self, batch: Batch, keys: Array, counts: Counts) -> tf.Tensor:
        """See `TrainingSteps._accumulated`."""
        is_first = not self.accumulated
        self._trace(batch, is_first=is_first)
        return self._accumulate[is_first](
            batch,
            tf.constant(keys, tf.int64),
            {name: tf.constant(count, tf.float32) for name, count in counts.items()},
        )

    def sums(self, accumulated: Sequence[tf.Tensor] | None = None) -> Array:
        """See `TrainingSteps.sums`."""
        found = self.accumulated if accumulated is None else accumulated
        return added_up(tf.stack(found).numpy())

    def compile(self, parts: Sequence[Batch], *, should_stop: Stop) -> float | None:
        """See `TrainingSteps.compile`; makes both graphs before one is timed."""
        for is_first in (True, False)[: len(parts)]:
            if should_stop():
                return None
            self._trace(parts[0], is_first=is_first)
        return super().compile(parts, should_stop=should_stop)

    def _compile_update(self) -> None:
        """See `TrainingSteps._compile_update`."""
        scalar = tf.TensorSpec([], tf.float32)
        self._apply.get_concrete_function(Scales(scalar, scalar, scalar))

    def _trace(self, batch: Batch, *, is_first: bool) -> None:
        """Make the graph for batches of such sequences, whatever their sizes.

        The sequences of a run may become longer.
        """
        kind = (is_first, *batch["input_ids"].shape, *batch)
        if kind in self._traced:
            return
        self._accumulate[is_first].get_concrete_function(
            of_any_size(batch),
            tf.TensorSpec([self.num_devices, 2], tf.int64),
            dict.fromkeys(self.loss.counts(batch), tf.TensorSpec([], tf.float32)),
        )
        self._traced.add(kind)

    def apply(self, learning_rate: float, *, step: int) -> float:
        """See `TrainingSteps.apply`."""
        scales = self._optimizer.scales(learning_rate, step=step)
        tensors = Scales(*(tf.constant(value, tf.float32) for value in scales))
        norm = float(self._apply(tensors))
        self.discard()
        return norm

    def settle(self) -> None:
        """See `TrainingSteps.settle`: each step changes the variables themselves."""

    def device(self) -> str:
        """See `TrainingSteps.device`."""
        for gpu in tf.config.list_physical_devices("GPU"):
            details = tf.config.experimental.get_device_details(gpu)
            return str(details.get("device_name", "GPU"))
        return ""

    def memory(self) -> list[Memory]:
        """See `TrainingSteps.memory`."""
        if not tf.config.list_logical_devices("GPU"):
            return [None] * self.num_devices
        return [
            {
                "bytes_limit": device.memory_limit,
                "bytes_in_use": tf.config.experimental.get_memory_info(
                    device.name.removeprefix("/device:")
                )["current"],
            }
            for device in device_lib.list_local_devices()
            if device.device_type == "GPU"
        ]

    def _add_gradients(self, batch: Batch, keys: Any, counts: Any, *, is_first: bool) -> tf.Tensor:
        """What `accumulate` compiles: one graph, whose devices run side by side."""
        sums = []
        for number, replica in enumerate(self._replicas):
            with tf.device(replica.device):
                part_sums, gradients = self._gradients(
                    {p: tf.convert_to_tensor(w) for p, w in replica.weights.items()},
                    {name: values[number] for name, values in batch.items()},
                    keys[number],
                    counts,
                )
                for path, total in replica.totals.items():
                    add = total.assign if is_first else total.assign_add
                    add(gradients[path])
                sums.append(part_sums)
        return tf.stack(sums)

    def _gradients_of_micro_batch(
        self, values: dict[str, tf.Tensor], batch: Batch, key: Any, counts: Any
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """The sums and gradients of one micro-batch."""
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(list(values.values()))
            with with_weights(self.model, values):
                loss, sums = self.loss.of_micro_batch(
                    self.model, batch, **counts, seeds=DropoutSeeds(key)
                )
        gradients = tape.gradient(loss, values)
        return sums, {p: tf.convert_to_tensor(g) for p, g in gradients.items()}

    def _update_weights(self, scales: Scales) -> tf.Tensor:
        """What `apply` compiles."""
        first, *others = self._replicas
        with tf.device(first.device):
            norm, weights, state = self._optimizer.step(
                {p: tf.convert_to_tensor(w) for p, w in first.weights.items()},
                {p: tf.add_n([r.totals[p] for r in self._replicas]) for p in first.totals},
                {path: v.value() for path, v in self.optimizer_state.items()},
                scales=scales,
            )
            for path, weight in first.weights.items():
                weight.assign(weights[path])
            for path, variable in self.optimizer_state.items():
                variable.assign(state[path])
        for replica in others:
            with tf.device(replica.device):
                for path, weight in replica.weights.items():
                    weight.assign(weights[path])
        return norm


# Numbers of a table from which an update in one pass is worth compiling.
LEAST_FUSED = 1 << 20


def fused_tables(update: Update) -> Update:
    """The same with what is elementwise of a large table in one pass, compiled by XLA.

    A table of 30,000 tokens takes longer than all else of a small model. LAMB's norms are no
    such pass.
    """
    compiled = tf.function(update, jit_compile=True, autograph=False)

    def fused(weight: Any, gradient: Any, moments: State, rule: Rule) -> tuple[Any, State]:
        is_large = rule.role is Role.TABLE and weight.shape.num_elements() >= LEAST_FUSED
        next_weight: tuple[Any, State] = (
            compiled if is_large and rule.config.optimizer != "lamb" else update
        )(weight, gradient, moments, rule)
        return next_weight

    return fused


def local_devices() -> list[str]:
    """All visible GPUs, or the CPU."""
    devices = tf.config.list_logical_devices("GPU")
    devices = devices or tf.config.list_logical_devices("CPU")
    return [device.name for device in devices]


def _zeros_like(weight: Any) -> tf.Variable:
    return tf.Variable(tf.zeros(weight.shape, tf.float32), trainable=False)
