"""The settings of fine-tuning, and those of the paper for some tasks (Table 14)."""

import dataclasses
from typing import Any, Literal

from schemas.config import (
    OptimizerName,
    Precision,
    TrainConfig,
    check_bounds,
    check_micro_batch,
    option,
    same_as,
)
from schemas.errors import SettingError

# The learning rate by the width of a model: the first whose width is not above it.
RATES = ((768, 3e-5), (512, 1e-4), (256, 3e-4), (0, 1e-3))

# Training sets with fewer rows are gone through more often.
FEW_ROWS, EPOCHS, EPOCHS_OF_FEW = 5000, 3, 10

# The warm-up is the steps divided by this.
WARMUP_PARTS = 10

# Evaluations in a run, at least one per epoch; the least steps between two of them,
# unless an epoch is shorter.
EVALUATIONS, LEAST_EVAL_STEPS = 10, 50

# Of a micro-batch.
MAX_TOKENS = 8192

# Settings that have a meaning only for answers in passages.
OF_ANSWERS = ("doc_stride", "max_query_tokens", "max_answer_tokens")


def _rates_in_words() -> str:
    (widest, rate), *others = RATES
    words = [f"{rate:g} for models of width {widest} or more"]
    words += [f"{rate:g} from {least}" if least else f"{rate:g} below" for least, rate in others]
    return ", ".join(words)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuneConfig:
    """How a trained encoder learns a task."""

    max_seq_length: int | None = option(
        None,
        "Tokens in a sequence, special ones included; longer texts are cut  [default: "
        "128, of choose 512, of answer 384, of a named task its own, up to what the model "
        "was trained on]",
        minimum=8,
        maximum=4096,
    )
    batch_size: int = same_as(TrainConfig, "batch_size", default=32)
    micro_batch_size: int | None = option(
        None,
        "Examples computed at a time; the last micro-batch of a step may have fewer  "
        f"[default: the whole batch, if it is at most {MAX_TOKENS:,} tokens]",
        minimum=1,
    )
    epochs: int | None = option(
        None,
        f"Passes over the training examples  [default: {EPOCHS}, or {EPOCHS_OF_FEW} if "
        f"there are fewer than {FEW_ROWS:,}]",
        minimum=1,
        maximum=1000,
    )
    steps: int | None = option(
        None, "Optimizer steps of the whole schedule, instead of epochs.", minimum=1
    )
    learning_rate: float | None = option(
        None, f"Peak learning rate  [default: {_rates_in_words()}]", minimum=0.0
    )
    warmup_steps: int | None = option(
        None,
        f"Steps of linear warm-up; a linear decay to 0 follows  [default: steps / {WARMUP_PARTS}]",
        minimum=0,
    )
    optimizer: OptimizerName = same_as(TrainConfig, "optimizer", default="adamw")
    bias_correction: bool = same_as(TrainConfig, "bias_correction", default=True)
    weight_decay: float = same_as(TrainConfig, "weight_decay", default=0.01)
    clip_norm: float = same_as(TrainConfig, "clip_norm", default=1.0)
    dropout: float = option(0.0, "Dropout inside the encoder.", minimum=0.0, maximum=0.9)
    head_dropout: float = option(
        0.1, "Dropout before the head; the head for answers has none.", minimum=0.0, maximum=0.9
    )
    class_weights: Literal["none", "balanced"] = option(
        "none",
        "Weight of each label in the loss: all equal, or more for rare ones "
        "(rows / (labels x rows of the label)).",
    )
    label_smoothing: float = option(
        0.0, "Share of each target that is divided among all labels.", minimum=0.0, maximum=0.9
    )
    eval_every: int | None = option(
        None,
        "Steps between evaluations, each with a checkpoint  [default: steps / "
        f"{EVALUATIONS}, at least {LEAST_EVAL_STEPS}, at most an epoch]",
        minimum=1,
    )
    checkpoint_every: int | None = same_as(TrainConfig, "checkpoint_every", default=None)
    patience: int | None = option(
        None,
        "Stop after this many evaluations in a row without a new best  [default: never]",
        minimum=1,
    )
    doc_stride: int = option(
        128, "Tokens between windows of a passage that is too long.", minimum=1
    )
    max_query_tokens: int = option(
        64, "Maximum number of tokens of a question about a passage.", minimum=1
    )
    max_answer_tokens: int = option(30, "Maximum number of tokens of an answer.", minimum=1)
    examples_in_card: bool = option(
        False,
        "Quote the errors that the model is surest of in its card, README.md, with "
        "your text; otherwise they are in eval.json alone.",
        changes_result=False,
    )
    precision: Precision = same_as(TrainConfig, "precision", default="float32")
    seed: int = option(12345, "Seed of the head, the order of the examples and dropout.", minimum=0)

    def __post_init__(self) -> None:
        check_bounds(self)
        check_micro_batch(self.micro_batch_size, batch_size=self.batch_size)
        if self.epochs is not None and self.steps is not None:
            raise SettingError("--epochs and --steps both say how long to train; give one of them.")

    def resolved(
        self, *, rows: int, width: int, max_seq_length: int, options: int = 1
    ) -> "ResolvedFineTuneConfig":
        """The same settings with every derived default filled in.

        Args:
            width: Of the model, H.
            options: Sequences in an example, of `choose` its options.

        >>> config = FineTuneConfig().resolved(rows=640, width=256, max_seq_length=128)
        >>> config.steps, config.warmup_steps, config.learning_rate, config.eval_every
        (200, 20, 0.0003, 20)
        """
        steps_of_epoch = -(-rows // self.batch_size)
        epochs = self.epochs or (EPOCHS if rows >= FEW_ROWS else EPOCHS_OF_FEW)
        steps = self.steps or epochs * steps_of_epoch
        length = self.max_seq_length or max_seq_length
        fitting = max(1, min(self.batch_size, MAX_TOKENS // (length * options)))
        defaults = {
            "max_seq_length": max_seq_length,
            "micro_batch_size": -(-self.batch_size // -(-self.batch_size // fitting)),
            "learning_rate": next(rate for least, rate in RATES if width >= least),
            "warmup_steps": steps // WARMUP_PARTS,
            "eval_every": min(max(LEAST_EVAL_STEPS, steps // EVALUATIONS), steps_of_epoch),
        }
        given = {name: value for name, value in vars(self).items() if value is not None}
        return ResolvedFineTuneConfig(**defaults | given | {"steps": steps, "epochs": None})


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResolvedFineTuneConfig(FineTuneConfig):
    """`FineTuneConfig` with every default filled in, and steps in place of epochs."""

    max_seq_length: int = same_as(FineTuneConfig, "max_seq_length")
    micro_batch_size: int = same_as(FineTuneConfig, "micro_batch_size")
    steps: int = same_as(FineTuneConfig, "steps")
    learning_rate: float = same_as(FineTuneConfig, "learning_rate")
    warmup_steps: int = same_as(FineTuneConfig, "warmup_steps")
    eval_every: int = same_as(FineTuneConfig, "eval_every")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.training()

    def training(self) -> TrainConfig:
        """The settings of the optimizer and its schedule.

        >>> config = FineTuneConfig().resolved(rows=640, width=256, max_seq_length=128)
        >>> config.training().schedule, config.training().bias_correction
        ('linear', True)
        """
        names = {field.name for field in dataclasses.fields(TrainConfig)}
        # max_seq_length means something else in pretraining.
        shared = vars(self).keys() & names - {"max_seq_length"}
        values = {name: getattr(self, name) for name in shared}
        return TrainConfig(**values, schedule="linear", scale_lr_to_batch=False)


def _table_14(
    learning_rate: float, batch_size: int, dropout: float, *, steps: int, warmup: int
) -> dict[str, Any]:
    return {
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "dropout": dropout,
        "steps": steps,
        "warmup_steps": warmup,
        # As published, with decay of 0.01 and dropout of 0.1 before the head.
        "bias_correction": False,
    }


# The settings of fine-tuning in the paper (Table 14), by task; without its lengths.
TASK_RECIPES: dict[str, dict[str, Any]] = {
    "cola": _table_14(1e-5, 16, 0.0, steps=5336, warmup=320),
    "sts-b": _table_14(2e-5, 16, 0.0, steps=3598, warmup=214),
    "sst-2": _table_14(1e-5, 32, 0.0, steps=20_935, warmup=1256),
    "mnli": _table_14(3e-5, 128, 0.0, steps=10_000, warmup=1000),
    "qnli": _table_14(1e-5, 32, 0.0, steps=33_112, warmup=1986),
    "qqp": _table_14(5e-5, 128, 0.1, steps=14_000, warmup=1000),
    "rte": _table_14(3e-5, 32, 0.1, steps=800, warmup=200),
    "mrpc": _table_14(2e-5, 32, 0.0, steps=800, warmup=200),
    "wnli": _table_14(2e-5, 16, 0.1, steps=2000, warmup=250),
    "squad": _table_14(5e-5, 48, 0.0, steps=3649, warmup=365),
    "squad2": _table_14(3e-5, 48, 0.0, steps=8144, warmup=814),
    "race": _table_14(2e-5, 32, 0.1, steps=12_000, warmup=1000),
}
