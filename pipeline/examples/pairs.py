"""Sequences become pairs [CLS] A [SEP] B [SEP] with a sentence-order label.

A pair never takes text from another document: the published code does so whenever a
sequence has one sentence, and labels that "swapped".
"""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Bool, Ids, Int, Keys, below, happens, purpose_keys
from schemas.example import CLS_ID, SEP_ID


@dataclasses.dataclass(frozen=True)
class Pairs:
    """R pairs over the tokens of one shard; a range is [start, end) in those tokens.

    Attributes:
        a_start, a_end: The first segment as written, `[R]`.
        b_start, b_end: The second segment, an empty range if there is only one, `[R]`.
        labels: 0 in order, 1 swapped, `[R]`.
        keys: What all further draws for a row derive from, `[R]`.
    """

    a_start: Int
    a_end: Int
    b_start: Int
    b_end: Int
    labels: Int
    keys: Keys

    def __len__(self) -> int:
        return len(self.keys)


@dataclasses.dataclass(frozen=True)
class Rows:
    """R assembled rows, one after the other.

    Attributes:
        ids: Token ids of all rows, `[T]`.
        offsets: Where each row starts; the last is T, `[R + 1]`.
        word_starts: Whether a token starts a word, `[T]`; true at special tokens and
            after them.
    """

    ids: Ids
    offsets: Int
    word_starts: Bool


def split_points(starts: Int, ends: Int, *, sentence_starts: Int, may_cut: Bool, keys: Keys) -> Int:
    """A random place inside each range: a sentence start, failing that a word start.

    Args:
        starts: Of the ranges, `[R]`; each range holds at least two words.
        ends: Of the ranges, `[R]`.
        sentence_starts: All of them, ascending.
        may_cut: Whether a range may be divided at a token, `[N]`.
        keys: Of the sequences, `[R]`.

    >>> split_points(
    ...     np.array([0, 5]), np.array([5, 9]), sentence_starts=np.array([0, 3]),
    ...     may_cut=np.array([1, 0, 1, 1, 0, 1, 0, 0, 1], bool),
    ...     keys=np.array([1, 2], np.uint64))
    array([3, 8])
    """
    bits = purpose_keys(keys, "split")
    first = np.searchsorted(sentence_starts, starts, side="right")
    count = np.searchsorted(sentence_starts, ends, side="left") - first
    places: Int = sentence_starts[(first + below(bits, count)) % len(sentence_starts)]
    for row in np.flatnonzero(count == 0):
        inner = np.flatnonzero(may_cut[starts[row] + 1 : ends[row]])
        chosen = below(bits[row : row + 1], len(inner))
        places[row] = starts[row] + 1 + inner[chosen[0]]
    return places


def sentence_order_pairs(starts: Int, middles: Int, ends: Int, *, keys: Keys) -> Pairs:
    """Swap the two halves of each range with probability 1/2 (paper, section 3.1)."""
    swapped = happens(purpose_keys(keys, "swap"), 0.5)
    return Pairs(
        a_start=np.where(swapped, middles, starts),
        a_end=np.where(swapped, ends, middles),
        b_start=np.where(swapped, starts, middles),
        b_end=np.where(swapped, middles, ends),
        labels=swapped.astype(np.int64),
        keys=keys,
    )


def other_segments(
    documents: Int,
    lengths: Int,
    *,
    room: Int,
    sentence_starts: Int,
    document_starts: Int,
    may_cut: Bool,
    keys: Keys,
) -> tuple[Int, Int]:
    """Text of another document for each of R rows, about as long as asked for.

    It begins with a random sentence that has enough text after it, if there is one, and
    ends with the sentence that comes nearest to the wanted length: neither a length nor
    a sentence cut off shows which pairs are consecutive. A sentence longer than the
    room is cut at a word.

    Args:
        documents: The row's own document, `[R]`.
        lengths: Tokens wanted, `[R]`.
        room: Maximum number of tokens, at least `lengths`, `[R]`.
        document_starts: Of D documents, at least two; the last is the end, `[D + 1]`.
        may_cut: Whether a range may end before a token, `[N]`.
    """
    other = below(purpose_keys(keys, "other document"), len(document_starts) - 2)
    other += other >= documents
    first, last = document_starts[other], document_starts[other + 1]
    lowest = np.searchsorted(sentence_starts, first)
    highest = np.searchsorted(sentence_starts, last - lengths, side="right")
    count = np.maximum(highest - lowest, 1)
    bits = purpose_keys(keys, "other sentence")
    starts: Int = sentence_starts[lowest + below(bits, count)]
    ends = nearest_ends(starts, starts + lengths, last, sentence_starts=sentence_starts, room=room)
    for row in np.flatnonzero(ends == starts):
        cuts = np.flatnonzero(may_cut[starts[row] + 1 : starts[row] + lengths[row] + 1])
        ends[row] = starts[row] + (1 + cuts[-1] if len(cuts) else lengths[row])
    return starts, ends


def nearest_ends(starts: Int, wanted: Int, last: Int, *, sentence_starts: Int, room: Int) -> Int:
    """The sentence end nearest to each wanted one; the start where there is no room.

    >>> nearest_ends(np.array([0, 0]), np.array([4, 7]), np.array([20, 20]),
    ...              sentence_starts=np.array([0, 5, 9, 12]), room=np.array([7, 8]))
    array([5, 5])

    The second wants 7: 9 is as near as 5 but leaves the room of 8.
    """
    following = np.searchsorted(sentence_starts, wanted)
    before = np.maximum(sentence_starts[following - 1], starts)
    is_last = following == len(sentence_starts)
    after = np.where(is_last, last, sentence_starts[np.where(is_last, 0, following)])
    after = np.minimum(after, last)
    fits = after - starts <= room
    is_nearer = (after - wanted <= wanted - before) | (before == starts)
    return np.where(fits & is_nearer, after, before)


def ranges(starts: Int, lengths: Int) -> Int:
    """The numbers of several ranges, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(lengths)
    steps = np.arange(ends[-1] if len(ends) else 0)
    numbers: Int = steps + np.repeat(starts - (ends - lengths), lengths)
    return numbers


def assemble(pairs: Pairs, *, ids: npt.NDArray[np.integer], word_starts: Bool) -> Rows:
    """Write out [CLS] A [SEP] B [SEP] for every pair.

    Args:
        ids: Tokens of the shard, `[N]`.
        word_starts: Whether each starts a word, `[N]`.

    >>> one = [np.array([n]) for n in (0, 2, 2, 3, 0)]
    >>> rows = assemble(
    ...     Pairs(*one, keys=np.zeros(1, np.uint64)),
    ...     ids=np.array([13, 14, 15], np.int32),
    ...     word_starts=np.array([True, False, False]),
    ... )
    >>> rows.ids
    array([ 2, 13, 14,  3, 15,  3], dtype=int32)
    >>> rows.word_starts
    array([ True,  True, False,  True,  True,  True])
    """
    a_length, b_length = pairs.a_end - pairs.a_start, pairs.b_end - pairs.b_start
    has_b = b_length > 0
    offsets = np.append(0, np.cumsum(a_length + b_length + 2 + has_b))
    separators = np.concatenate([offsets[:-1] + 1 + a_length, offsets[1:][has_b] - 1])
    row_ids = _between(CLS_ID, SEP_ID, pairs, ids).astype(np.int32, copy=False)
    starts = _between(True, True, pairs, word_starts)
    # After a special token a word starts, also where a long one was cut.
    starts[offsets[:-1] + 1] = True
    starts[separators[: len(pairs)][has_b] + 1] = True
    return Rows(row_ids, offsets, starts)


def _between(
    first: int, separator: int, pairs: Pairs, values: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Both segments of each pair with values before, between and after them."""
    # Joining bytes is faster than joining many short arrays, or a look-up by index.
    data, size = values.view(np.uint8).data, values.itemsize
    head, tail = (np.array(n, values.dtype).tobytes() for n in (first, separator))
    parts: list[bytes | memoryview] = []
    bounds = (pairs.a_start, pairs.a_end, pairs.b_start, pairs.b_end)
    for a_start, a_end, b_start, b_end in zip(
        *((size * bound).tolist() for bound in bounds), strict=True
    ):
        parts += (head, data[a_start:a_end], tail)
        if b_end > b_start:
            parts += (data[b_start:b_end], tail)
    return np.frombuffer(bytearray().join(parts), values.dtype)
