"""The model that makes the most of a machine in a given time.

How long a step of any shape takes follows from steps of a few that were timed; the loss
that a run reaches follows from a law of weights and tokens that was fitted to runs of a
ladder of shapes (`benchmarks/ladder.py`).
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from albert_tf.planning.cost import num_blocks, training_flops
from schemas.architecture import ModelConfig
from schemas.config import FORWARD_SHARE, TrainConfig

# Layers and their width, from the smallest shape to BERT-base's.
SHAPES = (
    (2, 128),
    (4, 128),
    (4, 192),
    (4, 256),
    (6, 256),
    (6, 384),
    (8, 384),
    (8, 512),
    (12, 512),
    (12, 768),
)

# How much L layers are worth in layers of their own: with shared weights L to this
# power (Prairie et al., 2604.21106, of loops in causal models).
WORTH_OF_SHARED = 0.46

# How the loss falls with weights and with tokens: exponents of causal models (Kaplan
# et al., 2001.08361), because fitting exponents takes many more runs than factors do.
ALPHA, BETA = 0.076, 0.095

# What comes of an expected loss, as shares of it: nine of ten runs lie between. Those
# of the ladder, each expected from the others, reached 0.97 to 1.03 of it.
FITTED, UNLIKE_FITTED = (0.96, 1.04), (0.85, 1.15)

# Counting is done in so much text at most: what stands beside a token hardly changes
# more. With less it is worse, by more than a model is.
COUNTED_TOKENS = 12_000_000

# The loss of the frequencies that a model begins with, as a share of that of counting.
UNTRAINED = 1.1

# Runs up to this many times the largest one measured are still predicted by the law.
BEYOND = 2

# Losses up to this many times the lowest count as equal: the law is no more precise.
AS_GOOD = 1.01

# The most often that a run may read its text before what that is worth depends on the
# text: the loss was up to a tenth higher than expected (docs/reproducing.md).
MOST_EPOCHS = 8

# An evaluation takes this many times as long as its examples: it asks about words too.
WITH_WORDS = 1.25

# With fewer steps than these, no model was measured but the smallest.
LEAST_STEPS = 500


def ladder_model(layers: int, hidden: int, **fields: Any) -> ModelConfig:
    """The architecture of a rung; sharing weights would save memory, but no time.

    Args:
        hidden: H, a multiple of 64.
        **fields: Replace those of the rung.

    >>> ladder_model(6, 384).num_attention_heads
    6
    """
    rung: dict[str, Any] = {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": max(4, hidden // 64),
        "intermediate_size": 4 * hidden,
        "sharing": "none",
    }
    return ModelConfig(**rung | fields)


def effective_weights(config: ModelConfig) -> float:
    """The weights of layers, shared ones counted for what they are worth.

    >>> round(effective_weights(ladder_model(4, 256)))
    3145728
    >>> round(effective_weights(ladder_model(4, 256, sharing="all")))
    1488020
    """
    hidden, inner = config.hidden_size, config.intermediate_size
    layers = num_blocks(config)
    uses = config.num_hidden_layers / config.num_hidden_groups
    shared = layers / uses * uses**WORTH_OF_SHARED
    attention = layers if config.sharing in ("none", "ffn") else shared
    ffn = layers if config.sharing in ("none", "attention") else shared
    return float(4 * hidden * hidden * attention + 2 * hidden * inner * ffn)


class Law(NamedTuple):
    """Share of the loss of counting, by weights, tokens trained on and tokens of text.

    `(a * weights^-(ALPHA / BETA) + b / tokens)^BETA * (text / COUNTED_TOKENS)^c`: the
    fewer the weights, the less further tokens are worth (Kaplan et al., 2001.08361,
    equation 1.5). As a share of the loss of counting both neighbours on the same
    held-out text, the losses of different vocabularies and languages lie on one curve.

    `a` is what too few weights cost, `b` what too few tokens do, `c` what too little
    text costs counting, up to COUNTED_TOKENS; the others are of the runs that it was
    fitted to.
    """

    a: float
    b: float
    c: float
    most_weights: float
    most_tokens: float
    least_weights: float = 0.0
    least_tokens: float = 0.0
    least_text: float = 0.0

    def share(self, *, weights: float, tokens: float, text: float) -> float:
        """The loss of a run, as a share of that of counting both neighbours."""
        cost = self.a * weights ** -(ALPHA / BETA) + self.b / tokens
        counted = min(text, COUNTED_TOKENS) / COUNTED_TOKENS
        return float(cost**BETA * counted**self.c)

    def is_outside(self, *, weights: float, tokens: float) -> bool:
        """Whether a run is so much larger than those fitted that this is a guess."""
        return weights > BEYOND * self.most_weights or tokens > BEYOND * self.most_tokens

    def is_fitted(self, *, weights: float, tokens: float, text: float) -> bool:
        """Whether runs like it were fitted, so that its loss is no guess."""
        return (
            not self.is_outside(weights=weights, tokens=tokens)
            and weights >= self.least_weights
            # A run so short may do half of the steps that are planned for it.
            and tokens >= BEYOND * self.least_tokens
            and text >= self.least_text / BEYOND
            and tokens <= MOST_EPOCHS * text
        )


# What `python -m benchmarks.ladder --fit` prints.
LAW = Law(
    a=1301.7226239113936,
    b=443980.26734449004,
    c=0.016,
    most_weights=4_718_592.0,
    most_tokens=37_400_000,
    least_weights=393_216.0,
    least_tokens=155_394,
    least_text=318_177,
)


class Workload(NamedTuple):
    """What a step consists of: examples, in each so many tokens and predictions."""

    batch_size: int
    length: int
    predictions: int

    def flops(self, config: ModelConfig) -> float:
        """Operations of a step of an architecture."""
        length, predictions = self.length, self.predictions
        of_example = training_flops(config, length=length, predictions=predictions)
        return self.batch_size * of_example


def estimated_seconds(rates: Mapping[int, float], config: ModelConfig, workload: Workload) -> float:
    """The seconds of a step of a shape, from the speed of others on the same machine.

    Wide layers make more of a machine than narrow ones: operations a second follow the
    logarithm of the width between two shapes that were timed, and beyond the outermost
    they stay as they are.

    Args:
        rates: Operations a second by width.

    >>> workload = Workload(batch_size=32, length=104, predictions=15)
    >>> rate = workload.flops(ModelConfig(hidden_size=384)) / 2.0
    >>> rates = {192: 0.5 * rate, 768: 1.5 * rate}
    >>> round(estimated_seconds(rates, ModelConfig(hidden_size=384), workload), 2)
    2.0
    """
    widths = sorted(rates)
    of_widths = [rates[width] for width in widths]
    rate = np.interp(np.log(config.hidden_size), np.log(widths), of_widths)
    return float(workload.flops(config) / rate)


def evaluating_share(steps: int, train: TrainConfig, *, held_out: int) -> float:
    """What evaluations add to the time of this many steps, as a share of it.

    >>> train = TrainConfig(batch_size=32)
    >>> round(evaluating_share(2500, train, held_out=1_000_000), 4)
    0.0625
    >>> evaluating_share(2500, train, held_out=0)
    0.0
    """
    of_steps = dataclasses.replace(train, steps=steps, warmup_steps=None).resolved()
    examples = min(of_steps.eval_examples, held_out)
    trained = of_steps.eval_every * of_steps.batch_size
    return WITH_WORDS * FORWARD_SHARE * examples / trained


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model that could be trained in a budget.

    Attributes:
        steps: That fit the budget.
        tokens: Tokens that it would be trained on.
        loss_share: Expected held-out loss, as a share of that of counting neighbours.
        is_outside: Whether it is far larger than any run that was measured.
        is_fitted: Whether it is like the runs that were measured, so that the loss can
            be told and is no guess.
    """

    config: ModelConfig
    step_seconds: float
    steps: int
    tokens: int
    loss_share: float
    is_outside: bool
    is_fitted: bool = True

    @property
    def expected_share(self) -> float:
        """The share that is told: no run ends worse than it begins."""
        return min(UNTRAINED, self.loss_share)

    @property
    def interval(self) -> tuple[float, float]:
        """Where nine of ten such runs end, as shares of the expected loss."""
        return FITTED if self.is_fitted else UNLIKE_FITTED


@dataclasses.dataclass(frozen=True)
class Outlook:
    """What all models that a budget could be spent on have in common.

    Attributes:
        evaluating: What evaluations add to the time of some steps, as a share of it.
        text: Tokens of the training text, once.
    """

    workload: Workload
    evaluating: Callable[[int], float]
    text: int
    law: Law = LAW

    def candidate(self, config: ModelConfig, *, step_seconds: float, seconds: float) -> Candidate:
        """A model after this many seconds of steps and evaluations."""
        share = self.evaluating(max(1, int(seconds / step_seconds)))
        steps = max(1, int(seconds / (step_seconds * (1 + share))))
        tokens = steps * self.workload.batch_size * self.workload.length
        weights = effective_weights(config)
        return Candidate(
            config=config,
            step_seconds=step_seconds,
            steps=steps,
            tokens=tokens,
            loss_share=self.law.share(weights=weights, tokens=tokens, text=self.text),
            is_outside=self.law.is_outside(weights=weights, tokens=tokens),
            is_fitted=self.law.is_fitted(weights=weights, tokens=tokens, text=self.text),
        )

    def candidates(
        self, configs: Sequence[ModelConfig], step_seconds: Sequence[float], *, seconds: float
    ) -> list[Candidate]:
        """Models after this many seconds, given those of a step of each."""
        return [
            self.candidate(config, step_seconds=of_step, seconds=seconds)
            for config, of_step in zip(configs, step_seconds, strict=True)
        ]


def best(found: Sequence[Candidate]) -> int:
    """The place of the candidate to take.

    The largest of those expected to reach the lowest loss, or one as good: it is the
    one that keeps learning. Candidates that would do fewer than `LEAST_STEPS`, and
    those unlike any measured run, count only if there are no others.

    Args:
        found: The smallest first.
    """
    places = list(range(len(found)))
    for is_fit in (
        [each.steps >= LEAST_STEPS for each in found],
        [not each.is_outside for each in found],
    ):
        places = [place for place in places if is_fit[place]] or places
    least = min(found[place].loss_share for place in places)
    return max(p for p in places if found[p].loss_share <= least * AS_GOOD)
