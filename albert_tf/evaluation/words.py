"""Which words of held-out text a model is asked about: the same in any vocabulary."""

import hashlib
import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from schemas.special_tokens import SPACE

# The share of all words that may be asked about.
SHARE = 0.15

# Characters on either side that tell one occurrence of a word from another.
CONTEXT = 16


class Word(NamedTuple):
    """An occurrence of a word.

    Attributes:
        row: The example that it stands in.
        start: Its first token there.
        end: The place after its last token.
        characters: How many characters it has, its space not counted.
        key: Hash of the word and the text around it, from 0 to 2**64 - 1.
    """

    row: int
    start: int
    end: int
    characters: int
    key: int


def sample_words(
    rows: Iterable[Sequence[int]],
    pieces: Sequence[str],
    *,
    word_starts: npt.NDArray[np.bool_],
    maximum: int,
) -> list[Word]:
    """A sample of the words of some examples, `SHARE` of them or `maximum`.

    Which ones follows from the text alone, not from how a vocabulary divides it, so
    that models of different vocabularies are asked about the same words of the same
    text (up to those that stand where one of them ends an example).

    Args:
        rows: Token ids of each example, nothing masked.
        pieces: The text of each token, `[V]`.
        word_starts: Whether a token starts a word, `[V]`.
        maximum: The maximum number of words.

    Returns:
        The words in the order of their examples.
    """
    bound = round(SHARE * (1 << 64))
    words = [
        word
        for number, row in enumerate(rows)
        for word in words_of_row(row, pieces, word_starts=word_starts, number=number)
        if word.key < bound
    ]
    return sorted(sorted(words, key=lambda word: word.key)[:maximum])


def words_of_row(
    row: Sequence[int],
    pieces: Sequence[str],
    *,
    word_starts: npt.NDArray[np.bool_],
    number: int = 0,
) -> Iterator[Word]:
    """The words of one example that consist of letters alone.

    Numbers are left out, because vocabularies divide them into words of their own.

    Args:
        row: Token ids, special ones included.
        pieces: The text of each token, `[V]`.
        word_starts: Whether a token starts a word, `[V]`.
        number: Of the example.

    >>> pieces = ["[CLS]", "[SEP]", "▁a", "▁riv", "er", ".", "▁7"]
    >>> starts = np.array([True, True, True, True, False, True, True])
    >>> words = words_of_row([0, 2, 3, 4, 6, 5, 1], pieces, word_starts=starts)
    >>> [word[1:4] for word in words]
    [(1, 2, 1), (2, 4, 5)]
    """
    shown = [pieces[token] for token in row]
    text = "".join(shown)
    ends = np.cumsum([len(piece) for piece in shown])
    starts = [*np.flatnonzero(word_starts[np.asarray(row, np.int64)]), len(row)]
    for start, end in itertools.pairwise(starts):
        first, last = int(ends[start]) - len(shown[start]), int(ends[end - 1])
        letters = text[first:last].removeprefix(SPACE)
        if letters and all(map(is_letter, letters)):
            around = text[max(0, last - len(letters) - CONTEXT) : last + CONTEXT]
            yield Word(number, int(start), int(end), len(letters), hash_of(around))


def is_letter(character: str) -> bool:
    """Whether a word may have this character: a letter or a mark on one.

    >>> [is_letter(c) for c in ("é", "の", "3", "'", "▁")]
    [True, True, False, False, False]
    """
    return unicodedata.category(character)[0] in "LM"


def hash_of(text: str) -> int:
    """A hash of eight bytes."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
