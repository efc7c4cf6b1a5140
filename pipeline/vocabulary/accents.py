"""What a text would lose with its combining marks.

Without accents "café" stays readable, but outside the Latin script marks tell letters
apart: カ from ガ, и from й, and Thai loses its tones.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable

from pipeline.vocabulary.normalization import normalize_character

# Above this share of the letters the loss is worth a warning.
WORTH_A_WARNING = 0.01
# A few million letters give the share to within a hundredth of itself.
ENOUGH_SENTENCES = 100_000

# Marks that go with any script; which letters they modify is not known here.
_GENERAL_MARKS = range(0x0300, 0x0370)


def loses_mark(character: str) -> bool:
    """Whether a character outside the Latin script would lose a mark, or is one.

    >>> [loses_mark(c) for c in "éйガ่カ"]
    [False, True, True, True, False]
    """
    if ord(character) in _GENERAL_MARKS or "LATIN" in unicodedata.name(character, ""):
        return False
    if unicodedata.combining(character):
        return True
    without, with_marks = (
        normalize_character(character, cased=True, keep_accents=keep)
        for keep in (False, True)
    )
    return without != with_marks


def share_of_lost_marks(texts: Iterable[str]) -> float:
    """Lost marks for each letter of some texts.

    >>> share_of_lost_marks(["мой", "дом"])
    0.16666666666666666
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    letters = sum(n for c, n in counts.items() if c.isalpha())
    lost = sum(n for c, n in counts.items() if loses_mark(c))
    return lost / letters if letters else 0.0


def warning(share: float) -> str:
    """What to say of such a share; empty if it is small.

    >>> warning(0.08)
    '8.0 % of the letters lose a mark that tells words apart; consider --keep-accents.'
    """
    if share <= WORTH_A_WARNING:
        return ""
    return (
        f"{100 * share:.1f} % of the letters lose a mark that tells words apart; "
        "consider --keep-accents."
    )
