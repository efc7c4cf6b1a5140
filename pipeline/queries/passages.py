"""Two passages become a pair [CLS] A [SEP] B [SEP] like those of training."""

from typing import NamedTuple

import numpy as np

from pipeline.examples.packing import cuttable
from pipeline.queries.masked_text import check_text
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.errors import AlbertError
from schemas.special_tokens import CLS_ID, SEP_ID

# [CLS], and a [SEP] after each passage.
_SPECIAL_TOKENS = 3


class PassagePair(NamedTuple):
    """What a model is asked about two passages.

    Attributes:
        input_ids: `[CLS] A [SEP] B [SEP]`.
        tokens: How many the two passages have.
        tokens_read: How many of them are in `input_ids`.
    """

    input_ids: list[int]
    tokens: tuple[int, int]
    tokens_read: tuple[int, int]


def pair_passages(
    first: str, second: str, tokenizer: Tokenizer, *, max_seq_length: int
) -> PassagePair:
    """A pair of two passages, cut where they do not fit.

    The pairs of training are consecutive text that is divided somewhere, and begin and
    end in the middle of a text. So the end of the first passage and the beginning of
    the second are kept, in whole words: these meet if the first comes first. Either may
    use the room that the other leaves.
    """
    check_text(first)
    check_text(second)
    a, b = tokenizer.encode([first, second])
    for name, ids in (("first", a), ("second", b)):
        if not ids:
            raise AlbertError(f"The {name} passage is empty; give two passages.")
    room = max_seq_length - _SPECIAL_TOKENS
    kept_a = end_of(a, tokenizer, room=max(room // 2, room - len(b)))
    kept_b = beginning_of(b, tokenizer, room=room - len(kept_a))
    return PassagePair(
        [CLS_ID, *kept_a, SEP_ID, *kept_b, SEP_ID],
        tokens=(len(a), len(b)),
        tokens_read=(len(kept_a), len(kept_b)),
    )


def beginning_of(ids: list[int], tokenizer: Tokenizer, *, room: int) -> list[int]:
    """As many whole words from the beginning as fit."""
    if len(ids) <= room:
        return ids
    return ids[: _word_starts(ids, tokenizer, room=room)[: room + 1].nonzero()[0][-1]]


def end_of(ids: list[int], tokenizer: Tokenizer, *, room: int) -> list[int]:
    """As many whole words from the end as fit."""
    if len(ids) <= room:
        return ids
    start = len(ids) - room
    inner = _word_starts(ids, tokenizer, room=room)[start:].nonzero()[0]
    return ids[start + int(inner[0]) :]


def _word_starts(
    ids: list[int], tokenizer: Tokenizer, *, room: int
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Where a passage may be cut; also inside a word that is longer than fits."""
    starts = tokenizer.word_starts[np.array(ids)]
    starts[0] = True
    return cuttable(starts, max_tokens=room)
