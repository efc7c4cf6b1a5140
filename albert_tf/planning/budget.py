"""A budget of time: the model and the steps that make the most of a machine.

The loss that a run reaches follows from a law of weights and tokens that was fitted to
runs of a ladder of shapes (`benchmarks/ladder.py`). How long a step takes is at first
guessed from the rate of matrix products; then steps of the model that promises most are
timed, which corrects the guess for all, until the one that promises most is one that was
timed, or a tenth of the budget is over.
"""

import dataclasses
import math
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from albert_tf.model.sampled_softmax import num_candidates
from albert_tf.planning.cost import accelerators_shown, num_blocks, training_flops
from schemas.architecture import ModelConfig
from schemas.config import TrainConfig
from schemas.errors import SettingError
from schemas.layout import EVAL, TRAIN
from schemas.manifest import DatasetManifest
from schemas.phases import Sample, mean_length, samples_of
from schemas.readable import duration, rounded

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

# The widest embeddings that learned more than narrower ones (docs/reproducing.md).
WIDEST_EMBEDDINGS = 256

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

# The most often that a run may read its text before what that is worth depends on the
# text: the loss was up to a tenth higher than expected (docs/reproducing.md).
MOST_EPOCHS = 8

# An evaluation takes this many times as long as its examples: it asks about words too.
WITH_WORDS = 1.25

# With fewer steps than these, no model was measured but the smallest.
LEAST_STEPS = 500

# Beginning a run and ending it: counting, reading, the last evaluation and saving. A run
# compiles so many times as long as its first step.
OVERHEAD_SECONDS, RUN_COMPILES = 10.0, 3.6

# The share of a budget that choosing takes at most, and if less than this is left to train
# in then, that is worth a remark.
CHOOSING_SHARE, MUCH_LEFT = 0.1, 1 / 3

# The share of a budget in which steps of one model are timed, and the least and most
# seconds of that.
TIMED_SHARE, TIMED_SECONDS = 0.005, (3.0, 30.0)

# More operations a second than a core of a CPU trains with, and than an accelerator.
CORE_FLOPS, ACCELERATOR_FLOPS = 1e12, 2.5e15

# A machine of which no step was timed is taken to be so many times slower than guessed.
DOUBT = 2.0

# The batch of an accelerator, as a multiple of the recipe's: a small one leaves it idle.
ACCELERATOR_BATCH = 8

# Layers times their width in the largest model that the recipe's rate was measured with.
MEASURED_WITH = 6 * 256


def ladder_fields(layers: int, hidden: int) -> dict[str, Any]:
    """The architecture of a rung; sharing weights would save memory, but no time.

    Without sharing wider embeddings are better in the paper too (Table 3).

    Args:
        hidden: H, a multiple of 64.
    """
    return {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "embedding_size": min(hidden, WIDEST_EMBEDDINGS),
        "num_attention_heads": max(4, hidden // 64),
        "intermediate_size": 4 * hidden,
        "sharing": "none",
    }


def ladder_model(layers: int, hidden: int, **fields: Any) -> ModelConfig:
    """The model of a rung, or one in which some fields are others.

    >>> ladder_model(6, 384).num_attention_heads
    6
    """
    return ModelConfig(**ladder_fields(layers, hidden) | fields)


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
    a=1179.4904228268852,
    b=450208.3738862542,
    c=0.016,
    most_weights=4_718_592.0,
    most_tokens=38_975_778,
    least_weights=393_216.0,
    least_tokens=155_394,
    least_text=318_177,
)


class Work(NamedTuple):
    """What a data set makes of the models that are trained on it.

    Attributes:
        length: Tokens in an average example.
        held_out: Examples.
        text: Tokens of the training text, once.
    """

    length: int
    held_out: int
    text: int


def work_of(manifest: DatasetManifest, train: TrainConfig) -> Work:
    """That of a data set, on average over the steps of a training."""
    text = manifest.splits[TRAIN]["copies"][0]["tokens"]
    length = tokens_of_example(manifest, train)
    return Work(length, held_out=manifest.num_examples(EVAL), text=text)


def tokens_of_example(manifest: DatasetManifest, train: TrainConfig, *, done: float = 1.0) -> int:
    """Tokens in an example, on average over a training, or over the share that is done."""
    tokens, left = 0.0, done
    for sample in samples_of(manifest.config, train):
        tokens += min(left, sample.share) * sample_length(sample, manifest)
        left = max(0.0, left - sample.share)
    return round(tokens / done)


def sample_length(sample: Sample, manifest: DatasetManifest) -> int:
    """Tokens in an average example of some steps."""
    length = manifest.statistics["mean_length"]
    return mean_length(sample.config, data=manifest.config, length=length)


def sample_flops(
    model: ModelConfig, train: TrainConfig, manifest: DatasetManifest
) -> list[tuple[float, int]]:
    """The parts of a training: the share of its steps, and the operations for a sequence."""
    candidates = num_candidates(model, train, manifest.config)
    parts = []
    for sample in samples_of(manifest.config, train):
        length = sample_length(sample, manifest)
        flops = training_flops(
            model,
            length=length,
            predictions=max(1, round(sample.config.masked_lm_prob * length)),
            candidates=candidates if sample.is_sampled else None,
        )
        parts.append((sample.share, flops))
    return parts


def step_flops(model: ModelConfig, train: TrainConfig, manifest: DatasetManifest) -> float:
    """Operations of a step, on average over a training."""
    parts = sample_flops(model, train, manifest)
    return train.batch_size * math.fsum(share * flops for share, flops in parts)


class Timed(NamedTuple):
    """The seconds of a step of a model, and those in which its first one was compiled."""

    step: float
    compiling: float


class Machine(Protocol):
    """What trains.

    Attributes:
        rate: Of matrix products, in FLOP/s.
        is_accelerator: Whether it is a GPU or TPU, which is idle in small steps.
    """

    rate: float
    is_accelerator: bool

    def now(self) -> float:
        """Seconds of a clock."""

    def timed(self, config: ModelConfig, train: TrainConfig, *, seconds: float) -> Timed:
        """Steps of a model, repeated for this long once they are compiled."""


def guessed(machine: Machine, config: ModelConfig, flops: float) -> Timed:
    """What a step of so many operations takes on a machine where none was timed.

    What is not products grows with the width H, and products with its square: they make
    H / (H + W) of their rate. On an accelerator each layer is many small calls besides, and
    no step is shorter than these. W and the calls are those of measured steps (base and 2
    layers of 128 on a GPU, 2 of 128 on CPUs).
    """
    hidden, layers = config.hidden_size, num_blocks(config)
    beside = 1000 if machine.is_accelerator else 300
    calls = 0.003 + 0.001 * layers if machine.is_accelerator else 0.0
    return Timed(calls + flops / machine.rate * (hidden + beside) / hidden, 2.0 + layers)


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
    return WITH_WORDS * train.forward_share * examples / trained


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model that could be trained in a budget.

    Attributes:
        steps: That fit the budget.
        tokens: Tokens that it would be trained on.
        loss_share: Expected held-out loss, as a share of that of counting neighbours.
        is_outside: Whether it is far larger than any run that was measured.
        is_fitted: Whether it is like the runs that were measured.
        is_timed: Whether steps were timed, of it or another model. Of guessed ones several
            times as many may fit.
    """

    config: ModelConfig
    step_seconds: float
    steps: int
    tokens: int
    loss_share: float
    is_outside: bool
    is_fitted: bool = True
    is_timed: bool = True

    @property
    def is_guess(self) -> bool:
        """Whether the loss is not known well enough to be told but as about so much."""
        return not (self.is_fitted and self.is_timed)

    @property
    def expected_share(self) -> float:
        """The share that is told: no run ends worse than it begins."""
        return min(UNTRAINED, self.loss_share)

    @property
    def interval(self) -> tuple[float, float]:
        """Where nine of ten such runs end, as shares of the expected loss."""
        return UNLIKE_FITTED if self.is_guess else FITTED


def candidate(
    config: ModelConfig,
    train: TrainConfig,
    work: Work,
    *,
    step_seconds: float,
    seconds: float,
    is_timed: bool = True,
    law: Law = LAW,
) -> Candidate:
    """A model after this many seconds of steps and evaluations."""
    # With their evaluations, if they are so many about.
    share = evaluating_share(max(1, int(seconds / step_seconds)), train, held_out=work.held_out)
    steps = max(1, int(seconds / (step_seconds * (1 + share))))
    tokens = steps * train.batch_size * work.length
    weights = effective_weights(config)
    return Candidate(
        config=config,
        step_seconds=step_seconds,
        steps=steps,
        tokens=tokens,
        loss_share=law.share(weights=weights, tokens=tokens, text=work.text),
        is_outside=law.is_outside(weights=weights, tokens=tokens),
        is_fitted=law.is_fitted(weights=weights, tokens=tokens, text=work.text),
        is_timed=is_timed,
    )


def best(found: Sequence[Candidate], may_be_outside: bool = False) -> int:
    """The place of the candidate to take.

    The one expected to reach the lowest loss. Candidates that would do fewer than
    `LEAST_STEPS`, and those unlike any measured run, count only if there are no others.

    Args:
        may_be_outside: Whether those unlike any count too: no run of the ladder was on an
            accelerator, which does in minutes more than the longest of them.
    """
    places = list(range(len(found)))
    for is_fit in (
        [each.steps >= LEAST_STEPS for each in found],
        [may_be_outside or not each.is_outside for each in found],
    ):
        places = [place for place in places if is_fit[place]] or places
    return min(places, key=lambda place: found[place].loss_share)


@dataclasses.dataclass(frozen=True)
class Choice:
    """What suits a budget best, and what else was considered.

    Attributes:
        candidates: Every model considered, the smallest first.
        place: The place of the one chosen among them.
        train: The settings with its batch, rate and steps.
        text: Tokens of the training text, once.
        seconds: The whole budget.
        counting: The held-out loss of counting both neighbours, in nats; None where
            nothing is held out.
        characters: Different ones that the vocabulary has.
    """

    candidates: list[Candidate]
    place: int
    train: TrainConfig
    text: int
    seconds: float = 0.0
    counting: float | None = None
    characters: int = 0

    @property
    def chosen(self) -> Candidate:
        """The model chosen."""
        return self.candidates[self.place]


def rate_share(config: ModelConfig) -> float:
    """The share of the recipe's rate for a model, all of it up to those it was measured with.

    A step of Muon changes what a kernel computes by the root of its width (Yang et al.,
    2310.17813), and what L layers change adds up.

    >>> [round(rate_share(ladder_model(*shape)), 2) for shape in ((6, 256), (8, 512), (12, 768))]
    [1.0, 0.61, 0.41]
    """
    return min(1.0, math.sqrt(MEASURED_WITH / (config.num_hidden_layers * config.hidden_size)))


def check_is_enough(seconds: float) -> None:
    """Refuse a budget that is over before the first step."""
    # Two layers, the fewest of the ladder, compile for four seconds.
    needed = OVERHEAD_SECONDS + RUN_COMPILES * 4.0
    if seconds < needed:
        raise SettingError(
            "--budget is too short: starting and finishing alone take about "
            f"{needed:.0f} s; give more time."
        )


def choose(
    models: Sequence[ModelConfig],
    train: TrainConfig,
    manifest: DatasetManifest,
    machine: Machine,
    *,
    latest: float,
    until: float,
    say: Callable[[str], None],
) -> Choice:
    """The model and the steps that make the most of a machine.

    Args:
        models: To choose from, the smallest first.
        latest: When choosing is to be over, on the clock of the machine.
        until: When the run is to be over.
    """
    work = work_of(manifest, train)
    flops = [step_flops(model, train, manifest) for model in models]
    guesses = [guessed(machine, *each) for each in zip(models, flops, strict=True)]
    lasting = float(np.clip(TIMED_SHARE * (until - machine.now()), *TIMED_SECONDS))
    timed: dict[int, Timed] = {}
    while True:
        # What was guessed, times what the guesses of those timed were wrong by.
        places = sorted(timed)
        wrong = [timed[place].step / guesses[place].step for place in places] or [DOUBT]
        at = [flops[place] for place in places] or flops[:1]
        steps = np.interp(np.log(flops), np.log(at), wrong) * [each.step for each in guesses]
        slower = max((timed[p].compiling / guesses[p].compiling for p in places), default=1.0)
        left = until - machine.now() - OVERHEAD_SECONDS
        found = [
            candidate(
                model,
                train,
                work,
                step_seconds=float(step),
                seconds=left - RUN_COMPILES * slower * guess.compiling,
                is_timed=bool(timed),
            )
            for model, step, guess in zip(models, steps, guesses, strict=True)
        ]
        place = best(found, may_be_outside=machine.is_accelerator)
        if place in timed:
            break
        if machine.now() + slower * guesses[place].compiling + lasting > latest:
            # Of those timed; else the smallest, if there is hardly time for steps at all.
            places = places or [place if found[place].steps >= LEAST_STEPS else 0]
            place = places[best([found[p] for p in places], machine.is_accelerator)]
            break
        say(
            f"Timing steps of {models[place].shape} for {duration(lasting)}, once they are "
            "compiled ..."
        )
        timed[place] = machine.timed(models[place], train, seconds=lasting)
    chosen = found[place]
    if not timed:
        say("Too little time to time steps; they are counted again during the run.")
    at_least = timed[place].step if timed else guesses[place].step
    if at_least > until - machine.now():
        raise SettingError(
            f"--budget is too short: a step, which takes {rounded(at_least)} s, does not fit; "
            "give more time, or a smaller --model."
        )
    train = dataclasses.replace(train, steps=chosen.steps)
    return Choice(found, place, train=train, text=work.text)


def cost_ahead(parts: Sequence[tuple[float, int]], *, done: float = 0.0) -> float:
    """What the steps to come cost on average, in steps like the next one.

    Args:
        parts: Of the training, see `sample_flops`.
        done: The share of its steps that is done.

    >>> round(cost_ahead([(0.8, 100), (0.2, 150)], done=0.6), 9)
    1.25
    """
    ahead = []
    for share, flops in parts:
        if share > done:
            ahead.append((share - done, flops))
        done = max(0.0, done - share)
    if not ahead:
        return 1.0
    (_, following), *_ = ahead
    whole = math.fsum(share * flops for share, flops in ahead)
    return whole / following / math.fsum(share for share, _ in ahead)


def cost_at(parts: Sequence[tuple[float, int]], *, done: float) -> int:
    """The operations for a sequence in the next step; arguments as of `cost_ahead`."""
    for share, flops in parts:
        if done < share:
            return flops
        done -= share
    return parts[-1][1]


def least_seconds(model: ModelConfig, train: TrainConfig, manifest: DatasetManifest) -> float:
    """Less than a run takes on this machine, as far as that can be told before it is timed."""
    rate = max(accelerators_shown() * ACCELERATOR_FLOPS, (os.cpu_count() or 1) * CORE_FLOPS)
    return train.steps * step_flops(model, train, manifest) / rate
