"""ALBERT with the head of one task, named and shaped as in transformers, and its loss.

`AlbertForSequenceClassification`, `ForMultipleChoice`, `ForQuestionAnswering` and
`ForTokenClassification` of transformers: a dense layer on the pooled output of each
sequence, or on each token. As there, answers and tags need no pooler.
"""

import math
from types import ModuleType
from typing import Any

from keras import ops

from albert_tf.model.encoder import DropoutSeeds, Encoder, dropout
from albert_tf.model.parameters import encoder_config, head_name, needs_pooler, num_outputs
from albert_tf.model.pretrainer import ClassifierHead, Model, places_of
from schemas.architecture import ModelConfig
from schemas.config import Precision
from schemas.task import Kind

Tensor = Any
Batch = dict[str, Tensor]

# What is added to the logit of an option that is not there.
ABSENT = -1e9


class TaskModel(Model):
    """The encoder with the head of a task.

    Args:
        config: The architecture; whether there is a pooler follows from the task.
        labels: Number of its labels, where it has any.
        head_dropout: Dropout of the head's input in training; the head for answers has
            none, as in google-research/albert and transformers.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        kind: Kind,
        labels: int = 0,
        head_dropout: float = 0.0,
        precision: Precision = "float32",
        operations: ModuleType | None = None,
    ) -> None:
        super().__init__(config, precision=precision, operations=operations)
        self.kind = kind
        self.head_dropout = 0.0 if kind == "answer" else head_dropout
        of_encoder = self.likewise | {"config": encoder_config(config, kind)}
        self.encoder = Encoder(**of_encoder)
        self.task_head = None
        if kind != "embed":
            self.task_head = ClassifierHead(
                name="task_head",
                dense=head_name(kind),
                units=num_outputs(kind, labels),
                **self.likewise,
            )
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Create the weights, all zero but the scales of layer normalisation."""
        self.encoder.build()
        if self.task_head is not None:
            self.task_head.build()

    def call(self, batch: Batch, seeds: DropoutSeeds | None = None) -> Tensor:
        """Logits, in float32.

        Args:
            batch: `input_ids`, `input_mask` and `segment_ids`, `[B, S]`, of `choose`
                `[B, O, S]` for O options, of `embed` for O texts or none.

        Returns:
            `[B, L]` for L labels of `classify` and `multilabel`, `[B, 1]` of `regress`,
            `[B, O]` of `choose`, `[B, S, L]` of `tag`, of `answer` `[B, S, 2]`: that it
            begins at a token, that it ends there; of `embed` no logits but vectors of
            length 1, `[B, O, H]`: the mean of a text's tokens (Sentence-BERT,
            1908.10084).
        """
        shape = ops.shape(batch["input_ids"])
        length, first = shape[-1], None
        if needs_pooler(self.kind):
            first = places_of(ops.zeros((math.prod(shape[:-1]), 1), "int32"), length)
        rows = self.encoder(
            *(
                ops.reshape(batch[name], (-1, length))
                for name in ("input_ids", "input_mask", "segment_ids")
            ),
            seeds=seeds,
            places=first,
        )
        if self.task_head is None:
            mask = ops.cast(ops.reshape(batch["input_mask"], (-1, length, 1)), "float32")
            rows = ops.reshape(ops.cast(rows, "float32"), (-1, length, rows.shape[-1]))
            # A row that fills up a batch has no tokens.
            mean = ops.sum(rows * mask, axis=1) / ops.maximum(ops.sum(mask, axis=1), 1.0)
            squares = ops.sum(mean * mean, axis=-1, keepdims=True)
            mean = mean * ops.rsqrt(ops.maximum(squares, 1e-24))
            return ops.reshape(mean, (*shape[:-1], mean.shape[-1]))
        if needs_pooler(self.kind):
            rows = self.encoder.pool(rows)
        logits = self.task_head(dropout(rows, self.head_dropout, seeds))
        logits = ops.cast(logits, "float32")
        if self.kind == "choose":
            return ops.reshape(logits, (-1, shape[1]))
        if needs_pooler(self.kind):
            return logits
        return ops.reshape(logits, (-1, length, logits.shape[-1]))


def task_loss(
    model: TaskModel,
    batch: Batch,
    *,
    weight: Tensor,
    smoothing: float = 0.0,
    seeds: DropoutSeeds | None = None,
) -> tuple[Tensor, Tensor]:
    """A micro-batch's share of the loss of a step; losses and weights, summed, `[2]`.

    A loss is a sum over rows (of `tag` over words) divided by the sum of their weights
    in the whole step, so that the size of a micro-batch makes no difference.

    Args:
        batch: With `targets`, see `losses_of`, and `weights` `[B]`, of `tag` `[B, S]`; of
            `embed` with `losses` `[B]` and their `gradients` `[B, O, H]` by the vectors.
        weight: Of the whole step.
        smoothing: The share of a target that is divided among all labels (Szegedy et
            al., 1512.00567); scores and answers have none.
    """
    outputs, weights = model(batch, seeds=seeds), batch["weights"]
    if model.kind == "embed":
        sums = [ops.sum(batch["losses"] * weights), ops.sum(weights)]
        return ops.sum(outputs * batch["gradients"]), ops.stack(sums)
    losses = losses_of(model, outputs, batch, smoothing=smoothing)
    total = ops.sum(losses * weights)
    return total / ops.maximum(weight, 1e-9), ops.stack([total, ops.sum(weights)])


def losses_of(model: TaskModel, logits: Tensor, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
    """The loss of each row `[B]`, of `tag` of each token `[B, S]`, in float32.

    As in transformers, except that a question whose answer is outside the window has
    the target 0, 0.

    Args:
        batch: With `targets`: `[B]` (`classify`, `choose`, `regress`), `[B, L]`
            (`multilabel`), `[B, 2]` (`answer`) or `[B, S]` (`tag`).
    """
    targets = batch["targets"]
    if model.kind == "regress":
        return ops.square(logits[:, 0] - targets)
    if model.kind == "multilabel":
        targets = targets * (1.0 - smoothing) + smoothing / 2
        # Losses of independent labels, without overflow.
        rest = ops.log1p(ops.exp(-ops.abs(logits)))
        losses = ops.maximum(logits, 0.0) - logits * targets + rest
        return ops.mean(losses, axis=-1)
    if model.kind == "answer":
        starts, ends = logits[..., 0], logits[..., 1]
        start_losses = _cross_entropy(starts, targets[:, 0])
        return (start_losses + _cross_entropy(ends, targets[:, 1])) / 2
    present = batch.get("option_mask")
    if present is not None:
        logits = logits + (1.0 - ops.cast(present, "float32")) * ABSENT
    return _cross_entropy(logits, targets, smoothing=smoothing, present=present)


def _cross_entropy(
    logits: Tensor, targets: Tensor, *, smoothing: float = 0.0, present: Tensor | None = None
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
