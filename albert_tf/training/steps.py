"""An optimizer step: what it asks of a backend, what both backends share.

A step adds up the gradients of its micro-batches, each already divided by the counts of
the whole step, then clips and applies the sum once. So the size of a micro-batch
changes only memory and rounding. The same holds for the number of devices: each
computes whole micro-batches, and dropout depends on the place of a micro-batch in the
step, not on the device.
"""

import abc
import functools
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from albert_tf.hosts import ONE_HOST, Hosts
from albert_tf.model.compiling import Program, Stop
from albert_tf.model.pretrainer import Batch, Model, micro_batch_loss
from albert_tf.planning.cost import derive_micro_batch_size, memory_limit
from albert_tf.training.optimizers import Optimizer
from schemas.config import ResolvedDataConfig, TrainConfig

Tensor = Any
Array = np.ndarray[Any, Any]
Counts = dict[str, float]
Memory = Mapping[str, int] | None


class TrainingLoss(NamedTuple):
    """What steps differentiate.

    Attributes:
        of_micro_batch: Of a model, a micro-batch `[M, ...]` and, by name, `seeds` of
            dropout and the counts of the whole step: its share of the loss of the step,
            and what adds up over the shares, as one tensor.
        counts: Of a whole step `[K, M, ...]`: what its losses are divided by.
    """

    of_micro_batch: Callable[..., tuple[Tensor, Tensor]]
    counts: Callable[[Batch], Counts]


def pretraining_counts(batch: Batch) -> Counts:
    """What the losses of a whole step `[K, M, ...]` are divided by.

    These are arguments of `micro_batch_loss`.
    """
    has_label = batch["sentence_order_labels"] >= 0
    return {
        "mlm_count": float(np.sum(batch["masked_lm_weights"])),
        "sentence_count": float(np.sum(has_label)),
        "piece_count": float(np.sum(batch["input_mask"])),
    }


PRETRAINING = TrainingLoss(micro_batch_loss, pretraining_counts)


class TrainingSteps(abc.ABC):
    """A model and the state of its optimizer.

    Args:
        model: With the weights that training starts from; updated in place by `apply`.
        seed: With step and micro-batch the key of dropout.

    Attributes:
        optimizer_state: What the optimizer keeps for every weight, by path.
        num_devices: N, micro-batches that are computed at the same time.
        accumulated: What the loss adds up, in each call of `accumulate` of a step, of each
            device `[N, C]`; perhaps still to be computed.
    """

    optimizer_state: dict[str, Any]
    num_devices: int

    def __init__(
        self, model: Model, *, optimizer: Optimizer, seed: int, loss: TrainingLoss = PRETRAINING
    ) -> None:
        self.model, self.loss = model, loss
        self._optimizer, self._seed = optimizer, seed
        self.accumulated: list[Tensor] = []

    def accumulate(self, batch: Batch, *, counts: Counts, step: int, micro: int) -> None:
        """Add up the gradients of N micro-batches, and what the loss adds up.

        Args:
            batch: N micro-batches, arrays `[N, M, ...]`.
            counts: Of the whole step, from `TrainingLoss.counts`.
            step: With `micro` and the seed the key of dropout.
            micro: Which micro-batch of the step the first one is.
        """
        keys = dropout_keys(self._seed, step, micro, number=self.num_devices)
        self.accumulated.append(self._accumulated(batch, keys, counts))

    @abc.abstractmethod
    def _accumulated(self, batch: Batch, keys: Array, counts: Counts) -> Tensor:
        """Add up gradients; what the loss adds up, `[N, C]`.

        Args:
            keys: Of dropout, `[N, 2]`.
        """

    @abc.abstractmethod
    def sums(self, accumulated: Sequence[Tensor] | None = None) -> Array:
        """What the loss adds up over a whole step, which is waited for.

        Args:
            accumulated: In that step; None for the one that has not been applied.

        Returns:
            In pretraining the `Sums` as `[6]`, or `[7]` with that of the
            layer-consistency loss where it is trained.
        """

    def compile(self, parts: Sequence[Batch], *, should_stop: Stop) -> float | None:
        """Compile for a step of such parts `[N, M, ...]`, changing nothing.

        One part is timed, of middle size, so that training begins at once; all others
        are taken to last as long for each token. What `programs` gives may be compiled
        before, many at the same time.

        Args:
            should_stop: Asked before whatever takes as long as a micro-batch.

        Returns:
            About the seconds that all of them take once compiled; None if stopped.
        """
        self._compile_update()
        # The places that are computed, padding included where it is.
        computed = "row_places" if "row_places" in parts[0] else "input_ids"
        sizes = [int(part[computed].size) for part in parts]
        place = sizes.index(sorted(sizes)[len(parts) // 2])
        middle = parts[place]
        counts = self.loss.counts(middle)
        seconds = 0.0
        for _ in range(2):  # the first call compiles
            if should_stop():
                return None
            start = time.perf_counter()
            self.accumulate(middle, counts=counts, step=0, micro=0)
            self.sums()
            seconds = time.perf_counter() - start
            self.discard()
        return seconds * sum(sizes) / sizes[place]

    def programs(self, parts: Sequence[Batch]) -> list[Program]:
        """What compiles all that steps of such parts `[N, M, ...]` need, if it takes long."""
        return []

    @abc.abstractmethod
    def _compile_update(self) -> None:
        """Compile what `apply` computes."""

    @abc.abstractmethod
    def apply(self, learning_rate: float, *, step: int) -> Tensor:
        """Clip and apply what was accumulated; the norm of the gradients before.

        The norm is a scalar, perhaps still to be computed.

        Args:
            step: From 0, which bias correction depends on.
        """

    @abc.abstractmethod
    def settle(self) -> None:
        """Give the model and `optimizer_state` what the steps have made of them."""

    def discard(self) -> None:
        """Forget what was accumulated."""
        self.accumulated = []

    @abc.abstractmethod
    def device(self) -> str:
        """What each of the N devices is called, such as NVIDIA H200; empty for a CPU."""

    @abc.abstractmethod
    def memory(self) -> list[Memory]:
        """What each of the N devices says of its memory, as `memory_limit` takes it."""


class StepDone(NamedTuple):
    """What a step gives; its norm is that of the gradients before clipping."""

    sums: Array
    learning_rate: float
    norm: float


def micro_batch_size(
    steps: TrainingSteps,
    train: TrainConfig,
    examples: Sequence[ResolvedDataConfig],
    *,
    hosts: Hosts = ONE_HOST,
) -> int:
    """The micro-batch asked for, or what the memory of all devices allows."""
    if train.micro_batch_size:
        return train.micro_batch_size
    limit = memory_limit(steps.memory())
    free_bytes = hosts.gather(np.array([limit.free_bytes])).min() * hosts.number
    return derive_micro_batch_size(
        train,
        steps.model.config,
        length=max(each.max_seq_length for each in examples),
        predictions=max(each.max_predictions_per_seq for each in examples),
        limit=limit._replace(free_bytes=int(free_bytes)),
        devices=steps.num_devices * hosts.number,
    )


def added_up(sums: Sequence[Array] | Array) -> Array:
    """What each device found of each round, `[rounds, N, C]`, added up in that order.

    In float64, so that a long step loses nothing.
    """
    rounds = [np.asarray(of_round, np.float64).sum(axis=0) for of_round in sums]
    total: Array = functools.reduce(np.add, rounds, np.zeros(()))
    return total


def dropout_keys(seed: int, step: int, micro: int, *, number: int) -> Array:
    """The dropout keys `[number, 2]` of consecutive micro-batches, of 31-bit integers.

    >>> dropout_keys(1, 2, 3, number=2)[1:] == dropout_keys(1, 2, 4, number=1)
    array([[ True,  True]])
    """
    digests = [
        hashlib.sha256(f"dropout {seed} {step} {one}".encode()).digest()
        for one in range(micro, micro + number)
    ]
    halves = [(digest[:4], digest[4:8]) for digest in digests]
    return np.array([[int.from_bytes(half, "big") >> 1 for half in pair] for pair in halves])
