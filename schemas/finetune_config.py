"""The settings of fine-tuning: type, default, help and rule of each in one place."""

import dataclasses
from typing import Literal

from schemas.config import (
    Precision,
    TrainConfig,
    check_bounds,
    check_micro_batch,
    filled_in,
    option,
)

ClassWeights = Literal["none", "balanced"]

# The learning rate by the width of a model: the first whose width is not above it.
RATES = ((768, 3e-5), (256, 1e-4), (0, 3e-4))

# Training sets with fewer rows are gone through more often.
FEW_ROWS, EPOCHS, EPOCHS_OF_FEW = 5000, 3, 10

# Evaluations in a run, at least one an epoch; none is nearer to the next than so many
# steps, unless an epoch is shorter.
EVALUATIONS, LEAST_EVAL_STEPS = 10, 50

# Of a micro-batch.
MAX_TOKENS = 8192


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuneConfig:
    """How a trained encoder learns a task."""

    max_seq_length: int | None = option(
        None,
        "Tokens in a sequence, special ones included; longer texts are cut  [default: "
        "the task's, at most what the model was trained on]",
        minimum=8,
        maximum=4096,
    )
    batch_size: int = option(32, "Examples in an optimizer step.", minimum=1)
    micro_batch_size: int | None = option(
        None,
        "Examples computed at a time; the last of a step may be fewer  [default: the "
        "whole batch, if it is at most 8,192 tokens]",
        minimum=1,
    )
    epochs: int | None = option(
        None,
        "How often all examples are trained on  [default: 3, or 10 if there are fewer "
        "than 5,000]",
        minimum=1,
        maximum=1000,
    )
    learning_rate: float | None = option(
        None,
        "Peak learning rate  [default: 3e-5 for models of width 768 or more, 1e-4 from "
        "256, 3e-4 below]",
        minimum=0.0,
    )
    warmup_share: float = option(
        0.1,
        "Share of the steps with a linear warm-up; a linear decay to 0 follows.",
        minimum=0.0,
        maximum=1.0,
    )
    optimizer: Literal["lamb", "adamw"] = option("adamw", "AdamW, or LAMB.")
    bias_correction: bool = option(
        True,
        "Correct the bias of the moments, without which training on few examples often "
        "fails.",
    )
    weight_decay: float = option(
        0.01,
        "Weight decay of everything but biases and layer normalization.",
        minimum=0.0,
    )
    clip_norm: float = option(
        1.0, "Norm that the gradients are clipped to; 0 for none.", minimum=0.0
    )
    dropout: float = option(
        0.0, "Dropout inside the encoder.", minimum=0.0, maximum=0.9
    )
    head_dropout: float = option(
        0.1,
        "Dropout before the head; answers have none.",
        minimum=0.0,
        maximum=0.9,
    )
    class_weights: ClassWeights = option(
        "none",
        "Weight of each label in the loss: all alike, or rare ones the more "
        "(rows / (labels x rows of the label)).",
    )
    label_smoothing: float = option(
        0.0,
        "Share of each target that is divided among all labels.",
        minimum=0.0,
        maximum=0.9,
    )
    eval_every: int | None = option(
        None,
        "Steps between evaluations, each with a checkpoint  [default: a tenth of the "
        "steps, at most an epoch]",
        minimum=1,
    )
    patience: int | None = option(
        None,
        "Stop after so many evaluations in a row that were not the best so far  "
        "[default: never]",
        minimum=1,
    )
    doc_stride: int = option(
        128, "Tokens between windows of a passage that is too long.", minimum=1
    )
    max_query_tokens: int = option(
        64, "Maximum number of tokens of a question about a passage.", minimum=1
    )
    max_answer_tokens: int = option(
        30, "Maximum number of tokens of an answer.", minimum=1
    )
    precision: Precision = option(
        "float32", "Number format of the computation; weights stay float32."
    )
    seed: int = option(
        12345, "Weights of the head, order of the examples, dropout.", minimum=0
    )

    def __post_init__(self) -> None:
        check_bounds(self)
        check_micro_batch(self.micro_batch_size, batch_size=self.batch_size)

    def resolved(
        self, *, rows: int, width: int, max_seq_length: int, options: int = 1
    ) -> "ResolvedFineTuneConfig":
        """The same settings with every derived default filled in.

        Args:
            rows: To train on.
            width: Of the model, H.
            max_seq_length: Of the task and the model.
            options: Sequences in an example, of `choose` its options.

        >>> config = FineTuneConfig().resolved(rows=640, width=256, max_seq_length=128)
        >>> config.epochs, config.learning_rate, config.eval_every
        (10, 0.0001, 20)
        """
        epochs = self.epochs or (EPOCHS if rows >= FEW_ROWS else EPOCHS_OF_FEW)
        rate = next(rate for least, rate in RATES if width >= least)
        steps_of_epoch = -(-rows // self.batch_size)
        every = max(LEAST_EVAL_STEPS, epochs * steps_of_epoch // EVALUATIONS)
        length = self.max_seq_length or max_seq_length
        fitting = max(1, min(self.batch_size, MAX_TOKENS // (length * options)))
        micro = -(-self.batch_size // -(-self.batch_size // fitting))
        return ResolvedFineTuneConfig(
            **vars(self)
            | {
                "max_seq_length": length,
                "micro_batch_size": self.micro_batch_size or micro,
                "epochs": epochs,
                "learning_rate": rate
                if self.learning_rate is None
                else self.learning_rate,
                "eval_every": self.eval_every or min(every, steps_of_epoch),
            }
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResolvedFineTuneConfig(FineTuneConfig):
    """`FineTuneConfig` with every default filled in."""

    max_seq_length: int = filled_in(FineTuneConfig, "max_seq_length")
    micro_batch_size: int = filled_in(FineTuneConfig, "micro_batch_size")
    epochs: int = filled_in(FineTuneConfig, "epochs")
    learning_rate: float = filled_in(FineTuneConfig, "learning_rate")
    eval_every: int = filled_in(FineTuneConfig, "eval_every")

    def training(self, *, rows: int) -> TrainConfig:
        """The settings of the optimizer and its schedule.

        >>> config = FineTuneConfig().resolved(rows=640, width=256, max_seq_length=128)
        >>> config.training(rows=640).steps, config.training(rows=640).warmup_steps
        (200, 20)
        """
        steps = self.epochs * -(-rows // self.batch_size)
        shared = (
            "batch_size",
            "learning_rate",
            "optimizer",
            "bias_correction",
            "weight_decay",
            "clip_norm",
            "precision",
            "seed",
        )
        return TrainConfig(
            **{name: getattr(self, name) for name in shared},
            steps=steps,
            schedule="linear",
            warmup_steps=round(self.warmup_share * steps),
            scale_lr_to_batch=False,
        )
