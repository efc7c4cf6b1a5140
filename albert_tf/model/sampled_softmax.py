"""A softmax over a sample of the vocabulary, for all but the last steps of a run.

With a large vocabulary most operations of a small model are those of its masked-LM head. So
a step predicts among candidates alone: a draw of all tokens by their shares of what is
masked in the run and of what the step shows, and for each masked token the token itself.
Each stands for others as rare: its logit is lowered by the logarithm of its chance to be
drawn, but where it is the label, which is there whatever is drawn. So the sum over
candidates is, in the mean of draws, that over the vocabulary, and the gradient nearly so
(Bengio and Senécal 2008). What else is masked in the step is no candidate by that: a word
that a text has twice would be taken for one that it has not. The last quarter of the
cooldown and every evaluation are over the whole vocabulary.

The draw of a step follows from its number, its texts and the seed, so that neither a stop nor
the size of a micro-batch changes it.
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

# The fewest tokens that are drawn besides labels.
LEAST_DRAWN = 768

# The offset of what was not drawn, which is there for the rows whose label it is.
NOT_DRAWN = -10_000.0

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
    number = LEAST_DRAWN + train.batch_size * most
    return number if number <= MOST_CANDIDATES * config.vocab_size else None


class Candidates(NamedTuple):
    """The tokens that a step has logits of.

    Attributes:
        candidates: Their ids `[C]`, in ascending order.
        offsets: What is added to the logit of each where it is not the label, `[C]`.
    """

    candidates: Integers
    offsets: Floats

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
    every = np.arange(number, dtype=np.int32)
    return Candidates(every, np.zeros(number, np.float32)).batch(batch)


class Sampler:
    """Draws the candidates of each step, by priority (Duffield, Lund and Thorup 2007).

    The share of a token is the mean of those in all labels of the run and in what the step
    shows, for what a text has once it may have again. Each has a random number over its
    share, and those below a threshold are drawn: the chance of a token is the threshold times
    its share. The threshold, that of the first token without room, does not depend on which
    labels are drawn.

    Args:
        number: C, more than there may be labels.
        log_shares: Of each token of the vocabulary in all labels of the run, `[V]`.

    >>> sampler = Sampler(number=4, log_shares=np.log([0.5, 0.3, 0.1, 0.05, 0.05]), seed=3)
    >>> found = sampler.draw(np.array([3]), shown=np.array([0, 1, 4, 4]), step=0)
    >>> found.candidates.tolist(), found.offsets.round(2).tolist()  # the label was not drawn
    ([0, 1, 3, 4], [0.0, 0.0, -10000.0, 0.0])
    """

    def __init__(self, *, number: int, log_shares: Floats, seed: int) -> None:
        self._number, self._shares, self._seed = number, np.exp(log_shares), seed

    def draw(self, labels: Integers, *, shown: Integers, step: int) -> Candidates:
        """The candidates of a step.

        Args:
            labels: Of all that is masked in it, `[M]`.
            shown: The tokens that the model is given, `[N]`.
        """
        random = np.random.default_rng((self._seed, step))
        counts = np.bincount(shown, minlength=len(self._shares))
        shares = (self._shares + counts / len(shown)) / 2
        keys = random.random(len(shares)) / shares
        is_label = np.zeros(len(keys), bool)
        is_label[labels] = True
        room = self._number - np.count_nonzero(is_label)
        threshold = np.partition(keys[~is_label], room)[room]
        is_drawn = keys < threshold
        ids = np.flatnonzero(is_drawn | is_label)
        lowered = np.maximum(0, -np.log(shares[ids] * threshold))
        offsets = np.where(is_drawn[ids], lowered, NOT_DRAWN)
        return Candidates(ids.astype(np.int32), offsets.astype(np.float32))
