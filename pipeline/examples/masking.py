"""N-gram masking of whole words, for many rows at once.

The lengths come out as the paper asks (section 3.1: p(n) proportional to 1/n), because
n is drawn first and then a place is sought where that n fits; the published code drops
an n that overlaps, and realises .57 / .27 / .16. One word stays unmasked between two
spans, so that anyone can recount the lengths from the written files.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Bool, Ids, Int, Keys, below, draws, purpose_keys
from pipeline.examples.pairs import Rows, ranges
from schemas.example import FIRST_ORDINARY_ID, MASK_ID

# The share of the masked tokens that becomes random tokens (BERT).
RANDOM_SHARE = 0.1

# Random places tried for one span before all places are looked at.
TRIES = 24
# Once in this many rounds, rows whose spans are all chosen leave the working set.
ROUNDS = 8


class Spans(NamedTuple):
    """K spans to mask: `length` words from word `start` of the batch on, `[K]` each."""

    start: Int
    length: Int


@dataclasses.dataclass(frozen=True)
class Masked:
    """R rows after masking.

    Attributes:
        ids: Token ids with the masked ones replaced, `[T]`.
        positions: Masked places, row by row, ascending, counted in their row, `[M]`.
        labels: The original ids at those places, `[M]`.
        offsets: Where the masked places of a row start; the last is M, `[R + 1]`.
        spans_of_length: How many spans have 0, 1, ... words, `[max_ngram + 1]`.
        replaced: How many masked tokens became [MASK], stayed, became another, `[3]`.
    """

    ids: Ids
    positions: Int
    labels: Ids
    offsets: Int
    spans_of_length: Int
    replaced: Int


def budgets(
    lengths: Int, *, masked_lm_prob: float | npt.NDArray[np.float64], max_predictions_per_seq: int
) -> Int:
    """How many tokens of each row to mask, special tokens counted in its length, `[R]`.

    The share may be one for all rows or one for each, `[R]`.

    >>> budgets(np.array([512, 100, 5]), masked_lm_prob=0.15,
    ...         max_predictions_per_seq=77)
    array([77, 15,  1])
    """
    wanted = np.rint(lengths * masked_lm_prob).astype(np.int64)
    least = np.where(np.asarray(masked_lm_prob) > 0, 1, 0)
    budget: Int = np.clip(wanted, least, max_predictions_per_seq)
    return budget


def ngram_lengths(bits: Keys, *, max_ngram: int) -> Int:
    """Span lengths in words with p(n) = (1/n) / sum(1/k), one for each draw.

    >>> ngram_lengths(np.array([0, 6 << 60, 15 << 60], np.uint64), max_ngram=3)
    array([1, 1, 3])
    """
    shares = 1 / np.arange(1, max_ngram + 1)
    bounds = np.cumsum(shares[:-1]) / shares.sum() * (1 << 32)
    high = bits >> np.uint64(32)
    lengths = np.ones(bits.shape, np.int64)
    for bound in bounds.round().astype(np.uint64):
        lengths += high >= bound
    return lengths


def beginning_chances(counts: Int, *, vocab_size: int) -> Keys:
    """The chance that a span may begin at each token, of 2**32, `[V]`.

    It grows with the information of the token, -log p (2509.05056), and is whole for
    one as rare as the mean of a vocabulary, or rarer.

    Args:
        counts: How often each token occurs in a text, up to the last one in it.

    >>> beginning_chances(np.array([0, 10, 80, 10]), vocab_size=5) / 2**32
    array([1.        , 1.        , 0.13864688, 1.        , 1.        ])
    """
    shares = np.zeros(vocab_size)
    shares[: len(counts)] = counts / max(1, counts.sum())
    information = -np.log(np.maximum(shares, 1 / vocab_size)) / np.log(vocab_size)
    chances: Keys = (information * (1 << 32)).astype(np.uint64)
    return chances


# What a span chooser keeps of each row that is not finished.
_OF_ROWS = (
    *("first", "count", "left", "longest", "spans_done", "failures"),
    *("ngram_keys", "place_keys", "search_keys"),
)


class SpanChooser:
    """Chooses spans for all rows of a batch, a round for each row at a time.

    A span is placed only where the budget left after it is 0 or at least `max_ngram`
    tokens, so that any length drawn next can still be met: stopping at the first n that
    does not fit would make the long ones rare. When no such place is found the span
    goes wherever it fits, and the row ends a token or two short.

    `tests/pipeline/examples/test_masking.py` says the same for one row in twenty lines.
    Here most of the time goes into look-ups by index, so the state of the rows that are
    not finished is kept in arrays of their own, and the draws of several rounds are
    computed at once.

    Attributes:
        word_at: Where each word of the batch starts, `[W + max_ngram + 1]`.
        free: How many words from each word on are ordinary, counted up to `max_ngram`;
            0 for a word that is in a span or next to one.
        chances: That a span may begin at each word, of 2**32, `[W]`; None if all may,
            as all may once no random place would do.
        first: The first word of each of the A rows that are not finished, `[A]`; all
            below are `[A]` too.
        count: Its words between [CLS] and the last [SEP].
        left: Tokens that remain to be masked.
        longest: The longest span that the budget of the row allows.
        spans_done: Spans chosen so far.
        failures: Tries since the last span.
    """

    def __init__(
        self, rows: Rows, budget: Int, *, keys: Keys, max_ngram: int, chances: Keys | None
    ) -> None:
        self.max_ngram = max_ngram
        words = np.flatnonzero(rows.word_starts)
        # Padding words of no tokens let every look-up of word + n stay inside.
        padding = np.full(max_ngram + 1, rows.offsets[-1], np.int32)
        self.word_at = np.append(words.astype(np.int32), padding)
        # An unknown character starts a word too, and cannot be predicted.
        ordinary = np.append(rows.ids.take(words) >= FIRST_ORDINARY_ID, padding < 0)
        self.free = run_lengths(ordinary, most=max_ngram)
        self.chances = None if chances is None else chances[rows.ids.take(words)]
        # A span and its two neighbours are three words or more. So it is enough to look
        # at every third word of a new span and at its last: if it overlapped an older
        # one, one of these would be taken.
        self.probes = range(3, max_ngram + 3, 3) if max_ngram > 1 else ()
        active = np.flatnonzero(budget)
        # The number of the first word of each row, [CLS].
        first = np.searchsorted(words, rows.offsets)
        self.first, self.count = first[active] + 1, np.diff(first)[active] - 2
        self.left = budget[active].astype(np.int32)
        # Only the budget of a very short row is less than max_ngram.
        self.longest = np.minimum(self.left, max_ngram).astype(np.int64)
        self.ngram_keys, self.place_keys, self.search_keys = (
            purpose_keys(keys[active], purpose) for purpose in ("ngram", "place", "search")
        )
        self.spans_done, self.failures = np.zeros((2, len(active)), np.int64)
        none = np.zeros(0, np.int64)
        self.chosen = [Spans(none, none)]

    def run(self) -> Spans:
        """Choose all spans of all rows."""
        tries = 0
        while len(self.left):
            self._try_places(tries)
            tries += ROUNDS
            self._search(np.flatnonzero((self.failures >= TRIES) & (self.left > 0)))
            if not self.left.all():
                kept = np.flatnonzero(self.left)
                for name in _OF_ROWS:
                    setattr(self, name, getattr(self, name)[kept])
        return Spans(*map(np.concatenate, zip(*self.chosen, strict=True)))

    def _try_places(self, tries: int) -> None:
        """Try a random place for the next span of each row, for several rounds."""
        # A place for each row and round, `[ROUNDS, A]`.
        rounds = np.arange(tries, tries + ROUNDS)[:, None]
        bits = draws(self.place_keys, rounds)
        starts = below(bits, self.count) + self.first
        may_begin = np.ones(starts.shape, np.bool_)
        if self.chances is not None:
            # The place is of the upper half of the bits.
            may_begin = (bits & np.uint64(0xFFFFFFFF)) < self.chances.take(starts)
        # How long the next spans are to be, `[ROUNDS + 1, A]`. Span number n of a row
        # has the same length whichever round places it.
        counters = self.spans_done + np.arange(ROUNDS + 1)[:, None]
        lengths = ngram_lengths(draws(self.ngram_keys, counters), max_ngram=self.max_ngram)
        lengths = np.minimum(lengths, self.longest)
        # Where the next length of each row stands in `lengths` as one row after the
        # other; a row further for each span placed.
        own = np.arange(len(self.left))
        next_length = own.copy()
        for start, fits in zip(starts, may_begin, strict=True):
            wanted = lengths.take(next_length)
            tokens = self.word_at.take(start + wanted) - self.word_at.take(start)
            after = self.left - tokens
            fits &= self.free.take(start) >= wanted
            for k in self.probes:
                fits &= self.free.take(start + np.minimum(k, wanted) - 1) > 0
            # A row that is finished has no budget and so no place that fits.
            fits &= (after == 0) | (after >= self.max_ngram)
            placed = np.flatnonzero(fits)
            self._place(start[placed], wanted[placed])
            self.left = np.where(fits, after, self.left)
            next_length += fits * len(own)
            # Counted on, and from 0 again after a span.
            self.failures += 1
            self.failures *= ~fits
        self.spans_done += next_length // max(1, len(own))

    def _place(self, start: Int, length: Int) -> None:
        self.chosen.append(Spans(start, length))
        # The word before, those of the span, and the one after it; for a shorter span
        # the last is written several times.
        for k in range(-1, self.max_ngram + 1):
            self.free[start + np.minimum(k, length)] = 0

    def _search(self, rows: Int) -> None:
        """Look at every place of the rows in which no random place would do."""
        if not len(rows):
            return
        first, count = self.first[rows], self.count[rows]
        bits = draws(self.ngram_keys[rows], self.spans_done[rows])
        lengths = ngram_lengths(bits, max_ngram=self.max_ngram)
        wanted = np.minimum(lengths, self.longest[rows])
        # All places of these rows, one row after the other; where each row ends.
        ends = np.cumsum(count)
        # The tokens of a span at each place, and what they would leave of the budget.
        tokens = _slices(self.word_at, first + wanted, count)
        tokens -= _slices(self.word_at, first, count)
        after = np.repeat(self.left[rows], count) - tokens
        fits = _slices(self.free, first, count) >= np.repeat(wanted.astype(np.uint8), count)
        for k in self.probes:
            fits &= _slices(self.free, first + np.minimum(k, wanted) - 1, count) > 0
        fits &= after >= 0
        # Places that leave a budget which any later length can meet; where a row has
        # one, it takes no other.
        exact = fits & ((after == 0) | (after >= self.max_ngram))
        has_exact = np.logical_or.reduceat(exact, ends - count)
        candidates = np.flatnonzero(np.where(np.repeat(has_exact, count), exact, fits))
        # Each row picks one of its candidates, if it has any.
        low = np.searchsorted(candidates, ends - count)
        number = np.searchsorted(candidates, ends) - low
        bits = draws(self.search_keys[rows], self.spans_done[rows])
        found = np.flatnonzero(number)
        picked = candidates[(low + below(bits, number))[found]]
        # From the number of a place back to that of a word in the batch.
        start = (picked - ends[found]) + (first + count)[found]
        self._place(start, wanted[found])
        # A row without an exact place is finished, with a span or without one.
        self.left[rows] = 0
        self.left[rows[found]] = after[picked] * has_exact[found]
        self.spans_done[rows[found]] += 1
        self.failures[rows] = 0


def _slices(values: npt.NDArray[Any], starts: Int, lengths: Int) -> npt.NDArray[Any]:
    """The values of several ranges, one after the other."""
    bounds = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
    return np.concatenate([values[start:end] for start, end in bounds])


def run_lengths(values: Bool, *, most: int) -> npt.NDArray[np.uint8]:
    """How many values from each on are true, counted up to a limit, `[N]`.

    >>> run_lengths(np.array([True, True, True, False, True]), most=2)
    array([2, 2, 1, 0, 1], dtype=uint8)
    """
    lengths = values.astype(np.uint8)
    run = values
    for _ in range(1, most):
        run = run[:-1] & values[len(values) - len(run) + 1 :]
        lengths[: len(run)] += run
    return lengths


def mask(
    rows: Rows,
    *,
    keys: Keys,
    vocab_size: int,
    budget: Int,
    max_ngram: int,
    kept_share: float,
    chances: Keys | None = None,
) -> Masked:
    """Mask spans of whole words and note what stood there.

    Args:
        keys: One for each row, `[R]`; see `pipeline.core.draws`.
        budget: Tokens to mask in each row, `[R]`.
        kept_share: Of these, the share that stays as it is.
        chances: That a span may begin at each token, of 2**32, `[V]`; None if it may at all.
    """
    chooser = SpanChooser(rows, budget, keys=keys, max_ngram=max_ngram, chances=chances)
    spans = chooser.run()
    first, last = (
        chooser.word_at.take(words).astype(np.int64)
        for words in (spans.start, spans.start + spans.length)
    )
    is_masked = np.zeros(len(rows.ids), np.bool_)
    is_masked[ranges(first, last - first)] = True
    places = np.flatnonzero(is_masked)
    offsets = np.searchsorted(places, rows.offsets)
    counts = np.diff(offsets)
    positions = places - np.repeat(rows.offsets[:-1], counts)
    labels = rows.ids.take(places)
    ids = rows.ids.copy()
    ids[places], replaced = replacements(
        labels, positions, keys=keys, counts=counts, vocab_size=vocab_size, kept_share=kept_share
    )
    return Masked(
        ids=ids,
        positions=positions,
        labels=labels,
        offsets=offsets,
        spans_of_length=np.bincount(spans.length, minlength=max_ngram + 1),
        replaced=replaced,
    )


def replacements(
    labels: Ids, positions: Int, *, keys: Keys, counts: Int, vocab_size: int, kept_share: float
) -> tuple[Ids, Int]:
    """What stands at masked places: [MASK], the token itself, or any ordinary token.

    Args:
        labels: The original ids, `[M]`.
        positions: Their places in their rows, `[M]`.
        keys: Of the rows, `[R]`.
        counts: Masked places of each row, `[R]`.

    Returns:
        The new ids `[M]`, and how many were masked, kept and drawn at random `[3]`.
    """
    bits = draws(np.repeat(purpose_keys(keys, "replace"), counts), positions)
    bits >>= np.uint64(32)
    is_mask = bits < np.uint64((1 - RANDOM_SHARE - kept_share) * (1 << 32))
    is_random = bits >= np.uint64((1 - RANDOM_SHARE) * (1 << 32))
    ids = np.where(is_mask, np.int32(MASK_ID), labels)
    at_random = np.flatnonzero(is_random)
    own_keys = np.repeat(purpose_keys(keys, "token"), counts)[at_random]
    bits = draws(own_keys, positions[at_random])
    ids[at_random] = FIRST_ORDINARY_ID + below(bits, vocab_size - FIRST_ORDINARY_ID)
    masked, random = int(np.count_nonzero(is_mask)), len(at_random)
    return ids, np.array([masked, len(labels) - masked - random, random])
