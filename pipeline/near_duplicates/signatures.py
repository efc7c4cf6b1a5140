"""What is kept of a document to find its near-copies: band keys and a sketch.

A document is the set of its 5-grams of words; in scripts without spaces each character
is a word. Two documents are near-copies where the sets' Jaccard similarity is high.
One-permutation MinHash (Li, Owen and Zhang 2012) makes a signature from one sorted
array of hashes, optimal densification (Shrivastava 2017) fills its empty bins, and
banding (Leskovec, Rajaraman and Ullman, chapter 3) makes the keys under which documents
meet. The sketch is the set itself, or the least hashes of a large one.
"""

import re
import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.draws import Int, Keys, draws, hash_key
from pipeline.core.scripts import UNSPACED

NGRAM = 5
BINS = 128
BANDS = 18
ROWS = 7
# Near-copies have a Jaccard similarity of this or more.
THRESHOLD = 0.8
# The set is kept whole up to here, 4 KiB; a Jaccard of 0.8 of larger ones is known
# within 0.013.
SKETCH = 1024

Sketch = npt.NDArray[np.uint32]

# Odd, so that a product modulo 2**64 loses nothing.
_WORD = 0xD6E8FEB86659FD93


class Signature(NamedTuple):
    """What is kept of a document.

    Attributes:
        bands: Its keys, `[BANDS]`; near-copies most likely share one.
        sketch: The high halves of the least hashes of its set, ascending, `[<=SKETCH]`.
    """

    bands: Keys
    sketch: Sketch


def signature(text: str) -> Signature | None:
    """The signature of a document, or None of one without a word."""
    hashes = ngram_hashes(text)
    if not len(hashes):
        return None
    sketch = (hashes[:SKETCH] >> np.uint64(32)).astype(np.uint32)
    return Signature(band_keys(hashes), np.unique(sketch))


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
    shared = np.isin(union, a, assume_unique=True) & np.isin(
        union, b, assume_unique=True
    )
    return float(shared.mean())


def are_near(a: Sketch, b: Sketch) -> bool:
    """Whether two documents are near-copies."""
    return jaccard(a, b) >= THRESHOLD


def ngram_hashes(text: str) -> Keys:
    """The distinct hashes of a text's 5-grams of words, ascending, `[G]`.

    Case and everything but letters, digits and marks do not count. A text of fewer
    than five words is one gram.

    >>> len(ngram_hashes("One, two: three four five six?"))
    2
    >>> ngram_hashes("ONE two three") == ngram_hashes("one -- two three!")
    array([ True])
    """
    words = word_hashes(text)
    if not len(words):
        return words
    grams = words[: max(1, len(words) - NGRAM + 1)].copy()
    for place in range(1, min(NGRAM, len(words))):
        factor = np.uint64(pow(_WORD, place, 1 << 64))
        grams += words[place : place + len(grams)] * factor
    hashes = draws(grams, 0)
    hashes.sort()
    is_first = np.ones(len(hashes), np.bool_)
    is_first[1:] = hashes[1:] != hashes[:-1]
    return hashes[is_first]


def word_hashes(text: str) -> Keys:
    """A hash of each word of a text, `[W]`.

    A word is what stands between spaces without its marks, or a character of a script
    without spaces.

    >>> len(word_hashes("It's 3 words, 東京 two")), len(word_hashes("..."))
    (6, 0)
    """
    lower = text.lower()
    if _UNSPACED.search(lower):
        lower = _UNSPACED.sub(r" \g<0> ", lower)
    words = lower.split()
    if len(_HASHES) > _MAX_HASHES:
        _HASHES.clear()
    hashes = np.fromiter(map(_HASHES.__getitem__, words), np.uint64, len(words))
    return hashes[hashes > 0]


class _Hashes(dict[str, int]):
    """The hash of each word met; of one without letters and digits it is 0."""

    def __missing__(self, word: str) -> int:
        letters = "".join(c for c in word if unicodedata.category(c)[0] in "LMN")
        self[word] = found = hash_key(letters.encode()) if letters else 0
        return found


_HASHES = _Hashes()
# Words whose hashes are kept: a process reads any amount of text.
_MAX_HASHES = 1 << 20
_UNSPACED = re.compile(f"[{UNSPACED}]")


def band_keys(hashes: Keys) -> Keys:
    """The keys of a set under which its near-copies are sought, `[BANDS]`."""
    values = minima(hashes)[: BANDS * ROWS].reshape(BANDS, ROWS)
    keys = np.arange(BANDS, dtype=np.uint64)
    for column in values.T:
        keys = draws(keys ^ column, 0)
    return keys


def minima(hashes: Keys) -> Keys:
    """The least hash in each of BINS equal ranges, `[BINS]`, empty ones densified.

    Args:
        hashes: Ascending, at least one.
    """
    shift = np.uint64(64 - BINS.bit_length() + 1)
    bins = (hashes >> shift).astype(np.int64)
    first = np.searchsorted(bins, np.arange(BINS))
    found = np.append(hashes, np.uint64(0))[first]
    is_filled = np.append(bins, -1)[first] == np.arange(BINS)
    if is_filled.all():
        return found
    source = _orders()[np.arange(BINS), is_filled[_orders()].argmax(axis=1)]
    return found[np.where(is_filled, np.arange(BINS), source)]


@cache
def _orders() -> Int:
    """For each bin the order in which an empty one asks others, `[BINS, BINS]`."""
    keys = np.arange(BINS * BINS, dtype=np.uint64)
    return np.argsort(draws(keys, 2).reshape(BINS, BINS), axis=1)
