"""Text with [MASK] written in it becomes the tokens that a model saw in training."""

from pipeline.vocabulary.tokenizer import Tokenizer
from schemas.errors import AlbertError
from schemas.special_tokens import CLS_ID, MASK, MASK_ID, SEP_ID

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


def quoted(text: str) -> str:
    """A text as a message shows it, cut where it is long.

    >>> quoted("word " * 100)
    '"word word word word word word word word word word word word ..."'
    """
    shown = text if len(text) <= _QUOTED else f"{text[:_QUOTED].rstrip()} ..."
    return f'"{shown}"'
