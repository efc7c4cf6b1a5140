"""An optimizer step on JAX, in two compiled pieces: accumulate, then apply.

Each device, of all hosts, computes its own micro-batches and adds up their gradients in
its row of an array that is divided among the devices. `apply` adds up the rows: apart
from what the loss adds up, devices exchange nothing else in a step.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from albert_tf.model.compiling import Program, jitted, on_all_devices, shardings, with_weights
from albert_tf.model.encoder import DropoutSeeds
from albert_tf.model.pretrainer import Batch, Model
from albert_tf.training.optimizers import Scales
from albert_tf.training.steps import Array, Counts, Memory, TrainingSteps, added_up

Tensor = Any

# Rounds of micro-batches that are handed to the devices before the first is done: none
# is idle, and a signal is still noticed between two of them.
AHEAD = 2


class JaxSteps(TrainingSteps):
    """`TrainingSteps` over all devices of JAX, those of other hosts too.

    Weights and optimizer state stay on the devices from step to step. Keras' variables
    have them until the next step takes their memory, and again once they are settled.
    """

    def __init__(self, model: Model, **settings: Any) -> None:
        super().__init__(model, **settings)
        self.num_devices = jax.local_device_count()
        everywhere, divided = shardings()
        self._divided = divided
        mesh, same, rows = divided.mesh, everywhere.spec, divided.spec
        self.optimizer_state = self._optimizer.zeros(
            model.weights_by_path,
            lambda weight: keras.Variable(
                jnp.zeros(weight.shape, device=everywhere), trainable=False
            ),
        )
        on_all_devices(model.weights_by_path)
        self._together = jax.jit(jnp.stack, out_shardings=everywhere)
        self._totals: dict[str, Tensor] = {}
        # Weights and optimizer state; None where the variables have them.
        self._newest: list[dict[str, Tensor]] | None = None
        shapes = {
            path: (mesh.size, *weight.shape) for path, weight in model.weights_by_path.items()
        }
        # All at once: one by one they take longer than the update of a small model.
        self._zeros = jax.jit(
            lambda: {path: jnp.zeros(shape) for path, shape in shapes.items()},
            out_shardings=self._divided,
        )
        self._accumulate = jitted(
            jax.shard_map(
                self._add_gradients,
                mesh=mesh,
                in_specs=(rows, same, rows, rows, same),
                out_specs=(rows, rows),
                check_vma=False,  # else gradients of weights are added up here
            ),
            donate_argnums=0,
        )
        self._apply = jitted(
            self._updated,
            in_shardings=(everywhere, everywhere, self._divided, everywhere),
            out_shardings=(everywhere, everywhere, everywhere, self._divided),
            donate_argnums=(0, 1, 2),
        )
        self.discard()

    def _accumulated(self, batch: Batch, keys: Array, counts: Counts) -> Tensor:
        """See `TrainingSteps._accumulated`."""
        if len(self.accumulated) >= AHEAD:
            jax.block_until_ready(self.accumulated[-AHEAD])
        self._totals, sums = self._accumulate(*self._given(batch, keys, counts))
        return sums

    def _given(self, batch: Batch, keys: Array, counts: Counts) -> tuple[Any, ...]:
        """What `accumulate` is called with."""
        # Arrays `[N, ...]`, a row for each device here, as parts of those of all.
        rows: Any = (batch, keys.astype(np.uint32))
        if self._divided.is_fully_addressable:
            rows = jax.device_put(rows, self._divided)
        else:
            place = jax.make_array_from_process_local_data
            rows = jax.tree.map(functools.partial(place, self._divided), rows)
        numbers = {name: np.float32(count) for name, count in counts.items()}
        return (self._totals, self._state()[0], *rows, numbers)

    def sums(self, accumulated: Sequence[Tensor] | None = None) -> Array:
        """See `TrainingSteps.sums`."""
        found = self.accumulated if accumulated is None else list(accumulated)
        if found and not self._divided.is_fully_addressable:
            return added_up(np.asarray(self._together(found)))
        return added_up(jax.device_get(found))

    def programs(self, parts: Sequence[Batch]) -> list[Program]:
        """See `TrainingSteps.programs`."""
        keys = np.zeros((self.num_devices, 2))
        lowered = [
            self._accumulate.lower(*self._given(part, keys, self.loss.counts(part)))
            for part in parts
        ]
        lowered.append(self._apply.lower(*self._state(), self._totals, self._scales(0.0, step=0)))
        return [one.compile for one in lowered]

    def _compile_update(self) -> None:
        """See `TrainingSteps._compile_update`."""
        for program in self.programs([]):
            program()

    def apply(self, learning_rate: float, *, step: int) -> Tensor:
        """See `TrainingSteps.apply`."""
        scales = self._scales(learning_rate, step=step)
        norm, *newest, totals = self._apply(*self._state(), self._totals, scales)
        self._newest, self._totals = newest, totals
        super().discard()
        return norm

    def settle(self) -> None:
        """See `TrainingSteps.settle`."""
        weights, state = self._state()
        for path, weight in self.model.weights_by_path.items():
            weight.assign(weights[path])
        for path, variable in self.optimizer_state.items():
            variable.assign(state[path])
        self._newest = None

    def discard(self) -> None:
        """See `TrainingSteps.discard`."""
        super().discard()
        self._totals = self._zeros()

    def device(self) -> str:
        """See `TrainingSteps.device`."""
        return "" if jax.default_backend() == "cpu" else str(jax.local_devices()[0].device_kind)

    def memory(self) -> list[Memory]:
        """See `TrainingSteps.memory`."""
        return [device.memory_stats() for device in jax.local_devices()]

    def _scales(self, learning_rate: float, *, step: int) -> Scales:
        """The scales of a step as numbers that are not compiled in."""
        scales = self._optimizer.scales(learning_rate, step=step)
        return Scales(*map(np.float32, scales))

    def _state(self) -> list[dict[str, Tensor]]:
        """Weights and optimizer state, as the last step left them."""
        if self._newest is None:
            variables = (self.model.weights_by_path, self.optimizer_state)
            self._newest = list(map(on_all_devices, variables))
        return self._newest

    def _add_gradients(
        self,
        totals: dict[str, Tensor],
        values: dict[str, Tensor],
        batch: Batch,
        keys: Tensor,
        counts: dict[str, Tensor],
    ) -> tuple[dict[str, Tensor], Tensor]:
        """What `accumulate` compiles, as one device sees it: its row of everything."""
        batch = {name: rows[0] for name, rows in batch.items()}

        def loss(values: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
            with with_weights(self.model, values):
                return self.loss.of_micro_batch(
                    self.model, batch, **counts, seeds=DropoutSeeds(keys[0])
                )

        gradients, sums = jax.grad(loss, has_aux=True)(values)
        added = {path: total + gradients[path] for path, total in totals.items()}
        return added, sums[None]

    def _updated(
        self,
        weights: dict[str, Tensor],
        state: dict[str, Tensor],
        totals: dict[str, Tensor],
        scales: Scales,
    ) -> tuple[Tensor, ...]:
        """What `apply` compiles; the gradients of the next step begin at zero."""
        norm, *newest = self._optimizer.step(
            weights,
            {path: jnp.sum(total, axis=0) for path, total in totals.items()},
            state,
            scales=scales,
        )
        return norm, *newest, jax.tree.map(jnp.zeros_like, totals)
