"""Decontamination: documents to train on that hold text of the held-out split.

Two documents have text in common where they have runs of eight words in common (after
GPT-3's appendix C, Brown et al. 2020, which takes 8 to 13), or of 24 characters where
scripts without spaces make each of them a word. A document goes if a fifth
of its runs stand in the held-out split, or if it has a fifth of the runs of a held-out
document, which may be a short one in a long text. Similarity of whole documents
(`near_copies`) does not see that. A run of more than ten held-out documents, as of a
licence, counts for nothing.

Of the held-out split all runs are kept, of a document to train on no more than tell its
share: those whose hash is below a bound. Nothing but the set of documents decides.
"""

from collections.abc import Iterable
from typing import BinaryIO, NamedTuple, Self

import numpy as np

from pipeline.core.draws import Keys, draws
from pipeline.noise.near_copies import are_first, ngrams

RUN, RUN_OF_CHARACTERS = 8, 24
_RUNS = 102
# One in this many runs in common is too much.
ONE_IN = 5
# So many runs of a long document must be in common with a held-out one at least, of those
# that are kept: a proverb that a novel quotes does not take the novel away.
LEAST_SHARED = 4
# Of a document with more than twice as many runs half are kept, or an eighth at least.
ENOUGH_RUNS, MOST_HALVINGS = 64, 3
# Of the held-out split no more runs are held in memory, 16 bytes for each document that has
# one, of which so many count: a run of more is boilerplate, as in GPT-3's appendix C.
MOST_RUNS, MOST_OWNERS = 1 << 24, 10


def runs_of(words: Keys, text: str) -> Keys:
    """What stands for each run of eight words of a text, from their hashes, `[W - 7]`."""
    length = RUN if len(text) >= 2 * len(words) else RUN_OF_CHARACTERS
    return draws(ngrams(words, length), _RUNS) if len(words) >= length else words[:0]


def _bound(halvings: int) -> np.uint64:
    """Half of all hashes are at most this after a halving, and so on."""
    return np.uint64((1 << 64 - halvings) - 1)


class Runs(NamedTuple):
    """The runs of some documents.

    Attributes:
        table: Of each document its number, how often its runs were halved and how many
            are left, `[3, D]`.
        hashes: The runs of one document after the other, `[S]`.
    """

    table: Keys
    hashes: Keys

    def save(self, file: BinaryIO) -> None:
        """Write them as two arrays of NumPy's."""
        for values in self:
            np.save(file, values)

    @classmethod
    def load(cls, file: BinaryIO) -> Self:
        """The inverse of `save`."""
        return cls(np.load(file), np.load(file))


def kept_runs(number: int, runs: Keys, *, is_held_out: bool) -> Runs:
    """What is kept of a document, by its number and its runs."""
    halvings = 0
    if not is_held_out:
        halvings = min(MOST_HALVINGS, max(0, (len(runs) // ENOUGH_RUNS).bit_length() - 1))
        runs = runs[runs <= _bound(halvings)]
    return Runs(np.array([[number], [halvings], [len(runs)]], np.uint64), runs)


def join_runs(parts: Iterable[Runs]) -> Runs:
    """The runs of several documents together."""
    nothing = Runs(np.zeros((3, 0), np.uint64), np.zeros(0, np.uint64))
    tables, hashes = zip(nothing, *parts, strict=True)
    return Runs(np.concatenate(tables, axis=1), np.concatenate(hashes))


class HeldOutRuns:
    """The runs of all held-out documents, each of the first that has it, but for boilerplate.

    Args:
        parts: Of documents whose numbers are below `bound` if they are held out.

    >>> def run(number, *hashes):
    ...     return kept_runs(number, np.uint64(hashes), is_held_out=number < 10)
    >>> held_out = HeldOutRuns([run(1, 5, 6, 7)], bound=10)
    >>> held_out.found_in(join_runs([run(1, 5), run(11, 5, 20, 21), run(12, 5, *range(30, 40))]))
    [11]
    """

    def __init__(self, parts: Iterable[Runs], *, bound: int) -> None:
        self._bound, self._halvings = bound, 0
        self._hashes = self._numbers = np.zeros(0, np.uint64)
        waiting: list[Keys] = []
        for table, hashes in parts:
            numbers = np.repeat(table[0], table[2].astype(np.intp))
            waiting.append(np.stack([hashes, numbers])[:, numbers < np.uint64(bound)])
            if sum(part.shape[1] for part in waiting) > MOST_RUNS:
                self._take(waiting)
        self._take(waiting)
        is_own = are_first(self._hashes)
        more = self._hashes[MOST_OWNERS:]
        is_own[: len(more)] &= more != self._hashes[: len(more)]
        self._hashes, self._numbers = self._hashes[is_own], self._numbers[is_own]
        # The document of each run, by place, and how many runs each has that are left after
        # so many halvings, `[H, D]`.
        documents, self._owners = np.unique(self._numbers, return_inverse=True)
        most = max(self._halvings, MOST_HALVINGS)
        left = (self._owners[self._hashes <= _bound(halvings)] for halvings in range(most + 1))
        self._counts = np.stack([np.bincount(each, minlength=len(documents)) for each in left])
        # Whether any run has these first bits: most of other texts have others.
        bits = min(27, len(self._hashes).bit_length() + 4)
        self._shift = np.uint64(64 - bits)
        self._may_be = np.zeros(1 << bits, np.bool_)
        self._may_be[self._hashes >> self._shift] = True

    def _take(self, waiting: list[Keys]) -> None:
        """Sort runs in, for each the first that have it; halve them while they are too many."""
        known = np.stack([self._hashes, self._numbers])
        hashes, numbers = np.concatenate([known, *waiting], axis=1)
        waiting.clear()
        order = np.lexsort((numbers, hashes))
        order = order[are_first(hashes[order]) | are_first(numbers[order])]
        # One more than those that count tells boilerplate.
        is_needed = np.ones(len(order), np.bool_)
        beyond = order[MOST_OWNERS + 1 :]
        is_needed[MOST_OWNERS + 1 :] = hashes[beyond] != hashes[order[: len(beyond)]]
        order = order[is_needed & (hashes[order] <= _bound(self._halvings))]
        while len(order) > MOST_RUNS:
            self._halvings += 1
            order = order[hashes[order] <= _bound(self._halvings)]
        self._hashes, self._numbers = hashes[order], numbers[order]

    def found_in(self, runs: Runs) -> list[int]:
        """The numbers of the documents to train on that have too much in common."""
        numbers, lengths = runs.table[0], runs.table[2].astype(np.intp)
        if not len(self._hashes):
            return []
        document = np.repeat(np.arange(len(lengths)), lengths)
        places = np.flatnonzero(self._may_be[runs.hashes >> self._shift])
        at = np.searchsorted(self._hashes, runs.hashes[places]).clip(max=len(self._hashes) - 1)
        is_shared = self._hashes[at] == runs.hashes[places]
        sharing, owners = document[places[is_shared]], self._owners[at[is_shared]]
        # What was halved on either side is compared with what is left of the other.
        halvings = np.maximum(runs.table[1].astype(np.intp), self._halvings)
        kept = document[runs.hashes <= _bound(self._halvings)]
        own = np.bincount(kept, minlength=len(lengths))
        shared = np.bincount(sharing, minlength=len(lengths))
        goes = (shared > 0) & (ONE_IN * shared >= own)
        pairs, counts = np.unique(sharing * self._counts.shape[1] + owners, return_counts=True)
        one, other = np.divmod(pairs, self._counts.shape[1])
        theirs = self._counts[halvings[one], other]
        goes[one[(counts >= LEAST_SHARED) & (ONE_IN * counts >= theirs)]] = True
        found: list[int] = numbers[goes & (numbers >= np.uint64(self._bound))].tolist()
        return found
