"""The seconds that work takes, and the training step that several programs time."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from albert_tf.model.pretrainer import Batch
    from albert_tf.training.steps import TrainingSteps


def seconds(
    work: Callable[[], Any], *, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The time that some work takes, by a clock."""
    start = clock()
    work()
    return clock() - start


def take_step(steps: "TrainingSteps", batch: "Batch") -> None:
    """Loss and gradients of one batch, and the optimizer with a learning rate of 0."""
    # Whoever times something else needs no TensorFlow.
    from albert_tf.training.steps import step_counts

    steps.accumulate(batch, counts=step_counts(batch), step=0, micro=0)
    steps.sums()
    steps.apply(0.0, step=0)
