"""A softmax over a sample of the vocabulary, for all but the last steps of a run.

With a large vocabulary most operations of a small model are those of its masked-LM head. So
a step predicts among candidates alone: all that is masked in it, the most frequent tokens,
and a draw of the others. The logit of each is lowered by the logarithm of its chance to be
one, so that the model learns the same distribution over all tokens (Bengio and Senécal 2008;
Jean et al. 2015, 1412.2007). The last quarter of the cooldown and every evaluation are over
the whole vocabulary.

The candidates of a step follow from its examples, its number and the seed. They are those
of all its micro-batches, so that the size of one changes only rounding.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.architecture import ModelConfig
from schemas.config import ResolvedDataConfig, TrainConfig

Batch = dict[str, Any]
Integers = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]

# Tokens that are candidates in every step.
FREQUENT = 512

# Where the head takes most operations: layers up to this width, and no more candidates than
# this share of the vocabulary.
MOST_WIDTH, MOST_CANDIDATES = 384, 0.3


def num_candidates(
    config: ModelConfig, train: TrainConfig, examples: Sequence[ResolvedDataConfig]
) -> int | None:
    """The candidates C of a step; None for the whole vocabulary in all steps.

    Args:
        examples: The settings that the examples of the run have.

    >>> from schemas.config import DataConfig
    >>> data = DataConfig(max_seq_length=128, masked_lm_prob=0.4).resolved(input_bytes=0)
    >>> model = ModelConfig(hidden_size=256, num_attention_heads=4)
    >>> train = TrainConfig(sampled_softmax=True, batch_size=32, schedule="constant-cooldown")
    >>> num_candidates(model, train, [data])
    2144
    """
    if not train.sampled_steps or config.hidden_size > MOST_WIDTH:
        return None
    most = max(one.max_predictions_per_seq for one in examples)
    number = FREQUENT + train.batch_size * most
    return number if number <= MOST_CANDIDATES * config.vocab_size else None


class Candidates(NamedTuple):
    """The tokens that a step predicts among.

    Attributes:
        ids: `[C]`, in ascending order.
        log_chances: The logarithm of the chance that each had to be one, `[C]`.
    """

    ids: Integers
    log_chances: Floats

    def batch(self, batch: Batch) -> Batch:
        """N micro-batches `[N, ...]` that are predicted among these, `[N, C]`.

        Their labels are places among the candidates.
        """
        number, labels = len(batch["masked_lm_ids"]), batch["masked_lm_ids"]
        # Where nothing is masked, any place does.
        places = np.minimum(np.searchsorted(self.ids, labels), len(self.ids) - 1)
        return {
            **batch,
            "masked_lm_ids": places.astype(labels.dtype),
            "candidates": np.tile(self.ids, (number, 1)),
            "log_chances": np.tile(self.log_chances, (number, 1)),
        }


def among_any(batch: Batch, *, number: int) -> Batch:
    """N micro-batches that are predicted among so many tokens, whichever."""
    return Candidates(np.arange(number, dtype=np.int32), np.zeros(number, np.float32)).batch(batch)


class Sampler:
    """Draws the candidates of each step: its labels, the most frequent tokens, and others.

    Args:
        number: C, no fewer than there may be labels and frequent tokens.
        shares: Of each token of the vocabulary, in all labels of the run, `[V]`.

    >>> sampler = Sampler(number=5, shares=np.array([0.5, 0.3, 0.1, 0.05, 0.05]), seed=1)
    >>> found = sampler.draw(np.array([3]), step=0)
    >>> found.ids.tolist(), np.exp(found.log_chances).tolist()
    ([0, 1, 2, 3, 4], [1.0, 1.0, 1.0, 1.0, 1.0])
    """

    def __init__(self, *, number: int, shares: Floats, seed: int) -> None:
        self._number, self._shares, self._seed = number, shares, seed
        self._is_frequent = np.zeros(len(shares), bool)
        self._is_frequent[np.argsort(-shares, kind="stable")[:FREQUENT]] = True

    def draw(self, labels: Integers, *, step: int) -> Candidates:
        """The candidates of a step.

        Args:
            labels: Of all that is masked in it, `[M]`.
        """
        is_candidate = self._is_frequent.copy()
        is_candidate[labels] = True
        others = np.flatnonzero(~is_candidate)
        room = self._number - (len(self._shares) - len(others))
        random = np.random.default_rng((self._seed, step))
        is_candidate[random.choice(others, room, replace=False, shuffle=False)] = True
        ids = np.flatnonzero(is_candidate)
        # Neither masked in the step nor drawn.
        missed = np.exp(-len(labels) * self._shares[ids]) * (1 - room / max(1, len(others)))
        log_chances = np.where(self._is_frequent[ids], 0.0, np.log1p(-missed))
        return Candidates(ids.astype(np.int32), log_chances.astype(np.float32))
