"""The model that makes the most of a machine in a given time."""

import dataclasses
from collections.abc import Callable, Sequence

from albert_tf.planning.ladder import Law, effective_weights
from albert_tf.planning.speed import Timing, Workload, estimated_seconds
from schemas.config import FORWARD_SHARE, ModelConfig, TrainConfig

# What evaluations add to the time of this many steps, as a share of it.
Evaluating = Callable[[int], float]

# Pieces in a vocabulary for little text and for any other. Small encoders on little
# text did worse with more (BabyBERTa, Huebner et al. 2021, and GPT-BERT, 2410.24159,
# have 8,192 for 5 and 10 million words); on 40 million tokens 30,000 pieces already
# win (docs/reproducing.md).
LITTLE_TEXT = 15_000_000
SMALL_VOCABULARY, LARGE_VOCABULARY = 8000, 30_000

# Losses up to this many times the lowest count as equal: the law is no more precise.
AS_GOOD = 1.01

# The most often that a run read its text that was measured and still got better
# (docs/reproducing.md, The ladder).
MOST_EPOCHS = 31

# An evaluation takes this many times as long as its examples: it asks about words too.
WITH_WORDS = 1.25

# With fewer steps than these, no model leaves the plateau of frequencies.
LEAST_STEPS = 500


def evaluating_share(steps: int, train: TrainConfig, *, held_out: int) -> float:
    """What evaluations add to the time of this many steps, as a share of it.

    >>> train = TrainConfig(batch_size=32)
    >>> round(evaluating_share(2500, train, held_out=1_000_000), 4)
    0.0625
    >>> evaluating_share(2500, train, held_out=0)
    0.0

    Args:
        steps: Of the run.
        train: Its other settings.
        held_out: Examples there are to evaluate on.
    """
    of_steps = dataclasses.replace(train, steps=steps, warmup_steps=None).resolved()
    examples = min(of_steps.eval_examples, held_out)
    trained = of_steps.eval_every * of_steps.batch_size
    return WITH_WORDS * FORWARD_SHARE * examples / trained


def suited_vocabulary(tokens: int) -> int:
    """About how many pieces suit a text.

    >>> suited_vocabulary(10_000_000), suited_vocabulary(40_000_000)
    (8000, 30000)

    Args:
        tokens: In the text, once.
    """
    return SMALL_VOCABULARY if tokens <= LITTLE_TEXT else LARGE_VOCABULARY


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model that could be trained in a budget.

    Attributes:
        config: The architecture.
        step_seconds: What an optimizer step takes.
        steps: That fit the budget.
        tokens: Tokens that it would be trained on.
        loss_share: Expected held-out loss, as a share of that of counting neighbours.
        margin: Of the expectation, as a share of it.
        is_outside: Whether no run like it was measured.
    """

    config: ModelConfig
    step_seconds: float
    steps: int
    tokens: int
    loss_share: float
    margin: float
    is_outside: bool


@dataclasses.dataclass(frozen=True)
class Outlook:
    """What all models that a budget could be spent on have in common.

    Attributes:
        workload: Of a step.
        evaluating: What evaluations add.
        law: Of losses.
    """

    workload: Workload
    evaluating: Evaluating
    law: Law

    def candidate(
        self, config: ModelConfig, *, step_seconds: float, seconds: float
    ) -> Candidate:
        """What a model would be after this many seconds of training.

        Args:
            config: The architecture.
            step_seconds: What an optimizer step takes.
            seconds: For steps and evaluations.
        """
        share = self.evaluating(max(1, int(seconds / step_seconds)))
        steps = max(1, int(seconds / (step_seconds * (1 + share))))
        tokens = steps * self.workload.batch_size * self.workload.length
        weights = effective_weights(config)
        return Candidate(
            config=config,
            step_seconds=step_seconds,
            steps=steps,
            tokens=tokens,
            loss_share=self.law.terms.share(weights=weights, tokens=tokens),
            margin=self.law.margin,
            is_outside=self.law.is_outside(weights=weights, tokens=tokens),
        )

    def candidates(
        self,
        configs: Sequence[ModelConfig],
        timings: list[Timing],
        *,
        seconds: float,
    ) -> list[Candidate]:
        """What each of some models would be, in their order.

        Args:
            configs: The architectures.
            timings: Of some shapes on this machine.
            seconds: For steps and evaluations.
        """
        return [
            self.candidate(
                config,
                step_seconds=estimated_seconds(timings, config, self.workload),
                seconds=seconds,
            )
            for config in configs
        ]

    def slower(
        self, found: Sequence[Candidate], times: float, *, seconds: float
    ) -> list[Candidate]:
        """What candidates would be if their steps took this many times as long.

        Args:
            found: The candidates.
            times: How many times as long as expected, as measured for one of them.
            seconds: For steps and evaluations.
        """
        return [
            self.candidate(
                each.config, step_seconds=times * each.step_seconds, seconds=seconds
            )
            for each in found
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
