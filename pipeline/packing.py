"""A document becomes sequences: consecutive ranges of its pieces, none left out.

A sequence ends at a sentence where it can and at a word where it must; what does not
fit opens the next one. Each sequence draws its own target length, so that the share of
short ones is what the paper says (section 4.1), where the published code draws once
for a whole document.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.draws import PURPOSES, draw, threshold

# A sequence this full is not topped up with a part of the next sentence.
FULL_ENOUGH_PERCENT = 97


class Places(NamedTuple):
    """Where a document may be cut, in pieces from its start.

    Attributes:
        sentence_ends: Ends of its sentences, ascending; the last is its length.
        cut_before: For each place `[N + 1]` the last one up to it where it may be cut.
        cut_after: For each place `[N]` the first one behind it where it may be cut.
    """

    sentence_ends: list[int]
    cut_before: npt.NDArray[np.int64]
    cut_after: npt.NDArray[np.int64]


class Sequence(NamedTuple):
    """The pieces [start, end) of a document, before they are divided into a pair."""

    start: int
    end: int
    number: int
    is_short: bool
    is_document_end: bool


def cuttable(
    word_starts: npt.NDArray[np.bool_], *, max_tokens: int
) -> npt.NDArray[np.bool_]:
    """Whether a sequence may begin or be divided at each piece, `[N]`.

    It may where a word starts. A word longer than a third of a sequence may be cut
    inside as well, every quarter of one, so that any two neighbours fit together and a
    sequence can spare its last.

    Args:
        word_starts: Whether a piece starts a word, `[N]`; true at the first.
        max_tokens: Most pieces of a sequence, special ones not counted.

    >>> cuttable(np.array([True, False, False, True]), max_tokens=6)
    array([ True,  True,  True,  True])
    """
    may_cut = word_starts.copy()
    starts = np.append(np.flatnonzero(word_starts), len(word_starts))
    for word in np.flatnonzero(np.diff(starts) > max_tokens // 3):
        may_cut[starts[word] : starts[word + 1] : max(1, max_tokens // 4)] = True
    return may_cut


def cutting_places(sentence_ends: list[int], may_cut: npt.NDArray[np.bool_]) -> Places:
    """The places of a document for `pack`.

    Args:
        sentence_ends: Ends of its sentences, ascending.
        may_cut: See `cuttable`, `[N]`.

    >>> places = cutting_places([3], np.array([True, False, True]))
    >>> places.cut_before, places.cut_after
    (array([0, 0, 2, 3]), array([2, 2, 3]))
    """
    places = np.append(np.flatnonzero(may_cut), len(may_cut))
    rank = np.append(np.cumsum(may_cut) - 1, len(places) - 1)
    return Places(sentence_ends, places[rank], places[rank[:-1] + 1])


def at_its_end(sequence: Sequence) -> int:
    """The next sequence starts where this one ends."""
    return sequence.end


def pack(
    document: Places,
    *,
    max_tokens: int,
    short_seq_prob: float,
    key: int,
    next_start: Callable[[Sequence], int] = at_its_end,
) -> list[Sequence]:
    """Divide one copy of a document into sequences.

    Every piece is in exactly one sequence, except that a document of fewer than two
    words gives none.

    Args:
        document: Where it may be cut.
        max_tokens: Most pieces of a sequence, special ones not counted.
        short_seq_prob: Share of the sequences that draw a short target.
        key: Of this copy of this document; see `pipeline.draws`.
        next_start: Where the sequence behind one starts, if not at its end.

    >>> places = cutting_places([3, 6, 9], np.ones(9, bool))
    >>> [s[:2] for s in pack(places, max_tokens=7, short_seq_prob=0.0, key=1)]
    [(0, 7), (7, 9)]
    """
    length = document.sentence_ends[-1]
    sequences: list[Sequence] = []
    start, number = 0, 0
    while start < length:
        target, is_short = draw_target(
            draw(key, number), max_tokens=max_tokens, short_seq_prob=short_seq_prob
        )
        end = sequence_end(document, start, target=target, max_tokens=max_tokens)
        sequence = Sequence(start, end, number, is_short, is_document_end=False)
        start, number = next_start(sequence), number + 1
        sequences.append(sequence._replace(is_document_end=start == length))
    return mend_last(sequences, document, max_tokens=max_tokens)


def draw_target(
    sequence_key: int, *, max_tokens: int, short_seq_prob: float
) -> tuple[int, bool]:
    """The target length of a sequence and whether it was drawn short."""
    bits = draw(sequence_key, PURPOSES["target"])
    if bits >> 32 >= threshold(short_seq_prob):
        return max_tokens, False
    return 2 + ((bits & 0xFFFFFFFF) * (max_tokens - 1) >> 32), True


def sequence_end(document: Places, start: int, *, target: int, max_tokens: int) -> int:
    """Where a sequence that begins at `start` ends.

    >>> places = cutting_places([4, 9], np.ones(9, bool))
    >>> sequence_end(places, 0, target=2, max_tokens=7)  # the sentence stays whole
    4
    >>> sequence_end(places, 0, target=7, max_tokens=7)  # the next does not fit: cut
    7
    """
    ends = document.sentence_ends
    # One word cannot be divided into a pair, so a sequence goes on to a second.
    second_word = int(document.cut_after[start])
    reached = bisect_left(ends, max(start + target, second_word + 1))
    end = ends[min(reached, len(ends) - 1)]
    if end - start <= max_tokens:
        return end
    before = ends[reached - 1] if reached else start
    if 100 * (before - start) >= FULL_ENOUGH_PERCENT * max_tokens:
        return before
    return int(document.cut_before[start + max_tokens])


def mend_last(
    sequences: list[Sequence], document: Places, *, max_tokens: int
) -> list[Sequence]:
    """Give a last sequence of one word its predecessor, or a word of it."""
    last = sequences[-1]
    if document.cut_after[last.start] < last.end:
        return sequences
    if len(sequences) == 1:
        return []
    previous = sequences[-2]
    if last.end - previous.start <= max_tokens:
        merged = previous._replace(end=last.end, is_document_end=True)
        return [*sequences[:-2], merged]
    # Together they exceed a sequence and no word exceeds a third: it can spare one.
    cut = int(document.cut_before[last.start - 1])
    return [
        *sequences[:-2],
        previous._replace(end=cut),
        last._replace(start=cut),
    ]
