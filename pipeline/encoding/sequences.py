"""Texts, pairs and tagged words become [CLS] A [SEP] and [CLS] A [SEP] B [SEP]."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pipeline.core.scripts import is_unspaced
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.example import CLS_ID, SEP_ID, UNK_ID
from schemas.task import TokenSequence

# [CLS] and [SEP]; a pair has one more [SEP].
SPECIAL_OF_ONE, SPECIAL_OF_PAIR = 2, 3


def sequence_of(first: Sequence[int], second: Sequence[int] | None) -> TokenSequence:
    """A sequence of token ids that fit.

    >>> sequence_of([17], [18, 19])
    TokenSequence(token_ids=array('i', [2, 17, 3, 18, 19, 3]), first_length=3)
    """
    ids = [CLS_ID, *first, SEP_ID]
    rest = [] if second is None else [*second, SEP_ID]
    return TokenSequence(array("i", ids + rest), first_length=len(ids))


def cut_pair(first: int, second: int, *, room: int) -> tuple[int, int]:
    """How much of each text of a pair is kept: the longer one loses its end.

    The longer text loses its last token, again and again until both fit, the second if
    both are equally long (google-research/albert, `_truncate_seq_pair`).

    >>> cut_pair(10, 10, room=5), cut_pair(2, 10, room=5), cut_pair(10, 2, room=5)
    ((3, 2), (2, 3), (3, 2))
    >>> cut_pair(1, 2, room=5)
    (1, 2)
    """
    second = min(second, max(room - first, room // 2))
    return min(first, room - second), second


class TaggedPart(NamedTuple):
    """A part of a sentence that fits into a sequence.

    Attributes:
        first_word: The number of its first word in the sentence.
        word_starts: The place of each word's first token in `[CLS] A [SEP]`.
        cut_tokens: Tokens of words that alone are too long.
    """

    first_word: int
    token_ids: list[int]
    word_starts: tuple[int, ...]
    cut_tokens: int


def word_encoder(
    tokenizer: Tokenizer,
) -> Callable[[Sequence[str]], list[list[int]]]:
    """What makes tokens of the words of a sentence; each word has at least one.

    There is a space between two words unless both are of scripts written without
    spaces.
    """
    known: dict[tuple[str, bool], list[int]] = {}

    def encode_word(word: str, *, is_joined: bool) -> list[int]:
        ids = known.get((word, is_joined))
        if ids is None:
            found = (
                tokenizer.encode_after(word)
                if is_joined
                else tokenizer.encode([word])[0]
            )
            ids = known[word, is_joined] = found or [UNK_ID]
        return ids

    def encode(words: Sequence[str]) -> list[list[int]]:
        return [
            encode_word(word, is_joined=_are_joined(before, word))
            for before, word in zip(["", *words], words, strict=False)
        ]

    return encode


def _are_joined(before: str, word: str) -> bool:
    return bool(before and word) and is_unspaced(before[-1]) and is_unspaced(word[0])


def tagged_parts(
    words: Sequence[Sequence[int]], *, max_seq_length: int
) -> Iterator[TaggedPart]:
    """The parts of a sentence, of whole words, none left out.

    >>> for part in tagged_parts([[7, 8], [9], [10, 11]], max_seq_length=5): print(part)
    TaggedPart(first_word=0, token_ids=[7, 8, 9], word_starts=(1, 3), cut_tokens=0)
    TaggedPart(first_word=2, token_ids=[10, 11], word_starts=(1,), cut_tokens=0)
    """
    room = max_seq_length - SPECIAL_OF_ONE
    first, ids, starts, cut = 0, list[int](), list[int](), 0
    for number, word in enumerate(words):
        kept = word[:room]
        if ids and len(ids) + len(kept) > room:
            yield TaggedPart(first, ids, tuple(starts), cut)
            first, ids, starts, cut = number, [], [], 0
        starts.append(1 + len(ids))
        ids = [*ids, *kept]
        cut += len(word) - len(kept)
    yield TaggedPart(first, ids, tuple(starts), cut)
