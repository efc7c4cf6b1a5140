"""The settings of vocab, make-data and pretrain: type, default, help and rule, once.

Everything that decides what comes out is a field here, and nothing else is: number of
workers, runner and verbosity belong to the command line. Flags, `--help`, `docs/cli.md`
and `config.json` are made from the fields.
"""

import dataclasses
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from schemas.errors import SettingError
from schemas.example import Feature, RecordLayout
from schemas.layout import DOCUMENTS, TRAIN, copy_directory

Config = TypeVar("Config")

# Every number in a setting is less than this, so that 64 bits can hold it.
MAX_NUMBER = 2**63


def option(
    default: Any,
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    changes_result: bool = True,
) -> Any:
    """A field with its default, its help text and its bounds (both inclusive).

    Args:
        changes_result: False for what may differ when a run is continued.
    """
    metadata = {
        "help": help,
        "minimum": minimum,
        "maximum": maximum,
        "changes_result": changes_result,
    }
    return dataclasses.field(default=default, metadata=metadata)


def same_as(config_class: type, field_name: str, *, default: Any = dataclasses.MISSING) -> Any:
    """A field that another config has too, with its own default or required."""
    (field,) = (f for f in dataclasses.fields(config_class) if f.name == field_name)
    return dataclasses.field(default=default, metadata=field.metadata)


def deciding(config: Any) -> dict[str, Any]:
    """The settings of a config that decide the result, by name."""
    return {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.metadata["changes_result"]
    }


def flag_name(field_name: str) -> str:
    """The flag of a field.

    >>> flag_name("max_seq_length")
    '--max-seq-length'
    """
    return "--" + field_name.replace("_", "-")


def plain_type(annotation: Any) -> Any:
    """The type of a field without its `| None`.

    >>> plain_type(int | None)
    <class 'int'>
    """
    if isinstance(annotation, types.UnionType):
        (annotation,) = (t for t in annotation.__args__ if t is not type(None))
    return annotation


def check_bounds(config: Any, *, named: Callable[[str], str] = flag_name) -> None:
    """Refuse a value outside the bounds or choices of its field.

    Args:
        named: What a message calls a field: its flag, where it has one.
    """
    for field in dataclasses.fields(config):
        value, metadata = getattr(config, field.name), field.metadata
        if value is None:
            continue
        minimum, maximum = metadata["minimum"], metadata["maximum"]
        choices = typing.get_args(plain_type(field.type))
        if choices and value not in choices:
            rule = f"one of {', '.join(choices)}"
        elif minimum is not None and not value >= minimum:
            rule = f"at least {minimum}"
        elif maximum is not None and not value <= maximum:
            rule = f"at most {maximum}"
        elif isinstance(value, int | float) and not abs(value) < MAX_NUMBER:
            rule = f"less than {MAX_NUMBER}"
        else:
            continue
        raise SettingError(f"{named(field.name)} must be {rule}, not {value!r:.60}.")


def check_micro_batch(micro_batch_size: int | None, *, batch_size: int) -> None:
    """Refuse micro-batches that are larger than a batch."""
    if micro_batch_size is not None and micro_batch_size > batch_size:
        raise SettingError(
            f"--micro-batch-size must be at most --batch-size {batch_size}, not {micro_batch_size}."
        )


def config_from_dict(config_class: type[Config], values: dict[str, Any]) -> Config:
    """A config from a JSON object whose keys are the names of its fields."""
    check_names_and_types(config_class, values)
    return config_class(**values)


def check_names_and_types(config_class: type[Any], values: dict[str, Any]) -> None:
    """Refuse a JSON object whose keys or values are not those of a config."""
    fields = {f.name: f for f in dataclasses.fields(config_class)}
    for name, value in values.items():
        if name not in fields:
            raise SettingError(f"{name!r} is not a setting; the settings are {', '.join(fields)}.")
        check_type(name, value, fields[name].type)


def check_type(name: str, value: Any, annotation: Any) -> None:
    """Refuse a JSON value of another type than its field has."""
    expected = plain_type(annotation)
    if value is None and expected is not annotation:
        return
    if typing.get_args(expected):
        expected = str
    allowed = (int, float) if expected is float else expected
    if not isinstance(value, allowed) or (isinstance(value, bool) and expected is not bool):
        raise SettingError(f"{name} must be of type {expected.__name__}, not {value!r:.60}.")


# The smallest vocabulary: the special pieces and an alphabet.
LEAST_PIECES = 32

# Pieces that suit texts of at least so many tokens (docs/reproducing.md).
_SUITED = (
    *((5_500_000, 30_000), (1_200_000, 16_000), (400_000, 8000)),
    *((60_000, 2000), (0, 1000)),
)

# Pieces for each character that a text has, at least.
_PIECES_OF_A_CHARACTER = 1.25


def suited_vocab_size(tokens: int, *, characters: int) -> int:
    """How many pieces give a text of this many tokens the best model in a given time.

    Args:
        characters: Different ones in the text, which all have room.

    >>> suited_vocab_size(500_000, characters=90)
    8000
    >>> suited_vocab_size(500_000, characters=8000)
    10000
    """
    suited = next(size for least, size in _SUITED if tokens >= least)
    return max(suited, round(_PIECES_OF_A_CHARACTER * characters))


@dataclasses.dataclass(frozen=True, kw_only=True)
class VocabConfig:
    """How text becomes a vocabulary."""

    vocab_size: int = option(
        30000,
        "Pieces in the vocabulary, special ones included; auto is what suits the size of the text.",
        minimum=LEAST_PIECES,
    )
    sample_sentences: int = option(
        1_000_000, "Sentences to train on, a random sample of the text.", minimum=1
    )
    cased: bool = option(False, "Keep capital letters.")
    keep_accents: bool | None = option(
        None,
        "Keep accents and other combining marks  [default: where more than 1 % of the "
        "letters would become others without them]",
    )
    seed: int = option(12345, "Seed of the sample of sentences.", minimum=0)

    def __post_init__(self) -> None:
        check_bounds(self)


SentenceTask = Literal["sop", "nsp", "none"]
MaskedWords = Literal["alike", "by-rarity"]
Examples = Literal["stored", "on-the-fly"]
NearDuplicates = Literal["keep", "hold-out", "drop"]
Precision = Literal["float32", "bfloat16"]
OptimizerName = Literal["lamb", "adamw", "muon"]
Initializer = Literal["range", "width", "positional-heads"]

# As much text as a shard has by default.
SHARD_BYTES = 32 << 20

# What evaluations may add to the time of training, and how many examples one may have.
EVALUATION_SHARE = 0.05
MIN_EVAL_EXAMPLES, MAX_EVAL_EXAMPLES = 200, 10_000

# Models that nothing has trained guess alike, so a few examples show as much as all.
FIRST_EXAMPLES = 200

# The forward pass takes about a third of the time of a whole step; over the whole vocabulary
# half that of a step among a sample of it (0.4 to 0.6, most in small models).
FORWARD_SHARE, FORWARD_SHARE_OF_SAMPLED = 1 / 3, 1 / 2

# Settings that count tokens for first weights, which a run that starts from the weights
# of another has no use for.
OF_FIRST_WEIGHTS = ("unigram_bias", "pmi_embeddings")

# Held-out words that bits per character are measured on: known to about 2 % then.
EVALUATED_WORDS = 2000


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataConfig:
    """How a document becomes training examples."""

    max_seq_length: int = option(
        512, "Tokens in an example, [CLS] and both [SEP] included.", minimum=8, maximum=4096
    )
    max_predictions_per_seq: int | None = option(
        None,
        "Maximum number of tokens to predict in an example  "
        "[default: masked-lm-prob x max-seq-length]",
        minimum=1,
    )
    masked_lm_prob: float = option(
        0.15, "Share of the tokens to predict.", minimum=0.0, maximum=0.9
    )
    kept_share: float = option(
        0.1,
        "Share of the tokens to predict that stay as they are; a tenth becomes other "
        "tokens, the rest [MASK].",
        minimum=0.0,
        maximum=0.9,
    )
    masked_words: MaskedWords = option(
        "alike",
        "Which words to predict: all alike, or rare ones more often, by the logarithm of "
        "their frequency.",
    )
    max_ngram: int = option(
        3, "Maximum number of whole words masked together.", minimum=1, maximum=10
    )
    short_seq_prob: float = option(
        0.1, "Share of sequences made shorter on purpose.", minimum=0.0, maximum=1.0
    )
    examples: Examples = option(
        "stored",
        "Store copies of the text as masked examples, for any program; or store the "
        "documents once, and have training make a new copy in each epoch.",
    )
    dupe_factor: int = option(
        10, "Stored copies of the text, each masked differently.", minimum=1, maximum=100
    )
    sentence_task: SentenceTask = option(
        "sop", "The second task: sentence order, next sentence, or none."
    )
    eval_fraction: float = option(
        0.005, "Share of the documents held out.", minimum=0.0, maximum=0.9
    )
    near_duplicates: NearDuplicates = option(
        "hold-out",
        "Documents that nearly equal others: keep all; leave out of training those "
        "near to a held-out one, so that held-out figures are true (hold-out); or drop "
        "all but one of each set.",
    )
    max_line_repeats: int | None = option(
        None,
        "Drop lines that occur in more documents than this, such as menus and banners; "
        "a line is a paragraph, or a sentence in text with a sentence a line.",
        minimum=1,
    )
    keep_languages: str | None = option(
        None,
        "Keep only documents in these languages, such as uk,ru; py3langid decides by "
        "their first thousand characters.",
    )
    repair_text: bool = option(
        False, "Mend characters that were decoded wrongly and HTML entities, by ftfy."
    )
    num_shards: int | None = option(
        None,
        f"Files per copy  [default: one per {SHARD_BYTES >> 20} MiB of text, from 8 to 1000]",
        minimum=1,
        maximum=10_000,
    )
    record_layout: RecordLayout = option(
        "compact", "Unpadded records, or all eight features of google-research/albert padded."
    )
    seed: int = option(12345, "Seed of every random draw.", minimum=0)

    def __post_init__(self) -> None:
        check_bounds(self)
        limit = self.max_predictions_per_seq
        if limit is not None and limit > self.max_seq_length - 3:
            raise SettingError(
                f"--max-predictions-per-seq must be at most --max-seq-length - 3 = "
                f"{self.max_seq_length - 3}, not {limit}."
            )

    @property
    def num_special_tokens(self) -> int:
        """Special tokens in an example: [CLS], and a [SEP] after each segment."""
        return 2 if self.sentence_task == "none" else 3

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens of text in an example."""
        return self.max_seq_length - self.num_special_tokens

    @property
    def derived_predictions(self) -> int:
        """Maximum number of tokens to predict in an example, where it is not given."""
        wanted = round(self.masked_lm_prob * self.max_seq_length)
        return min(max(1, wanted), self.max_seq_length - 3)

    def length_of(self, feature: Feature) -> int:
        """The padded length of a feature, its greatest one in the `compact` layout."""
        return 1 if feature.length == 1 else int(getattr(self, feature.length))

    @property
    def stored_copies(self) -> int:
        """Copies of the training split that are counted and, if so asked, stored."""
        return 1 if self.examples == "on-the-fly" else self.dupe_factor

    def has_documents(self, split: str) -> bool:
        """Whether a split holds documents, to make examples from."""
        return split == TRAIN and self.examples == "on-the-fly"

    def folder_of(self, split: str, copy: int) -> str:
        """The folder of the files of a copy; documents are the files of every copy."""
        return DOCUMENTS if self.has_documents(split) else copy_directory(split, copy)

    def resolved(self, *, input_bytes: int) -> "ResolvedDataConfig":
        """The same settings with every derived default filled in.

        Args:
            input_bytes: Bytes of text to read; compressed files count four times.

        >>> config = DataConfig().resolved(input_bytes=1_000_000_000)
        >>> config.max_predictions_per_seq, config.num_shards
        (77, 30)
        """
        predictions = self.derived_predictions
        num_shards = min(1000, max(8, -(-input_bytes // SHARD_BYTES)))
        return ResolvedDataConfig(
            **vars(self)
            | {
                "max_predictions_per_seq": self.max_predictions_per_seq or predictions,
                "num_shards": self.num_shards or num_shards,
            }
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResolvedDataConfig(DataConfig):
    """`DataConfig` with every default filled in, as `make-data` works with it."""

    max_predictions_per_seq: int = same_as(DataConfig, "max_predictions_per_seq")
    num_shards: int = same_as(DataConfig, "num_shards")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How examples become a trained model."""

    batch_size: int = option(4096, "Examples in an optimizer step.", minimum=1)
    micro_batch_size: int | None = option(
        None,
        "Examples computed at a time; the last micro-batch of a step may have fewer  "
        "[default: from the free memory of the GPU, or of the machine if it has none]",
        minimum=1,
    )
    steps: int = option(125_000, "Optimizer steps of the whole schedule.", minimum=1)
    schedule: Literal["linear", "constant-cooldown"] = option(
        "linear",
        "The learning rate after warm-up: linear to 0, as ALBERT was trained, or "
        "constant with a cooldown to 0 at the end. The --steps of a run may still be "
        "changed during its warm-up (linear) or before its cooldown.",
    )
    warmup_steps: int | None = option(
        None, "Steps of linear warm-up  [default: steps / 40, at most --constant-steps]", minimum=0
    )
    constant_steps: int | None = option(
        None,
        "Steps of constant-cooldown after which the rate falls as 1 / sqrt(step), as "
        "it must in long runs  [default: all up to the cooldown]",
        minimum=1,
    )
    cooldown_share: float = option(
        0.2,
        "Share of the steps of constant-cooldown that its cooldown takes, in the form "
        "1 - sqrt; 0 for none.",
        minimum=0.0,
        maximum=0.9,
    )
    learning_rate: float = option(
        0.00176, "Peak learning rate, meant for a batch of 4096.", minimum=0.0
    )
    scale_lr_to_batch: bool = option(
        False, "Multiply the learning rate by sqrt(batch-size / 4096)."
    )
    optimizer: OptimizerName = option(
        "lamb",
        "LAMB, which ALBERT was trained with; AdamW; or Muon for the matrices of "
        "layers and AdamW for the rest.",
    )
    weight_decay: float = option(
        0.01, "Weight decay of everything but biases and layer normalization.", minimum=0.0
    )
    beta1: float = option(
        0.9,
        "Share of the first moment that an optimizer step keeps.",
        minimum=0.0,
        maximum=0.999999,
    )
    beta2: float = option(
        0.999,
        "Share of the second moment that an optimizer step keeps.",
        minimum=0.0,
        maximum=0.999999,
    )
    epsilon: float = option(1e-6, "Added to the square root of the second moment.", minimum=1e-12)
    bias_correction: bool = option(
        False,
        "Correct the bias of the moments, as published for Adam; ALBERT and BERT were "
        "trained without it.",
    )
    clip_norm: float = option(
        1.0, "Norm that the gradients are clipped to; 0 for none.", minimum=0.0
    )
    sampled_softmax: bool = option(
        False,
        "Predict masked tokens among a sample of the vocabulary, where the whole takes most of "
        "the time (models up to 384 wide), up to the last quarter of a constant-cooldown's "
        "cooldown.",
    )
    initializer: Initializer = option(
        "range",
        "First weights: range, with the model's initializer_range as their deviation; "
        "width, with sqrt(2 / (5 H)) for its width H; positional-heads, like width, "
        "with heads that look at neighbouring tokens, which a small budget needs most.",
    )
    unigram_bias: bool = option(
        False,
        "Start the output bias of the masked-LM head at the logarithm of each token's "
        "frequency, counted in up to 50,000 training examples, instead of 0.",
    )
    pmi_embeddings: bool = option(
        False,
        "Start the token embeddings at singular vectors of the pointwise mutual "
        "information of nearby tokens in up to 50,000 training examples, instead of "
        "random ones.",
    )
    precision: Precision = option(
        "float32", "Number format of the computation; weights stay float32."
    )
    recompute: bool = option(
        False,
        "Compute each layer again for its gradients: a third slower, but in a fraction "
        "of the memory; for wide models.",
        changes_result=False,
    )
    xla: bool = option(
        False,
        "Compile the whole step with XLA, as JAX always does, instead of only parts of "
        "it. Slower on a CPU.",
        changes_result=False,
    )
    eval_every: int | None = option(
        None,
        "Steps between evaluations on the held-out split  [default: steps / 25, at least 100]",
        minimum=1,
        changes_result=False,
    )
    eval_examples: int | None = option(
        None,
        "Maximum number of held-out examples to evaluate on  [default: as many as take "
        "5 % of the time, beside a sampled softmax 8 %, at most 10,000]",
        minimum=1,
        changes_result=False,
    )
    checkpoint_every: int | None = option(
        None,
        "Steps between checkpoints  [default: by the clock, after a minute, then every 30 minutes]",
        minimum=1,
        changes_result=False,
    )
    max_seq_length: str | None = option(
        None,
        "Tokens in an example, if examples are made on the fly: a value, or a schedule "
        "such as 128:0.9,512, which is 128 for 0.9 of the steps, then 512  "
        "[default: that of the data]",
    )
    masked_lm_prob: str | None = option(
        None,
        "Share of the tokens to predict, likewise; 0.30..0.15 changes it with every "
        "step  [default: that of the data]",
    )
    kept_share: str | None = option(
        None,
        "Share of the tokens to predict that stay as they are, likewise  [default: that of "
        "the data]",
    )
    masked_words: str | None = option(
        None, "Which words to predict, likewise: alike or by-rarity  [default: that of the data]"
    )
    sentence_task: str | None = option(
        None,
        "The second task of examples made on the fly: sop, nsp or none  "
        "[default: that of the data]",
    )
    seed: int = option(
        12345, "Seed of first weights, order of the examples and dropout.", minimum=0
    )

    def __post_init__(self) -> None:
        check_bounds(self)
        check_micro_batch(self.micro_batch_size, batch_size=self.batch_size)
        if (self.warmup_steps or 0) > self.cooldown_start:
            limit = f"--steps {self.steps}"
            if self.cooldown_start < self.steps:
                limit = f"the {self.cooldown_start} steps before the cooldown"
            raise SettingError(f"--warmup-steps must be at most {limit}, not {self.warmup_steps}.")
        if (self.warmup_steps or 0) > self._falls_after:
            raise SettingError(
                f"--warmup-steps {self.warmup_steps} is more than --constant-steps "
                f"{self.constant_steps}, after which the rate falls; give fewer."
            )

    @property
    def warm_up(self) -> int:
        """The steps of the warm-up, which ends before the rate falls."""
        if self.warmup_steps is not None:
            return self.warmup_steps
        return min(self.steps // 40, self._falls_after)

    @property
    def _falls_after(self) -> int:
        """The steps before the rate falls as 1 / sqrt(step); all if it never does."""
        is_linear = self.schedule == "linear"
        return self.steps if is_linear else self.constant_steps or self.steps

    @property
    def cooldown_start(self) -> int:
        """The steps before the cooldown; all of them where there is none."""
        if self.schedule == "linear":
            return self.steps
        return self.steps - round(self.cooldown_share * self.steps)

    @property
    def sampled_steps(self) -> int:
        """The steps that may have a sampled softmax: all but a quarter of the cooldown."""
        if not self.sampled_softmax or self.schedule == "linear":
            return 0
        return self.steps - round(self.cooldown_share * self.steps / 4)

    @property
    def forward_share(self) -> float:
        """What a held-out example takes, as a share of one of the first steps."""
        return FORWARD_SHARE_OF_SAMPLED if self.sampled_steps else FORWARD_SHARE

    def resolved(self) -> "ResolvedTrainConfig":
        """The same settings with the defaults that follow from the steps filled in.

        >>> config = TrainConfig(steps=7000, batch_size=16).resolved()
        >>> config.warmup_steps, config.eval_every, config.eval_examples
        (175, 280, 672)
        """
        every = self.eval_every or evaluations_every(self.steps)
        share = EVALUATION_SHARE / FORWARD_SHARE
        affordable = int(share * every * self.batch_size)
        examples = min(MAX_EVAL_EXAMPLES, max(MIN_EVAL_EXAMPLES, affordable))
        return ResolvedTrainConfig(
            **vars(self)
            | {
                "warmup_steps": self.warm_up,
                "eval_every": every,
                "eval_examples": self.eval_examples or examples,
            }
        )


def evaluations_every(steps: int) -> int:
    """The steps between evaluations of a run of so many, if none are given."""
    return max(100, steps // 25)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResolvedTrainConfig(TrainConfig):
    """`TrainConfig` with the defaults that follow from the steps filled in."""

    warmup_steps: int = same_as(TrainConfig, "warmup_steps")
    eval_every: int = same_as(TrainConfig, "eval_every")
    eval_examples: int = same_as(TrainConfig, "eval_examples")

    def evaluated_examples(self, *, held_out: int, is_trained: bool) -> int:
        """How many examples an evaluation is on."""
        most = min(self.eval_examples, held_out)
        return most if is_trained else min(FIRST_EXAMPLES, most)
