"""Documents become sequences: consecutive ranges of their tokens, none left out.

A sequence ends with a sentence: a sentence cut off there would show which half of the
pair came last, and a model would learn that instead of the order. Only a sentence
longer than a sequence is cut, at a word. What does not fit opens the next sequence.
Each sequence draws its own target length, so that the share of short ones is what the
paper says (section 4.1); the published code draws once for a whole document.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import (
    Bool,
    Ids,
    Int,
    Keys,
    below,
    columns_of,
    draws,
    happens,
    hash_key,
    purpose_keys,
)


@dataclasses.dataclass(frozen=True)
class Tokens:
    """The tokens of all D documents of a shard.

    Attributes:
        ids: Whole numbers of any size, `[N]`.
        word_starts: Whether a token starts a word, `[N]`.
        may_cut: Whether a sequence may be cut at a token, `[N]`.
        sentence_starts: Ascending, `[sentences]`.
        document_starts: Where each document starts; the last is N, `[D + 1]`.
        document_keys: What all draws for a document derive from, `[D]`.
    """

    ids: npt.NDArray[np.integer]
    word_starts: Bool
    may_cut: Bool
    sentence_starts: Int
    document_starts: Int
    document_keys: list[int]

    @property
    def sentence_ends(self) -> Int:
        """Where each sentence ends; the last is N, `[sentences]`."""
        return np.append(self.sentence_starts[1:], self.document_starts[-1])

    @functools.cached_property
    def counts(self) -> Int:
        """How often each token occurs, up to the one of the greatest id."""
        return np.bincount(self.ids)


def document_key(document_id: bytes, *, seed: int) -> int:
    """The key that all draws for a document derive from."""
    return hash_key(str(seed).encode(), document_id)


_PART = 1 << 16

# A word longer than 15 tokens covers at least one aligned block of eight.
_SURE_OF_EIGHT = 15

# Where the next sequence starts, by start, end and key of one, `[R]` each; None for
# the end.
NextStart = Callable[[Int, Int, Keys], Int]


@dataclasses.dataclass(frozen=True)
class Places:
    """Where the documents of a shard may be cut, in N tokens.

    Attributes:
        sentence_ends: Ends of all sentences, ascending; the last is N.
        cuts: Where a sequence may begin, ascending; the last is N.
    """

    sentence_ends: Int
    cuts: Ids

    def cut_before(self, places: Int) -> Int:
        """The last cut up to each place."""
        found = np.searchsorted(self.cuts, places.astype(np.int32), side="right") - 1
        return self.cuts[found].astype(np.int64)

    def cut_after(self, places: Int) -> Int:
        """The first cut after each place, which must not be the end of all tokens."""
        found = np.searchsorted(self.cuts, places.astype(np.int32), side="right")
        return self.cuts[found].astype(np.int64)


@dataclasses.dataclass(frozen=True)
class Sequences:
    """R packed sequences, before they are divided into pairs, `[R]` each.

    Attributes:
        chain: A copy of a document, by its number; of one copy, the document.
        start, end: The tokens [start, end) of the shard.
        number: Of the sequence in its chain.
        is_put_back: Whether the next one of the chain starts before the end.
        keys: What all draws for a sequence derive from.
    """

    chain: Int
    start: Int
    end: Int
    number: Int
    is_short: Bool
    is_end: Bool
    is_put_back: Bool
    keys: Keys

    def __getitem__(self, rows: slice | Int) -> "Sequences":
        return Sequences(*(column[rows] for column in columns_of(self)))

    def __len__(self) -> int:
        return len(self.keys)


def cuttable(word_starts: Bool, *, max_tokens: int) -> Bool:
    """Whether a sequence may begin or be divided at each token, `[N]`.

    It may where a word starts. A word longer than a third of a sequence may be cut
    inside as well, every quarter of one, so that any two neighbours fit together and a
    sequence can spare its last.

    Args:
        word_starts: Whether a token starts a word, `[N]`; true at the first.
        max_tokens: Maximum number of tokens of a sequence, special ones not counted.

    >>> cuttable(np.array([True, False, False, True]), max_tokens=6)
    array([ True,  True,  True,  True])
    """
    limit = max_tokens // 3
    if limit < _SURE_OF_EIGHT or not len(word_starts):
        places = np.append(np.flatnonzero(word_starts), len(word_starts))
        starts, ends = places[:-1], places[1:]
    else:
        # Eight tokens are looked at as one number, which is 0 inside a long word; a
        # made-up start of a word follows the last.
        padded = np.append(word_starts, np.ones(16 - len(word_starts) % 8, np.bool_))
        eights = padded.reshape(-1, 8)
        is_inside = padded.view(np.uint64) == 0
        edges = np.flatnonzero(is_inside[1:] != is_inside[:-1]) + 1
        first, after = edges[::2], edges[1::2]
        starts = 8 * first - 1 - eights[first - 1, ::-1].argmax(axis=1)
        ends = np.minimum(8 * after + eights[after].argmax(axis=1), len(word_starts))
    is_long = ends - starts > limit
    may_cut = word_starts.copy()
    for start, end in zip(starts[is_long].tolist(), ends[is_long].tolist(), strict=True):
        may_cut[start : end : max(1, max_tokens // 4)] = True
    return may_cut


def cutting_places(sentence_ends: Int, may_cut: Bool) -> Places:
    """The places of some documents for `pack`, which may be cut as `cuttable` says.

    >>> places = cutting_places(np.array([3]), np.array([True, False, True]))
    >>> places.cut_before(np.array([0, 1, 2, 3])), places.cut_after(np.array([0, 1, 2]))
    (array([0, 0, 2, 3]), array([2, 2, 3]))
    """
    # A part at a time: the numbers come in eight bytes, of which four are kept.
    cuts = [
        (first + np.flatnonzero(may_cut[first : first + _PART])).astype(np.int32)
        for first in range(0, len(may_cut), _PART)
    ]
    end = np.array([len(may_cut)], np.int32)
    return Places(sentence_ends, np.concatenate([*cuts, end]))


def pack(
    places: Places,
    first: Int,
    last: Int,
    *,
    keys: Keys,
    max_tokens: int,
    short_seq_prob: float,
    next_start: NextStart | None = None,
) -> Sequences:
    """Divide copies of documents into sequences, a round for each chain at a time.

    Every token is in one sequence of its chain; a document of one word gives none. A
    last sequence of one word goes to its predecessor, or takes a word of it.

    Args:
        first, last: Where the document of each of C chains starts and ends, `[C]`.
        max_tokens: Maximum number of tokens of a sequence, special ones not counted.

    >>> places = cutting_places(np.array([3, 6, 9]), np.ones(9, bool))
    >>> packed = pack(places, np.array([0]), np.array([9]), max_tokens=7,
    ...               keys=np.array([1], np.uint64), short_seq_prob=0.0)
    >>> packed.start, packed.end
    (array([0, 6]), array([6, 9]))
    """
    chain, start = np.arange(len(keys)), first
    rounds: list[Sequences] = []
    while len(chain) or not rounds:
        number = np.full(len(chain), len(rounds))
        sequence_keys = draws(keys[chain], number)
        target, is_short = draw_targets(
            sequence_keys, max_tokens=max_tokens, short_seq_prob=short_seq_prob
        )
        end = sequence_ends(places, start, last[chain], target=target, max_tokens=max_tokens)
        following = next_start(start, end, sequence_keys) if next_start else end
        is_end, is_put_back = following == last[chain], following < end
        of_round = (chain, start, end, number, is_short, is_end, is_put_back)
        rounds.append(Sequences(*of_round, sequence_keys))
        chain, start = chain[~is_end], following[~is_end]
    # The sequences of the first chain, of the second, and so on.
    columns = zip(*map(columns_of, rounds), strict=True)
    packed = Sequences(*map(np.concatenate, columns))
    packed = packed[np.argsort(packed.chain, kind="stable")]
    is_last = np.ones(len(packed), np.bool_)
    is_last[:-1] = packed.chain[1:] != packed.chain[:-1]
    last = np.flatnonzero(is_last)
    last = last[places.cut_after(packed.start[last]) >= packed.end[last]]
    is_kept = np.ones(len(packed), np.bool_)
    is_kept[last[packed.number[last] == 0]] = False
    last = last[packed.number[last] > 0]
    packed.is_put_back[last - 1] = False
    joins = packed.end[last] - packed.start[last - 1] <= max_tokens
    joined, cut = last[joins], last[~joins]
    is_kept[joined] = False
    packed.end[joined - 1] = packed.end[joined]
    packed.is_end[joined - 1] = True
    # Together they exceed a sequence and no word exceeds a third: it can spare one.
    packed.start[cut] = packed.end[cut - 1] = places.cut_before(packed.start[cut] - 1)
    return packed[np.flatnonzero(is_kept)]


def draw_targets(
    sequence_keys: Keys, *, max_tokens: int, short_seq_prob: float
) -> tuple[Int, Bool]:
    """The target length of each sequence and whether it was drawn short."""
    bits = purpose_keys(sequence_keys, "target")
    is_short = happens(bits, short_seq_prob)
    # How short, the lower half of the bits says.
    short = 2 + below(bits << np.uint64(32), max_tokens - 1)
    return np.where(is_short, short, max_tokens), is_short


def sequence_ends(places: Places, start: Int, last: Int, *, target: Int, max_tokens: int) -> Int:
    """Where sequences end that begin at `start`, in documents that end at `last`.

    >>> places = cutting_places(np.array([2, 4, 6, 15]), np.ones(15, bool))
    >>> start, last = np.array([0, 0, 6]), np.array([15, 15, 15])
    >>> sequence_ends(places, start, last, target=np.array([1, 7, 7]), max_tokens=7)
    array([ 4,  6, 13])

    Two sentences where the target is short; all that fit where it is full; and a part
    of one longer than a sequence.
    """
    ends = places.sentence_ends
    one_word = places.cut_after(start)
    one_sentence = ends[np.searchsorted(ends, one_word)]
    # What is to be divided into a pair goes on to a second sentence.
    reached = np.searchsorted(ends, np.maximum(start + target, one_sentence + 1))
    end = np.minimum(ends[np.minimum(reached, len(ends) - 1)], last)
    before = ends[reached - 1]
    cut = places.cut_before(start + max_tokens)
    # Where even the first sentence does not fit, or is a word, one is cut.
    whole = (before > one_word) & (before - start <= max_tokens)
    return np.where(end - start <= max_tokens, end, np.where(whole, before, cut))
