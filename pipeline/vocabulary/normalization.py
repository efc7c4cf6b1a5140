"""The text normalization of a vocabulary, as rules that live inside the model file.

ALBERT's own (google-research/albert, `preprocess_text`): white space collapsed, NFKD,
combining marks dropped, lower case. Compiled into the SentencePiece model it cannot be
forgotten or mismatched, and encoding needs no pass in Python.
"""

import functools
import sys
import unicodedata
from collections.abc import Callable, Iterator

# What nmt_nfkc, the normalization of ALBERT's published model, reads as white space
# beyond Unicode's own: zero-width and direction marks, SentencePiece's own meta symbol,
# the byte-order mark and the replacement character.
_SPACE_LIKE = frozenset("\u061c\u200b\u200c\u200e\u200f\u2581\ufeff\ufffd")

# Two-character quotation marks, as Hugging Face's ALBERT tokenizer reads them.
QUOTES = {"``": '"', "''": '"'}

_UNASSIGNED = ("Cn", "Co", "Cs")


def normalize_character(character: str, *, cased: bool, keep_accents: bool) -> str:
    r"""What one character becomes.

    >>> [normalize_character(c, cased=False, keep_accents=False) for c in "Éﬁ가\t"]
    ['e', 'fi', '가', ' ']
    """
    if character.isspace() or character in _SPACE_LIKE:
        return " "
    if unicodedata.category(character) == "Cc":
        return ""
    text = unicodedata.normalize("NFKD", character)
    if not keep_accents:
        text = "".join(c for c in text if not unicodedata.combining(c))
    if not cased:
        text = text.lower()
    # Recomposed, so that Korean syllables stay whole.
    return unicodedata.normalize("NFKC", text)


def composed_sequences(character: str) -> set[str]:
    """The ways to write an accented character with combining marks.

    >>> sorted(len(s) for s in composed_sequences("ế"))
    [2, 3]
    """
    full = unicodedata.normalize("NFD", character)
    if len(full) == 1 or unicodedata.normalize("NFC", full) != character:
        return set()
    return {full, unicodedata.normalize("NFC", full[:-1]) + full[-1]}


def normalization_rules(
    normalize: Callable[[str], str],
) -> Iterator[tuple[str, str]]:
    """Every source text that a normalization changes, and what it becomes.

    Args:
        normalize: What a character becomes, or an accented one in several.
    """
    yield from QUOTES.items()
    # U+0000 ends a string inside SentencePiece and cannot be the source of a rule.
    for code in range(1, sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character) in _UNASSIGNED:
            continue
        target = normalize(character)
        if target != character:
            yield character, target
        for sequence in sorted(composed_sequences(character)):
            if target != "".join(map(normalize, sequence)):
                yield sequence, target


def rules_tsv(normalize: Callable[[str], str]) -> str:
    r"""The rules as SentencePiece reads them: hexadecimal code points, a tab between.

    >>> rules_tsv(albert_normalization(cased=False, keep_accents=False)).splitlines()[0]
    '60 60\t22'
    """
    return "".join(
        f"{_code_points(source)}\t{_code_points(target)}\n"
        for source, target in normalization_rules(normalize)
    )


def albert_normalization(*, cased: bool, keep_accents: bool) -> Callable[[str], str]:
    """What a character becomes in the vocabularies made here."""
    return functools.partial(
        normalize_character, cased=cased, keep_accents=keep_accents
    )


def _code_points(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)
