"""A softmax over a sample of the vocabulary, for all but the last steps of a run.

With a large vocabulary most operations of a small model are those of its masked-LM head. So
a step predicts among candidates alone: the most frequent tokens, a draw of all others, and
for each masked token the token itself. The logit of each is lowered by the logarithm of its
chance to be drawn, so that the model learns the same distribution over all tokens (Bengio
and Senécal 2008; Jean et al. 2015, 1412.2007). What else is masked in the step is no
candidate by that: a word that a text has twice would be taken for one that it has not. The
last quarter of the cooldown and every evaluation are over the whole vocabulary.

The draw of a step follows from its number and the seed, so that neither a stop nor the size
of a micro-batch changes it.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.architecture import ModelConfig
from schemas.config import ResolvedDataConfig, TrainConfig
from schemas.phases import phases_of

Batch = dict[str, Any]
Integers = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]

# The most frequent tokens, which are candidates in every step, and the fewest others drawn.
FREQUENT, LEAST_DRAWN = 512, 256

# Where the head takes most operations: layers up to this width, and no more candidates than
# this share of the vocabulary.
MOST_WIDTH, MOST_CANDIDATES = 384, 0.3


def num_candidates(config: ModelConfig, train: TrainConfig, data: ResolvedDataConfig) -> int | None:
    """The candidates C of a step; None for the whole vocabulary in all steps.

    Args:
        data: The settings of the data set.

    >>> from schemas.config import DataConfig
    >>> data = DataConfig(max_seq_length=128, masked_lm_prob=0.4).resolved(input_bytes=0)
    >>> model = ModelConfig(hidden_size=256, num_attention_heads=4)
    >>> train = TrainConfig(sampled_softmax=True, batch_size=32, schedule="constant-cooldown")
    >>> num_candidates(model, train, data)
    2400
    """
    if not train.sampled_steps or config.hidden_size > MOST_WIDTH:
        return None
    most = max(phase.config.max_predictions_per_seq for phase in phases_of(data, train))
    number = FREQUENT + LEAST_DRAWN + train.batch_size * most
    return number if number <= MOST_CANDIDATES * config.vocab_size else None


class Candidates(NamedTuple):
    """The tokens that a step has logits of.

    Attributes:
        candidates: Their ids `[C]`, in ascending order.
        log_chances: The logarithm of the chance of each to be drawn, `[C]`.
        is_drawn: Whether each is predicted among; others only where they are the label.
    """

    candidates: Integers
    log_chances: Floats
    is_drawn: npt.NDArray[np.bool_]

    def batch(self, batch: Batch) -> Batch:
        """N micro-batches `[N, ...]` that are predicted among these, `[N, C]`.

        Their labels are places among the candidates.
        """
        number, labels = len(batch["masked_lm_ids"]), batch["masked_lm_ids"]
        # Where nothing is masked, any place does.
        last = len(self.candidates) - 1
        places = np.minimum(np.searchsorted(self.candidates, labels), last)
        return {
            **batch,
            "masked_lm_ids": places.astype(labels.dtype),
            **{name: np.tile(each, (number, 1)) for name, each in self._asdict().items()},
        }


def among_any(batch: Batch, *, number: int) -> Batch:
    """N micro-batches that are predicted among so many tokens, whichever."""
    every = Candidates(
        np.arange(number, dtype=np.int32), np.zeros(number, np.float32), np.ones(number, bool)
    )
    return every.batch(batch)


class Sampler:
    """Draws the candidates of each step.

    Args:
        number: C, more than there may be labels and frequent tokens.
        log_shares: Of each token of the vocabulary in all labels of the run, `[V]`.

    >>> sampler = Sampler(number=515, log_shares=np.linspace(0, -7, 600), seed=1)
    >>> found = sampler.draw(np.array([3, 590]), step=0)
    >>> found.candidates[-3:].tolist(), found.is_drawn[-3:].tolist()
    ([553, 557, 590], [True, True, False])
    >>> np.exp(found.log_chances[-3:]).round(3)  # 2 of 88
    array([0.023, 0.023, 0.023], dtype=float32)
    """

    def __init__(self, *, number: int, log_shares: Floats, seed: int) -> None:
        self._number, self._seed = number, seed
        self._is_frequent = np.zeros(len(log_shares), bool)
        self._is_frequent[np.argsort(-log_shares, kind="stable")[:FREQUENT]] = True
        self._others = np.flatnonzero(~self._is_frequent)

    def draw(self, labels: Integers, *, step: int) -> Candidates:
        """The candidates of a step.

        Args:
            labels: Of all that is masked in it, `[M]`.
        """
        is_label = np.zeros_like(self._is_frequent)
        is_label[labels] = True
        # Drawn of all others, labels among them: else a label would say what else there is.
        frequent = len(is_label) - len(self._others)
        room = self._number - frequent - np.count_nonzero(is_label[self._others])
        random = np.random.default_rng((self._seed, step))
        is_drawn = self._is_frequent.copy()
        is_drawn[random.choice(self._others, room, replace=False, shuffle=False)] = True
        is_candidate = is_drawn | is_label
        # In the place of labels that were drawn too, tokens that are predicted nowhere.
        missing = self._number - np.count_nonzero(is_candidate)
        is_candidate[np.flatnonzero(~is_candidate)[:missing]] = True
        ids = np.flatnonzero(is_candidate)
        log_chances = np.where(self._is_frequent[ids], 0.0, np.log(room / len(self._others)))
        return Candidates(ids.astype(np.int32), log_chances.astype(np.float32), is_drawn[ids])
