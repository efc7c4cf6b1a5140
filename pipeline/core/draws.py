"""Random draws as functions of (key, counter): no state, so any order and any batch.

A key stands for one decision of one sequence of one copy of one document. The mixer is
the finalizer of SplitMix64 (Steele, Lea and Flood 2014), which passes BigCrush on
consecutive counters; integer arithmetic alone decides, so all machines agree. The types
of arrays that every room speaks of are here too.
"""

import dataclasses
import hashlib
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
# Ids of tokens: four bytes are enough for any vocabulary.
Ids = npt.NDArray[np.int32]
# What random draws derive from, and the bits that are drawn.
Keys = npt.NDArray[np.uint64]


def columns_of(table: Any) -> list[npt.NDArray[Any]]:
    """The arrays of a dataclass that has no other attributes, in their order."""
    return [getattr(table, field.name) for field in dataclasses.fields(table)]


# The place of a purpose is part of every draw made for it, so a new one goes last.
Purpose = Literal[
    "target",
    "split",
    "swap",
    "rank",
    "ngram",
    "place",
    "search",
    "replace",
    "token",
    "other document",
    "other sentence",
]
PURPOSES = {purpose: number for number, purpose in enumerate(get_args(Purpose), 1)}

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_GOLDEN64, _FIRST64, _SECOND64 = (np.uint64(c) for c in (_GOLDEN, _FIRST, _SECOND))
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)


def hash_key(*parts: bytes) -> int:
    """A 64-bit key from byte strings, where the domain is entered.

    >>> hex(hash_key(b"seed", b"document"))
    '0x931c38c18bda6044'
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return int.from_bytes(digest.digest(), "little")


def draw(key: int, counter: int) -> int:
    """64 random bits for one key and counter; also the key of a narrower domain."""
    x = (key + (counter + 1) * _GOLDEN) & _MASK
    x = ((x ^ (x >> 30)) * _FIRST) & _MASK
    x = ((x ^ (x >> 27)) * _SECOND) & _MASK
    return x ^ (x >> 31)


def draws(keys: Keys, counters: int | npt.NDArray[np.integer]) -> Keys:
    """`draw` over arrays: 64 random bits for each key and counter, `[N]`."""
    # As an array a number wraps around without a warning.
    numbers = np.atleast_1d(counters).astype(np.uint64) + np.uint64(1)
    bits: Keys = keys + numbers * _GOLDEN64
    for shift, factor in ((_30, _FIRST64), (_27, _SECOND64)):
        bits ^= bits >> shift
        bits *= factor
    bits ^= bits >> _31
    return bits


def purpose_keys(keys: Keys, purpose: Purpose) -> Keys:
    """The keys of one kind of decision, `[N]`."""
    return draws(keys, PURPOSES[purpose])


def below(bits: Keys, bound: int | npt.NDArray[np.integer]) -> Int:
    """Uniform integers in [0, bound) from random bits; bound below 2**32, `[N]`.

    >>> below(np.array([0, 1 << 63, (1 << 64) - 1], np.uint64), 10)
    array([0, 5, 9])
    """
    bounds = np.asarray(bound).astype(np.uint64)
    return (((bits >> np.uint64(32)) * bounds) >> np.uint64(32)).astype(np.int64)


def happens(bits: Keys, probability: float) -> Bool:
    """Whether an event of this probability happens, `[N]`.

    >>> happens(np.array([0, (1 << 63) - 1, 1 << 63], np.uint64), 0.5)
    array([ True,  True, False])
    """
    return (bits >> np.uint64(32)) < np.uint64(round(probability * (1 << 32)))
