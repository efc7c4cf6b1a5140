"""Which words of held-out text a model is asked about: the same in any vocabulary."""

import functools
import hashlib
import heapq
import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.example import SPACE, SPECIAL_TOKENS

Bools = npt.NDArray[np.bool_]
Row = npt.NDArray[Any]

# The share of all words that may be asked about.
SHARE = 0.15

# Words are drawn from this much text, about 800,000 of them in English.
TEXT_LETTERS = 4_000_000

# Letters on either side that tell one occurrence of a word from another.
CONTEXT = 16


class Vocabulary(NamedTuple):
    """The tokens of a vocabulary.

    Attributes:
        tokens: The text of each, `[V]`.
        word_starts: Whether each starts a word, `[V]`.
    """

    tokens: Sequence[str]
    word_starts: Bools


class Span(NamedTuple):
    """Some tokens of a row that stand side by side.

    Attributes:
        row: The row that they stand in.
        start: The first of them.
        end: The place after the last.
    """

    row: int
    start: int
    end: int


class Word(NamedTuple):
    """An occurrence of a word.

    Attributes:
        span: Its tokens.
        characters: How many characters it has, its space not counted.
        key: Hash of the word and the letters around it, from 0 to 2**64 - 1.
    """

    span: Span
    characters: int
    key: int


def sample_words(
    rows: Iterable[Row], vocabulary: Vocabulary, *, maximum: int
) -> list[Word]:
    """A sample of the words of some rows: `SHARE` of them, or `maximum`.

    Which ones follows from the text alone, not from how a vocabulary divides it, so
    that models of different vocabularies are asked about the same words of the same
    text (up to those that stand where one of them ends a row).

    Args:
        rows: Token ids, special ones included, nothing masked.

    Returns:
        The words in the order of the text.
    """
    bound = round(SHARE * (1 << 64))
    asked = (word for word in words_of_rows(rows, vocabulary) if word.key < bound)
    return sorted(heapq.nsmallest(maximum, asked, key=lambda word: word.key))


def words_of_rows(rows: Iterable[Row], vocabulary: Vocabulary) -> Iterator[Word]:
    """All words of some rows; see `words_of_row`."""
    for number, row in enumerate(rows):
        shown = [vocabulary.tokens[token] for token in row.tolist()]
        yield from words_of_row(shown, vocabulary.word_starts[row], number=number)


def first_rows(rows: Iterable[Row], vocabulary: Vocabulary) -> Iterator[Row]:
    """Rows up to `TEXT_LETTERS` letters: nearly the same text in any vocabulary."""
    letters = np.array([len(_letters(text)) for text in vocabulary.tokens])
    left = TEXT_LETTERS
    for row in rows:
        if left <= 0:
            return
        yield row
        left -= int(letters[row].sum())


def words_of_row(
    shown: Sequence[str], starts: Bools, *, number: int = 0
) -> Iterator[Word]:
    """The words of a row that consist of letters alone.

    Numbers are left out, because vocabularies divide them into words of their own.

    Args:
        shown: The text of each token, special ones included, `[S]`.
        starts: Whether each starts a word, `[S]`.

    >>> shown = ["[CLS]", "▁a", "▁riv", "er", "▁7", ".", "[SEP]"]
    >>> starts = np.array([True, True, True, False, True, True, True])
    >>> [(word.span, word.characters) for word in words_of_row(shown, starts)]
    [(Span(row=0, start=1, end=2), 1), (Span(row=0, start=2, end=4), 5)]
    """
    spelled = [_letters(token) for token in shown]
    text = "".join(spelled)
    ends = [0, *itertools.accumulate(map(len, spelled))]
    for start, end in word_bounds(starts):
        first, last = ends[start], ends[end]
        whole = "".join(shown[start:end]).removeprefix(SPACE)
        if whole and whole == text[first:last]:
            before, after = text[max(0, first - CONTEXT) : first], text[last:]
            key = _hash(f"{before} {whole} {after[:CONTEXT]}")
            yield Word(Span(number, start, end), len(whole), key)


def word_bounds(starts: Bools) -> Iterator[tuple[int, int]]:
    """Where each word of a row begins and ends, from where words start, `[S]`.

    >>> list(word_bounds(np.array([True, False, True])))
    [(0, 2), (2, 3)]
    """
    return itertools.pairwise([*np.flatnonzero(starts).tolist(), len(starts)])


@functools.lru_cache(maxsize=1 << 17)
def _letters(token: str) -> str:
    """The letters of a token, and the marks on them; a special token has none."""
    if token in SPECIAL_TOKENS:
        return ""
    return "".join(filter(is_letter, token))


def is_letter(character: str) -> bool:
    """Whether a word may have this character: a letter or a mark on one.

    >>> [is_letter(c) for c in ("é", "の", "3", "'", "▁")]
    [True, True, False, False, False]
    """
    return unicodedata.category(character)[0] in "LM"


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
