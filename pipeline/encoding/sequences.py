"""Texts, pairs, words and windows become [CLS] A [SEP] or [CLS] A [SEP] B [SEP].

A passage that is too long for a question becomes several windows; an answer is looked
for in each.
"""

import bisect
import functools
from array import array
from collections.abc import Callable, Iterator, Sequence

from pipeline.core.writing_systems import is_unspaced
from pipeline.vocabulary.tokenizer import TokenizedText, Tokenizer
from schemas.example import CLS_ID, SEP_ID, UNK_ID
from schemas.task import Answer, TokenSequence, Window

# Of two windows in which a token has as much context, the longer counts as having more.
_SHARE_OF_LENGTH = 0.01

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


def word_encoder(tokenizer: Tokenizer) -> Callable[[Sequence[str]], list[list[int]]]:
    """What makes tokens of the words of a sentence; each word has at least one.

    There is a space between two words unless both are of scripts written without
    spaces.
    """
    beginning = functools.cache(lambda word: tokenizer.encode([word])[0] or [UNK_ID])
    following = functools.cache(lambda word: tokenizer.encode_after(word) or [UNK_ID])

    def encode(words: Sequence[str]) -> list[list[int]]:
        encoded, before = list[list[int]](), ""
        for word in words:
            is_joined = before and is_unspaced(before[-1]) and is_unspaced(word[:1])
            encoded.append(following(word) if is_joined else beginning(word))
            before = word
        return encoded

    return encode


def parts_of_sentence(
    words: Sequence[Sequence[int]], *, room: int
) -> Iterator[tuple[int, list[Sequence[int]]]]:
    """The parts of a sentence that fit, of whole words, none left out.

    Yields:
        The number of the first word, and the tokens of each; a word that alone is too long
        loses its end.

    >>> list(parts_of_sentence([[7, 8], [9], [10, 11, 12, 13]], room=3))
    [(0, [[7, 8], [9]]), (2, [[10, 11, 12]])]
    """
    first, part = 0, list[Sequence[int]]()
    for number, word in enumerate(words):
        kept = word[:room]
        if part and sum(map(len, part)) + len(kept) > room:
            yield first, part
            first, part = number, []
        part.append(kept)
    yield first, part


def window_ranges(length: int, *, room: int, stride: int) -> list[range]:
    """The tokens of a passage that each window has.

    >>> window_ranges(10, room=6, stride=3)
    [range(0, 6), range(3, 9), range(6, 10)]
    >>> window_ranges(0, room=6, stride=3)
    [range(0, 0)]
    """
    ranges = [range(min(room, length))]
    while ranges[-1].stop < length:
        start = ranges[-1].start + min(stride, room)
        ranges.append(range(start, min(start + room, length)))
    return ranges


def best_windows(ranges: Sequence[range], length: int) -> list[int]:
    """The window in which each token has most context on its shorter side.

    >>> best_windows([range(0, 6), range(3, 9), range(6, 10)], 10)
    [0, 0, 0, 0, 0, 1, 1, 1, 2, 2]
    """
    best, scores = [0] * length, [-1.0] * length
    for number, tokens in enumerate(ranges):
        for token in tokens:
            context = min(token - tokens.start, tokens.stop - 1 - token)
            score = context + _SHARE_OF_LENGTH * len(tokens)
            if score > scores[token]:
                best[token], scores[token] = number, score
    return best


def passage_windows(
    question: Sequence[int],
    passage: TokenizedText,
    answer: tuple[int, int] | None,
    *,
    max_seq_length: int,
    stride: int,
) -> Iterator[tuple[TokenSequence, Window, tuple[int, int]]]:
    """The windows of a passage as a model reads them.

    Args:
        answer: The first token of an answer in the passage, and its last.

    Yields:
        `[CLS] question [SEP] window [SEP]`, where its tokens stand in the passage, and where
        both tokens of the answer stand in it: (0, 0) if they do not.
    """
    room = max_seq_length - SPECIAL_OF_PAIR - len(question)
    ranges = window_ranges(len(passage.ids), room=room, stride=stride)
    best = best_windows(ranges, len(passage.ids))
    before = [-1] * (len(question) + SPECIAL_OF_PAIR - 1)
    for number, tokens in enumerate(ranges):
        inside = slice(tokens.start, tokens.stop)
        is_best = (best[token] == number for token in tokens)
        window = Window(
            starts=array("i", [*before, *passage.starts[inside], -1]),
            ends=array("i", [*before, *passage.ends[inside], -1]),
            has_max_context=bytes([*bytes(len(before)), *is_best, 0]),
        )
        found = 0, 0
        if answer and answer[0] in tokens and answer[1] in tokens:
            offset = len(before) - tokens.start
            found = answer[0] + offset, answer[1] + offset
        yield sequence_of(question, passage.ids[inside]), window, found


def answer_tokens(passage: TokenizedText, answer: Answer) -> tuple[int, int] | None:
    """The first and the last token of an answer; None if no token is in it.

    >>> passage = TokenizedText([7, 8, 9], [0, 4, 8], [3, 7, 9])
    >>> answer_tokens(passage, Answer("bc def", 1))
    (0, 1)
    """
    starts, ends = passage.starts, passage.ends
    # Neither ever goes back, as tokens follow each other.
    first = bisect.bisect_right(ends, answer.start)
    last = bisect.bisect_left(starts, answer.start + len(answer.text)) - 1
    while first <= last and starts[first] == ends[first]:
        first += 1
    while first <= last and starts[last] == ends[last]:
        last -= 1
    return (first, last) if first <= last else None


def best_answer(passage: TokenizedText, answers: Sequence[Answer]) -> tuple[int, int] | None:
    """The tokens of the first answer that begins and ends where tokens do.

    An answer that is a part of a token comes back with more text around it. Some in
    SQuAD's dev set are, such as "ten" in "contend", while others to the same question
    are not.

    Args:
        answers: All that are right; those with start -1 are not in the passage.

    Returns:
        Those of the first answer there is if none is whole; None if there is none.

    >>> passage = TokenizedText([7, 8], [0, 8], [7, 11])
    >>> best_answer(passage, [Answer("ten", 3), Answer("two", 8)])
    (1, 1)
    """
    spans = [
        (tokens, answer)
        for answer in answers
        if answer.start >= 0 and (tokens := answer_tokens(passage, answer))
    ]
    for (first, last), answer in spans:
        if (passage.starts[first], passage.ends[last]) == (
            answer.start,
            answer.start + len(answer.text),
        ):
            return first, last
    return spans[0][0] if spans else None
