"""Near-copies: a signature of each document, the pairs to compare, and which go.

A document is the set of its 5-grams of words; in scripts without spaces each character
is a word. Two documents are near-copies where the sets' Jaccard similarity is high.
One-permutation MinHash (Li, Owen and Zhang 2012) makes a signature from one sorted
array of hashes, optimal densification (Shrivastava 2017) fills its empty bins, and
banding (Leskovec, Rajaraman and Ullman, chapter 3) makes the keys under which documents
meet. The sketch is the set itself, or the least hashes of a large one.

A document is a number of 64 bits, its id. What goes is a function of the set of
documents, so that neither the order of reading nor the worker matters.
"""

import itertools
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Bool, Int, Keys, draws
from pipeline.core.writing_systems import is_unspaced

Choice = Literal["hold-out", "drop"]

Pair = tuple[int, int]

# Of the documents that share a band the first of this number are compared with all, so
# that a text that was copied a million times takes 16 million comparisons.
PIVOTS = 16


NGRAM = 5
BINS = 128
BANDS = 18
ROWS = 7
_SHIFT_OF_BIN, _NONE = np.uint64(64 - BINS.bit_length() + 1), np.uint64(2**64 - 1)
# Near-copies have a Jaccard similarity of this or more.
THRESHOLD = 0.8
# The set is kept whole up to here, 4 KiB; a Jaccard of 0.8 of larger ones is known
# within 0.013.
SKETCH = 1024

Sketch = npt.NDArray[np.uint32]
Letters = npt.NDArray[np.uint32]

# Odd, so that a product modulo 2**64 loses nothing.
_WORD, _LETTER_BASE = 0xD6E8FEB86659FD93, 0x9E3779B97F4A7C15
_ROW_FACTORS = np.array([pow(_WORD, n, 1 << 64) for n in range(ROWS)], np.uint64)
_BLOCK_CHARACTERS = 1 << 16

# What a character is for words, if not a letter: between them, left out, not met yet.
_SPACE, _MARK, _UNKNOWN = 0, 1, (1 << 32) - 1
_ALONE = np.uint32(1 << 31)
_LETTERS = np.full(sys.maxunicode + 1, _UNKNOWN, np.uint32)
# The letters of which those beside them decide the lower case, or that become two.
_LOWERED_IN_TEXT = "\u03a3\u0130"


class Signature(NamedTuple):
    """What is kept of a document.

    Attributes:
        bands: Its keys, `[BANDS]`; near-copies most likely share one.
        sketch: The high halves of the least hashes of its set, ascending, `[<=SKETCH]`.
    """

    bands: Keys
    sketch: Sketch


def signature(words: Keys) -> Signature | None:
    """The signature of a document from the hashes of its words; None if it has none."""
    if not len(words):
        return None
    hashes = ngram_hashes(words)
    # The least hash in each of BINS equal ranges, `[BINS]`, empty ones densified.
    minima = np.full(BINS, _NONE, np.uint64)
    np.minimum.at(minima, (hashes >> _SHIFT_OF_BIN).astype(np.intp), hashes)
    empty = np.flatnonzero(minima == _NONE)
    asked = minima[_orders()[empty]]
    first = (asked != _NONE).argmax(axis=1)
    minima[empty] = asked[np.arange(len(empty)), first]
    values = minima[: BANDS * ROWS].reshape(BANDS, ROWS)
    sums: Keys = (values * _ROW_FACTORS).sum(axis=1)
    sums += np.arange(BANDS, dtype=np.uint64)
    sketch = (distinct(hashes)[:SKETCH] >> np.uint64(32)).astype(np.uint32)
    return Signature(draws(sums, 0), sketch[are_first(sketch)])


def jaccard(a: Sketch, b: Sketch) -> float:
    """The Jaccard similarity of two sets by their sketches.

    It is exact where both sets are whole, and otherwise a mean over the least SKETCH
    hashes of their union, which are a uniform sample of it.

    >>> jaccard(np.uint32([1, 2, 3, 4]), np.uint32([2, 3, 4, 5]))
    0.6
    """
    union = np.union1d(a, b)
    if max(len(a), len(b)) >= SKETCH:
        union = union[:SKETCH]
    shared = np.isin(union, a, assume_unique=True) & np.isin(union, b, assume_unique=True)
    return float(shared.mean())


def are_near(a: Sketch, b: Sketch) -> bool:
    """Whether two documents are near-copies."""
    return jaccard(a, b) >= THRESHOLD


def ngram_hashes(words: Keys) -> Keys:
    """The hash of each of a text's 5-grams of words, `[G]`.

    >>> len(ngram_hashes(word_hashes("One, two: three four five six?")))
    2
    """
    return draws(ngrams(words, NGRAM), 0)


def distinct(values: Keys) -> Keys:
    """Values that differ, ascending; `np.unique` hashes, and takes ten times as long.

    >>> distinct(np.uint64([7, 5, 7]))
    array([5, 7], dtype=uint64)
    """
    ordered = np.sort(values)
    return ordered[are_first(ordered)]


def are_first(values: npt.NDArray[np.integer]) -> Bool:
    """Whether each value differs from the one before."""
    are_first = np.ones(len(values), np.bool_)
    are_first[1:] = values[1:] != values[:-1]
    return are_first


def ngrams(words: Keys, size: int) -> Keys:
    """What stands for each run of so many words, `[W - size + 1]`; not yet mixed.

    Fewer words, at least one, are one run.
    """
    size = min(size, len(words))
    if size < 2:
        return words
    half, is_odd = divmod(size, 2)
    halves = ngrams(words, half)
    runs = halves[:-half] + halves[half:] * np.uint64(pow(_WORD, half, 1 << 64))
    if is_odd:
        factor = np.uint64(pow(_WORD, size - 1, 1 << 64))
        runs = runs[:-1] + words[size - 1 :] * factor
    return runs


def word_hashes(text: str) -> Keys:
    """A hash of each word of a text, `[W]`.

    A word is what stands between spaces without its marks, or a character of a script
    without spaces. Case does not count.

    >>> word_hashes("ONE two three") == word_hashes("one -- two three!")
    array([ True,  True,  True])
    >>> len(word_hashes("It's 3 words, 東京 two")), len(word_hashes("..."))
    (6, 0)
    """
    found, start = [], 0
    while start < len(text):
        # Whole lines, few enough that the arrays of all stay in the cache.
        end = text.find("\n", start + _BLOCK_CHARACTERS) + 1 or len(text)
        found.append(_hashes_of_block(text[start:end]))
        start = end
    return np.concatenate(found) if found else np.zeros(0, np.uint64)


def _hashes_of_block(block: str) -> Keys:
    """The hash of each word of whole lines, `[W]`, with array operations alone.

    It is a polynomial of its letters modulo 2**64, from the sums up to either end of
    the word, divided by the power at its start: the same wherever the word stands.
    """
    if any(letter in block for letter in _LOWERED_IN_TEXT):
        block = block.lower()
    codes = np.frombuffer(block.encode("utf-32-le", "surrogatepass"), "<u4")
    # The code of its lower case; in a script without spaces, where each letter is a word,
    # with the bit _ALONE.
    letters: Letters = _LETTERS.take(codes)
    if letters.max(initial=0) == _UNKNOWN:
        for code in set(codes[letters == _UNKNOWN].tolist()):
            _LETTERS[code] = _letter(chr(code).lower())
        letters = _LETTERS.take(codes)
    letters = letters[letters != _MARK]
    is_start = np.ones(len(letters) + 1, np.bool_)
    is_start[:-1] = letters != _SPACE
    goes_on = is_start[:-1] & (letters < _ALONE)
    is_start[1:-1] &= ~(goes_on[1:] & goes_on[:-1])
    # The last place is the end of all.
    places = np.flatnonzero(is_start)
    if len(places) == 1:
        return np.zeros(0, np.uint64)
    powers, inverses = _powers(len(letters).bit_length())
    sums = np.cumsum(letters * powers[: len(letters)])[places - 1]
    sums[0] = 0
    hashes: Keys = (sums[1:] - sums[:-1]) * inverses[places[:-1]]
    return hashes


def _letter(character: str) -> int:
    is_letter = unicodedata.category(character)[0] in "LMN"
    if is_unspaced(character):
        return ord(character) | int(_ALONE) if is_letter else _SPACE
    if character.isspace():
        return _SPACE
    return ord(character) if is_letter else _MARK


@cache
def _powers(bits: int) -> tuple[Keys, Keys]:
    """The first 2**bits powers of an odd number, and their inverses, modulo 2**64."""
    powers, inverses = (
        np.full(2**bits, base, np.uint64) for base in (_LETTER_BASE, pow(_LETTER_BASE, -1, 1 << 64))
    )
    powers[0] = inverses[0] = 1
    return np.multiply.accumulate(powers), np.multiply.accumulate(inverses)


@cache
def _orders() -> Int:
    """For each bin the order in which an empty one asks others, `[BINS, BINS]`."""
    keys = np.arange(BINS * BINS, dtype=np.uint64)
    return np.argsort(draws(keys, 2).reshape(BINS, BINS), axis=1)


def groups_by_key(keys: Keys) -> Iterator[Int]:
    """The places of each of the keys `[D]` that stands several times, ascending.

    >>> [group.tolist() for group in groups_by_key(np.uint64([7, 5, 7, 9, 5, 7]))]
    [[1, 4], [0, 2, 5]]
    """
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(are_first(keys[order]))
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
    else:
        held_out = [*filter(is_held_out, members)]
        trained_on = itertools.filterfalse(is_held_out, members)
        yield from itertools.product(held_out[:PIVOTS], trained_on)


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
