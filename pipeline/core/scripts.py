"""What scripts have in common: which are written without spaces, what ends a sentence.

In a script without spaces every token starts a word, and lines are joined without one.
"""

import re

# Han, Kana, Thai, Lao, Tibetan, Myanmar, Khmer.
_UNSPACED = (
    (0x0E00, 0x109F),
    (0x1780, 0x17FF),
    (0x19E0, 0x19FF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x20000, 0x3FFFF),
)

# A character of such a script, as a set in an expression.
UNSPACED = "".join(f"{chr(first)}-{chr(last)}" for first, last in _UNSPACED)

# What may stand at the end of a sentence, and after it.
SENTENCE_ENDS = ".!?…。！？｡।॥؟۔։።།။។"
CLOSING_MARKS = "\"'»”’)]」』）"

_PUNCTUATION_OF_HAN = "\u3000-\u303f\uff00-\uffef"
_WRAP = re.compile(
    rf"\n(?<=[{UNSPACED}{_PUNCTUATION_OF_HAN}]\n)\s*"
    rf"(?=[{UNSPACED}{_PUNCTUATION_OF_HAN}])"
)


def is_unspaced(character: str) -> bool:
    """Whether a character is of a script written without spaces.

    >>> is_unspaced("語"), is_unspaced("a")
    (True, False)
    """
    return any(first <= ord(character) <= last for first, last in _UNSPACED)


def unwrapped(text: str) -> str:
    r"""A paragraph in one line, with single spaces.

    A line end between characters of scripts without spaces becomes none.

    >>> unwrapped("He came \nlate."), unwrapped("東京は日本の\n首都である。")
    ('He came late.', '東京は日本の首都である。')
    """
    return " ".join(_WRAP.sub("", text).split())
