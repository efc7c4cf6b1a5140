"""What a task is trained on: one loss for each kind, in float32.

A loss is a sum over rows (of `tag` over words) divided by the sum of their weights in
the whole step, so that the size of a micro-batch makes no difference. As in
transformers, except that a question whose answer is outside the window has the target
0, 0.
"""

import functools
from typing import Any

import numpy as np
from keras import ops

from albert_tf.model.layers import DropoutSeeds
from albert_tf.model.task_model import Batch, TaskModel
from albert_tf.training.steps import Counts, TrainingLoss

Tensor = Any

# What is added to the logit of an option that is not there.
ABSENT = -1e9


def task_loss(*, label_smoothing: float = 0.0) -> TrainingLoss:
    """The loss of any task.

    Args:
        label_smoothing: The share of a target that is divided among all labels (Szegedy
            et al., 1512.00567); scores and answers have none.
    """
    of_micro_batch = functools.partial(_micro_batch_loss, smoothing=label_smoothing)
    return TrainingLoss(of_micro_batch, _counts)


def _counts(batch: Batch) -> Counts:
    return {"weight": float(np.sum(batch["weights"]))}


def _micro_batch_loss(
    model: TaskModel,
    batch: Batch,
    *,
    weight: Tensor,
    smoothing: float,
    seeds: DropoutSeeds | None = None,
) -> tuple[Tensor, Tensor]:
    """A micro-batch's share of the loss of a step, and its sums `[2]`.

    These are the weighted losses and the weights.
    """
    losses = losses_of(model, model(batch, seeds=seeds), batch, smoothing=smoothing)
    weights = batch["weights"]
    total = ops.sum(losses * weights)
    return total / ops.maximum(weight, 1e-9), ops.stack([total, ops.sum(weights)])


def losses_of(
    model: TaskModel, logits: Tensor, batch: Batch, *, smoothing: float = 0.0
) -> Tensor:
    """The loss of each row `[B]`, of `tag` of each token `[B, S]`.

    Args:
        model: Of the task.
        logits: Of the model on the batch.
        batch: With `targets`: `[B]` (`classify`, `choose`, `regress`), `[B, L]`
            (`multilabel`), `[B, 2]` (`answer`) or `[B, S]` (`tag`).
        smoothing: See `task_loss`.
    """
    targets = batch["targets"]
    if model.kind == "regress":
        return ops.square(logits[:, 0] - targets)
    if model.kind == "multilabel":
        targets = targets * (1.0 - smoothing) + smoothing / 2
        return ops.mean(_binary_losses(logits, targets), axis=-1)
    if model.kind == "answer":
        starts, ends = logits[..., 0], logits[..., 1]
        start_losses = _cross_entropy(starts, targets[:, 0])
        return (start_losses + _cross_entropy(ends, targets[:, 1])) / 2
    present = batch.get("option_mask")
    if present is not None:
        logits = logits + (1.0 - ops.cast(present, "float32")) * ABSENT
    return _cross_entropy(logits, targets, smoothing=smoothing, present=present)


def _cross_entropy(
    logits: Tensor,
    targets: Tensor,
    *,
    smoothing: float = 0.0,
    present: Tensor | None = None,
) -> Tensor:
    """Losses in nats `[...]` of logits `[..., C]`, smoothed over those present."""
    logs = ops.log_softmax(logits)
    wanted = ops.one_hot(targets, logits.shape[-1], dtype="float32")
    if smoothing:
        here = ops.ones_like(wanted) if present is None else present
        here = ops.cast(here, "float32")
        # A row that fills up a batch has no options at all.
        number = ops.maximum(ops.sum(here, axis=-1, keepdims=True), 1.0)
        shares = here / number
        wanted = (1.0 - smoothing) * wanted + smoothing * shares
    return -ops.sum(wanted * logs, axis=-1)


def _binary_losses(logits: Tensor, targets: Tensor) -> Tensor:
    """Losses in nats of independent labels, without overflow."""
    rest = ops.log1p(ops.exp(-ops.abs(logits)))
    return ops.maximum(logits, 0.0) - logits * targets + rest
