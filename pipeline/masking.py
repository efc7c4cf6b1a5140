"""N-gram masking of whole words, for many rows at once.

The lengths come out as the paper asks (section 3.1: p(n) proportional to 1/n), because
n is drawn first and then a place is sought where that n fits; the published code drops
an n that overlaps, and realises .57 / .27 / .16. One word stays unmasked between two
spans, so that anyone can recount the lengths from the written files.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from pipeline.draws import Keys, below, draws, purpose_keys
from pipeline.pairs import Int, Rows, ranges
from schemas.special_tokens import FIRST_ORDINARY_ID, MASK_ID

Bool = npt.NDArray[np.bool_]

# Of the masked pieces (BERT): [MASK], left as it is, and a random piece for the rest.
MASK_SHARE, KEEP_SHARE = 0.8, 0.1

# Random places tried for one span before all places are looked at.
TRIES = 24
# Rows whose spans are chosen leave the working set every so many rounds.
ROUNDS = 8


@dataclasses.dataclass(frozen=True)
class Spans:
    """Chosen to be masked: `length` words from word `start` of the batch on, `[K]`."""

    start: Int
    length: Int


@dataclasses.dataclass(frozen=True)
class Masked:
    """R rows after masking.

    Attributes:
        ids: Piece ids with the masked ones replaced, `[T]`.
        positions: Masked places, row by row, ascending, counted in their row, `[M]`.
        labels: The original ids at those places, `[M]`.
        offsets: Where the masked places of a row start; the last is M, `[R + 1]`.
        spans_of_length: How many spans have 0, 1, ... words, `[max_ngram + 1]`.
        replaced: How many masked pieces became [MASK], stayed, became another, `[3]`.
    """

    ids: npt.NDArray[np.int32]
    positions: Int
    labels: npt.NDArray[np.int32]
    offsets: Int
    spans_of_length: Int
    replaced: Int


def budgets(
    lengths: Int, *, masked_lm_prob: float, max_predictions_per_seq: int
) -> Int:
    """How many pieces of each row to mask, special pieces counted in its length, `[R]`.

    >>> budgets(np.array([512, 100, 5]), masked_lm_prob=0.15,
    ...         max_predictions_per_seq=77)
    array([77, 15,  1])
    """
    wanted = np.rint(lengths * masked_lm_prob).astype(np.int64)
    least = 1 if masked_lm_prob > 0 else 0
    budget: Int = np.clip(wanted, least, max_predictions_per_seq)
    return budget


def ngram_lengths(bits: Keys, *, max_ngram: int) -> Int:
    """Span lengths in words with p(n) = (1/n) / sum(1/k), `[K]`.

    >>> ngram_lengths(np.array([0, 6 << 60, 15 << 60], np.uint64), max_ngram=3)
    array([1, 1, 3])
    """
    shares = 1 / np.arange(1, max_ngram + 1)
    bounds = np.cumsum(shares[:-1]) / shares.sum() * (1 << 32)
    high = bits >> np.uint64(32)
    lengths = np.ones(len(bits), np.int64)
    for bound in bounds.round().astype(np.uint64):
        lengths += high >= bound
    return lengths


class SpanChooser:
    """Chooses spans for all rows of a batch, a round for each row at a time.

    A span is placed only where the pieces left to mask afterwards are none or at least
    `max_ngram`, so that no later draw of n can fail for want of budget: stopping at the
    first n that does not fit would make the long ones rare. When no place suffices the
    span goes wherever it fits and the row ends a piece or two short.
    """

    def __init__(self, rows: Rows, budget: Int, *, keys: Keys, max_ngram: int) -> None:
        self.max_ngram = max_ngram
        words = np.flatnonzero(rows.word_starts)
        end = rows.offsets[-1]
        # Padding words of no pieces let every look-up of word + n stay inside.
        self.word_at = np.append(words, np.full(max_ngram + 1, end))
        # An unknown character starts a word too, and cannot be predicted.
        is_special = rows.ids[words] < FIRST_ORDINARY_ID
        self.blocked = np.append(is_special, np.ones(max_ngram + 1, np.bool_))
        first = np.searchsorted(words, rows.offsets)
        # The words of a row without its first and last, [CLS] and [SEP].
        self.first, self.count = first[:-1] + 1, np.diff(first) - 2
        self.left = budget.copy()
        self.ngram_keys = purpose_keys(keys, "ngram")
        self.place_keys = purpose_keys(keys, "place")
        self.search_keys = purpose_keys(keys, "search")
        self.spans_done, self.tries, self.failures = np.zeros((3, len(keys)), np.int64)
        self.wanted = np.zeros(len(keys), np.int64)
        self.chosen: list[Spans] = []

    def run(self) -> Spans:
        """Choose all spans of all rows."""
        self._draw_lengths(np.flatnonzero(self.left))
        active = np.flatnonzero(self.left)
        while len(active):
            for _ in range(ROUNDS):
                self._try_places(active)
            self._search(active[self.failures[active] >= TRIES])
            active = active[self.left[active] > 0]
        if not self.chosen:
            return Spans(np.zeros(0, np.int64), np.zeros(0, np.int64))
        return Spans(
            np.concatenate([spans.start for spans in self.chosen]),
            np.concatenate([spans.length for spans in self.chosen]),
        )

    def _draw_lengths(self, rows: Int) -> None:
        bits = draws(self.ngram_keys[rows], self.spans_done[rows])
        lengths = ngram_lengths(bits, max_ngram=self.max_ngram)
        # Only the budget of a very short row is less than max_ngram.
        self.wanted[rows] = np.minimum(lengths, self.left[rows])

    def _try_places(self, rows: Int) -> None:
        """Try one random place for the next span of each row."""
        bits = draws(self.place_keys[rows], self.tries[rows])
        self.tries[rows] += 1
        start = self.first[rows] + below(bits, self.count[rows])
        wanted = self.wanted[rows]
        after = self._left_after(rows, start, wanted)
        fits = self._is_free(start, wanted) & (self.left[rows] > 0)
        fits &= (after == 0) | (after >= self.max_ngram)
        self.failures[rows] += ~fits
        self._place(rows[fits], start[fits], after[fits])

    def _left_after(self, rows: Int, start: Int, wanted: Int) -> Int:
        pieces: Int = self.word_at[start + wanted] - self.word_at[start]
        return self.left[rows] - pieces

    def _is_free(self, start: Int, wanted: Int) -> Bool:
        free: Bool = ~self.blocked[start]
        for k in range(1, self.max_ngram):
            free &= ~self.blocked[start + k] | (wanted <= k)
        return free

    def _place(self, rows: Int, start: Int, after: Int) -> None:
        wanted = self.wanted[rows]
        self.chosen.append(Spans(start, wanted))
        for k in range(-1, self.max_ngram + 1):
            self.blocked[start + np.minimum(k, wanted)] = True
        self.left[rows] = after
        self.spans_done[rows] += 1
        self.failures[rows] = 0
        self._draw_lengths(rows)

    def _search(self, rows: Int) -> None:
        """Look at every place of rows where random ones did not do."""
        if not len(rows):
            return
        counts = self.count[rows]
        start = ranges(self.first[rows], counts)
        owner = np.repeat(np.arange(len(rows)), counts)
        wanted = self.wanted[rows][owner]
        after = self._left_after(rows[owner], start, wanted)
        free = self._is_free(start, wanted) & (after >= 0)
        exact = free & ((after == 0) | (after >= self.max_ngram))
        has_exact = np.bincount(owner[exact], minlength=len(rows)) > 0
        candidates = np.flatnonzero(np.where(has_exact[owner], exact, free))
        number = np.bincount(owner[candidates], minlength=len(rows))
        bits = draws(self.search_keys[rows], self.spans_done[rows])
        first = np.cumsum(number) - number
        found = number > 0
        picked = candidates[first[found] + below(bits, number)[found]]
        self._place(rows[found], start[picked], after[picked])
        self.left[rows[~has_exact]] = 0


def mask(
    rows: Rows, *, keys: Keys, vocab_size: int, budget: Int, max_ngram: int
) -> Masked:
    """Mask spans of whole words and note what stood there.

    Args:
        rows: The assembled rows.
        keys: One for each row, `[R]`; see `pipeline.draws`.
        vocab_size: Pieces in the vocabulary.
        budget: Pieces to mask in each row, `[R]`.
        max_ngram: Most words of a span.
    """
    chooser = SpanChooser(rows, budget, keys=keys, max_ngram=max_ngram)
    spans = chooser.run()
    first = chooser.word_at[spans.start]
    pieces = chooser.word_at[spans.start + spans.length] - first
    is_masked = np.zeros(len(rows.ids), np.bool_)
    is_masked[ranges(first, pieces)] = True
    places = np.flatnonzero(is_masked)
    offsets = np.searchsorted(places, rows.offsets)
    owner = np.repeat(np.arange(len(keys)), np.diff(offsets))
    positions = places - rows.offsets[owner]
    labels = rows.ids[places]
    ids = rows.ids.copy()
    ids[places], replaced = replacements(
        labels, positions, keys=keys[owner], vocab_size=vocab_size
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
    labels: npt.NDArray[np.int32], positions: Int, *, keys: Keys, vocab_size: int
) -> tuple[npt.NDArray[np.int32], Int]:
    """What stands at masked places: [MASK], the piece itself, or any ordinary piece.

    Args:
        labels: The original ids, `[M]`.
        positions: Their places in their rows, `[M]`.
        keys: The keys of their rows, `[M]`.
        vocab_size: Pieces in the vocabulary.

    Returns:
        The new ids `[M]`, and how many were masked, kept and drawn at random `[3]`.
    """
    bits = draws(purpose_keys(keys, "replace"), positions) >> np.uint64(32)
    kind = (bits >= np.uint64(MASK_SHARE * (1 << 32))).astype(np.int64)
    kind += bits >= np.uint64((MASK_SHARE + KEEP_SHARE) * (1 << 32))
    ids = np.where(kind == 0, np.int32(MASK_ID), labels)
    at_random = np.flatnonzero(kind == 2)
    bits = draws(purpose_keys(keys[at_random], "piece"), positions[at_random])
    ids[at_random] = FIRST_ORDINARY_ID + below(bits, vocab_size - FIRST_ORDINARY_ID)
    return ids, np.bincount(kind, minlength=3)
