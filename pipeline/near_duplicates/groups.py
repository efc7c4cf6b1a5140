"""Which documents go: the pairs to compare, and the choice among those that are near.

A document is a number of 64 bits, its id. Everything is a function of the set of
documents, so that neither the order of reading nor the worker matters.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import numpy as np

from pipeline.core.draws import Int, Keys

Choice = Literal["hold-out", "drop"]
Pair = tuple[int, int]

# Of the documents that share a band the first of this number are compared with all, so
# that a text that was copied a million times takes 16 million comparisons.
PIVOTS = 16


def groups_by_key(keys: Keys) -> Iterator[Int]:
    """The places of each key that stands several times, ascending.

    Args:
        keys: `[D]`.

    >>> [group.tolist() for group in groups_by_key(np.uint64([7, 5, 7, 9, 5, 7]))]
    [[1, 4], [0, 2, 5]]
    """
    order = np.argsort(keys, kind="stable")
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = keys[order][1:] != keys[order][:-1]
    starts = np.flatnonzero(is_first)
    sizes = np.diff(starts, append=len(keys))
    for start, size in zip(starts[sizes > 1], sizes[sizes > 1], strict=True):
        yield order[start : start + size]


def pairs_to_check(
    ids: Iterable[int], choice: Choice, *, is_held_out: Callable[[int], bool]
) -> Iterator[Pair]:
    """The pairs to compare of the documents that share a band.

    >>> list(pairs_to_check([3, 1, 2], "drop", is_held_out=bool))
    [(1, 2), (1, 3), (2, 3)]
    >>> list(pairs_to_check([3, 1, 2], "hold-out", is_held_out=lambda one: one == 2))
    [(2, 1), (2, 3)]
    """
    members = sorted(set(ids))
    if choice == "drop":
        for place, first in enumerate(members[:PIVOTS]):
            yield from ((first, other) for other in members[place + 1 :])
        return
    held_out = [one for one in members if is_held_out(one)]
    trained_on = [one for one in members if not is_held_out(one)]
    for first in held_out[:PIVOTS]:
        yield from ((first, other) for other in trained_on)


def which_go(near_copies: Iterable[Pair], choice: Choice) -> set[int]:
    """The documents that go, of the pairs that are near-copies.

    Of copies that are connected, through others too, the smallest id stays; of a
    held-out document and one of the training split, the held-out one.

    >>> sorted(which_go([(2, 3), (1, 2), (8, 9)], "drop"))
    [2, 3, 9]
    """
    if choice == "hold-out":
        return {other for _, other in near_copies}
    above: dict[int, int] = {}

    def least(one: int) -> int:
        while (other := above.setdefault(one, one)) != one:
            above[one] = one = above[other]
        return one

    for pair in near_copies:
        low, high = sorted(map(least, pair))
        above[high] = low
    return {one for one in list(above) if least(one) != one}
