"""What a person asks a trained model: text with [MASK] in it, or two passages."""

from typing import NamedTuple

import numpy as np

from pipeline.encoding.sequences import SPECIAL_OF_PAIR
from pipeline.examples.packing import cuttable
from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.errors import AlbertError
from schemas.example import CLS_ID, MASK, MASK_ID, SEP_ID

# How much of a text is quoted in a message.
_QUOTED = 60


def encode_masked(text: str, tokenizer: Tokenizer) -> list[int]:
    """The ids of a text between [CLS] and [SEP], with one [MASK] token at each mask.

    The text around a mask is divided as if a token stood there: after a space a new
    word begins, and text that touches the mask continues its word. A space before a
    mask makes no difference: in training the mask replaces its token's space too.
    """
    check_text(text)
    first, *others = text.split(MASK)
    if not others:
        raise AlbertError(
            f"{quoted(text)} has no {MASK}; write {MASK} where a token is to be found."
        )
    ids = [CLS_ID, *tokenizer.encode([first])[0]]
    for part in others:
        ids += [MASK_ID, *tokenizer.encode_after(part)]
    return [*ids, SEP_ID]


def check_text(text: str) -> None:
    """Refuse a text that was typed or sent in another encoding than UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise AlbertError(f"{quoted(text)} is not UTF-8; convert it first.") from None


def check_length(text: str, length: int, *, longest: int) -> None:
    """Refuse a text of more tokens than a model reads."""
    if length > longest:
        raise AlbertError(
            f"{quoted(text)} has {length} tokens with [CLS] and [SEP] and the "
            f"model reads {longest}; give less text."
        )


def quoted(text: str) -> str:
    """A text as a message shows it, cut where it is long.

    >>> quoted("word " * 100)
    '"word word word word word word word word word word word word ..."'
    """
    shown = text if len(text) <= _QUOTED else f"{text[:_QUOTED].rstrip()} ..."
    return f'"{shown}"'


class PassagePair(NamedTuple):
    """What a model is asked about two passages."""

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
    room = max_seq_length - SPECIAL_OF_PAIR
    # As many whole words as fit, from the end of one and the beginning of the other.
    room_a = max(room // 2, room - len(b))
    kept_a = a[min(n for n in _cuts(a, tokenizer, room=room_a) if len(a) - n <= room_a) :]
    room_b = room - len(kept_a)
    kept_b = b[: max(n for n in _cuts(b, tokenizer, room=room_b) if n <= room_b)]
    return PassagePair(
        [CLS_ID, *kept_a, SEP_ID, *kept_b, SEP_ID],
        tokens=(len(a), len(b)),
        tokens_read=(len(kept_a), len(kept_b)),
    )


def _cuts(ids: list[int], tokenizer: Tokenizer, *, room: int) -> list[int]:
    """Where a passage may be cut, also inside a word that is longer than fits, and its end."""
    starts = tokenizer.starts(np.array(ids, np.int32))
    starts[0] = True
    return [*np.flatnonzero(cuttable(starts, max_tokens=room)).tolist(), len(ids)]
