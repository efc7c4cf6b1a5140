"""What counting gives where a model predicts: the marks that it has to beat.

Counts of single tokens, and of tokens beside each other, on the text that the model is
trained on. A token between two neighbours has the probability

    p(t | left, right)  ~  (p(t | left) * p(t | right)) ** 0.7

and each factor is smoothed towards how frequent the token is. No parameter is trained.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]

# How much less two neighbours say together than if they were independent.
EXPONENT = 0.7

# Sightings that a neighbour's counts are smoothed with, spread as tokens are.
SMOOTHING = 100.0

# No neighbour: what stands there is masked.
UNKNOWN = -1


class NeighbourCounts:
    """Counts of the tokens of some text and of which stand side by side.

    Args:
        rows: Token ids of each example, nothing masked, special tokens included.
        vocab_size: V.
    """

    def __init__(self, rows: Iterable[npt.NDArray[Any]], *, vocab_size: int) -> None:
        examples = [np.asarray(row, np.int64) for row in rows]
        nothing = np.zeros(0, np.int64)
        tokens = np.concatenate([nothing, *examples])
        pairs = [row[:-1] * vocab_size + row[1:] for row in examples]
        codes, counts = np.unique(np.concatenate([nothing, *pairs]), return_counts=True)
        left, right = np.divmod(codes, vocab_size)
        by_right = np.argsort(right, kind="stable")
        occurrences = np.bincount(tokens, minlength=vocab_size).astype(np.float64)
        self._share: Float = (occurrences + 0.5) / (occurrences + 0.5).sum()
        self._after = _Followers(left, right, counts, vocab_size=vocab_size)
        self._before = _Followers(
            right[by_right], left[by_right], counts[by_right], vocab_size=vocab_size
        )

    def unigram_losses(self, labels: Int) -> Float:
        """Minus the log of how frequent each token is, in nats, `[N]`."""
        losses: Float = -np.log(self._share[labels])
        return losses

    def losses(self, labels: Int, *, left: Int, right: Int) -> Float:
        """Minus the log probability of each token between its neighbours, in nats.

        Args:
            labels: The tokens, `[N]`.
            left: What stands before each, or `UNKNOWN`, `[N]`.
            right: What stands after each, or `UNKNOWN`, `[N]`.
        """
        asked = zip(labels.tolist(), left.tolist(), right.tolist(), strict=True)
        return np.array(
            [
                -np.log(self.shares(before, after)[label])
                for label, before, after in asked
            ]
        )

    def shares(self, left: int, right: int) -> Float:
        """The probability of each token between two neighbours, `[V]`."""
        known = [
            followers.shares(neighbour, self._share)
            for followers, neighbour in ((self._after, left), (self._before, right))
            if neighbour != UNKNOWN
        ]
        if not known:
            return self._share
        if len(known) == 1:
            return known[0]
        product = (known[0] * known[1]) ** EXPONENT
        shares: Float = product / product.sum()
        return shares


class _Followers:
    """How often each token stands beside each other one, on one side."""

    def __init__(
        self, first: Int, second: Int, counts: Int, *, vocab_size: int
    ) -> None:
        # Of token t those from starts[t] to starts[t + 1].
        self._starts = np.searchsorted(first, np.arange(vocab_size + 1))
        self._second, self._counts = second, counts

    def shares(self, token: int, share: Float) -> Float:
        """The smoothed probability of each token beside this one, `[V]`."""
        some = slice(self._starts[token], self._starts[token + 1])
        values = SMOOTHING * share
        values[self._second[some]] += self._counts[some]
        shares: Float = values / values.sum()
        return shares
