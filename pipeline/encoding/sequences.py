"""One or two texts become [CLS] A [SEP] or [CLS] A [SEP] B [SEP]."""

from array import array
from collections.abc import Sequence

from schemas.special_tokens import CLS_ID, SEP_ID
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

    Args:
        first: Tokens of the first text.
        second: Of the second.
        room: Tokens that both may have together.

    >>> cut_pair(10, 10, room=5), cut_pair(2, 10, room=5), cut_pair(10, 2, room=5)
    ((3, 2), (2, 3), (3, 2))
    >>> cut_pair(1, 2, room=5)
    (1, 2)
    """
    second = min(second, max(room - first, room // 2))
    return min(first, room - second), second
