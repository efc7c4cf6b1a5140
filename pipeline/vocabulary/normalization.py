"""The text normalization of a vocabulary, as rules that live inside the model file.

ALBERT's own (google-research/albert, `preprocess_text`): white space collapsed, NFKD,
combining marks dropped, lower case. Compiled into the SentencePiece model it cannot be
forgotten or mismatched, and encoding needs no pass in Python.
"""

import functools
import itertools
import re
import shlex
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from pipeline.vocabulary.tokenizer import Tokenizer, has_own_rules, load_tokenizer
from pipeline.vocabulary.wordpiece import LEAST_SHARE_OF_PIECES
from schemas.example import FIRST_ORDINARY_ID

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


def rules_tsv(normalize: Callable[[str], str]) -> str:
    r"""Every source text that a normalization changes, and what it becomes.

    As SentencePiece reads them: hexadecimal code points, a tab between.

    Args:
        normalize: What a character becomes, or an accented one in several.

    >>> rules_tsv(albert_normalization(cased=False, keep_accents=False)).splitlines()[0]
    '60 60\t22'
    """
    rules = list(QUOTES.items())
    # U+0000 ends a string inside SentencePiece and cannot be the source of a rule.
    for code in range(1, sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character) in _UNASSIGNED:
            continue
        target = normalize(character)
        if target != character:
            rules.append((character, target))
        for sequence in sorted(composed_sequences(character)):
            if target != "".join(map(normalize, sequence)):
                rules.append((sequence, target))
    return "".join(f"{_code_points(source)}\t{_code_points(target)}\n" for source, target in rules)


def albert_normalization(*, cased: bool, keep_accents: bool) -> Callable[[str], str]:
    """What a character becomes in the vocabularies made here."""
    return functools.partial(normalize_character, cased=cased, keep_accents=keep_accents)


# Characters without a form of their own (Default_Ignorable_Code_Point of Unicode), but
# for the zero-width space, which stands between words: directions of writing, soft
# hyphens, joiners of words, selectors of glyphs, fillers.
_FORMAT = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
# Arabic vowel signs as they are printed alone; NFKD puts a space before them, which would stand
# inside of words. A text with such forms has none.
_ALONE = re.compile("[\ufc5e-\ufc63\ufe70\ufe72\ufe74\ufe76\ufe78\ufe7a\ufe7c\ufe7e]")
# They show where letters join, and do so in the middle of words (UAX 29, WB4): between
# two words of a Persian or Telugu compound, or parts of an emoji.
_JOINERS = "\u200c\u200d"

# Languages that tell an i without a dot from one with.
_WITH_DOTLESS_I = "az crh gag tr"
# Lithuanian keeps the dot below an accent (SpecialCasing.txt of Unicode).
_DOT = "\u0307"
_LITHUANIAN = {
    letter: unicodedata.normalize("NFD", letter.lower()).replace(accent, _DOT + accent)
    for letter, accent in (("Ì", "\u0300"), ("Í", "\u0301"), ("Ĩ", "\u0303"))
}

# A text with fewer of these characters has a vocabulary with ALBERT's own rules alone.
_LEAST_SHARE = 1e-4


def normalization_of_text(
    texts: Iterable[str], *, cased: bool, keep_accents: bool, language: str
) -> Callable[[str], str]:
    """The normalization for some text: ALBERT's, with what the text needs beyond it.

    Args:
        language: Of all the text; empty if it is in several.
    """
    albert = albert_normalization(cased=cased, keep_accents=keep_accents)
    dotted = "İ" if keep_accents and not cased else ""
    found = alone = total = 0
    for text in texts:
        total += len(text)
        if not text.isascii():
            found += len(_FORMAT.findall(text)) + sum(map(text.count, f"{_JOINERS}{dotted}"))
            alone += len(_ALONE.findall(text))
    if alone > _LEAST_SHARE * total:
        albert = functools.partial(normalize_alone, albert)
    has_case_of_its_own = not cased and language in f"{_WITH_DOTLESS_I} lt".split()
    if found <= _LEAST_SHARE * total and not has_case_of_its_own:
        return albert
    return functools.partial(normalize_in_language, albert, cased=cased, language=language)


def normalize_alone(albert: Callable[[str], str], text: str) -> str:
    """What a character becomes in text with vowel signs as they are printed alone.

    >>> albert = albert_normalization(cased=False, keep_accents=True)
    >>> albert("\ufe76") == " \u064e", normalize_alone(albert, "\ufe76") == "\u064e"
    (True, True)
    """
    if _ALONE.fullmatch(text):
        return "".join(map(albert, unicodedata.normalize("NFKD", text).lstrip()))
    return albert(text)


def normalize_in_language(
    albert: Callable[[str], str], text: str, *, cased: bool, language: str
) -> str:
    """What a character becomes in text with format characters or a case of its own.

    Args:
        albert: What becomes of it otherwise.

    >>> albert = albert_normalization(cased=False, keep_accents=True)
    >>> turkish = [normalize_in_language(albert, c, cased=False, language="tr")
    ...            for c in "İIı"]
    >>> turkish, normalize_in_language(albert, "İ", cased=False, language="")
    (['i', 'ı', 'ı'], 'i')
    """
    if text in _JOINERS:
        # Like the other marks that are dropped with the accents.
        return text if albert("\u0301") else ""
    if _FORMAT.fullmatch(text):
        return ""
    if cased:
        return albert(text)
    if text == "İ":
        return "i"
    if language in _WITH_DOTLESS_I.split() and unicodedata.normalize("NFKD", text) == "I":
        return "ı"
    if language == "lt" and text in _LITHUANIAN and albert("\u0301"):
        return _LITHUANIAN[text]
    return albert(text)


def _code_points(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)


# Accents are kept where more of the letters would become others: none of English's, a tenth in
# Slovak, a fourth in Vietnamese, where they are tones.
LEAST_CHANGED_LETTERS = 0.01
# A few million letters give the share to within a hundredth of itself.
ENOUGH_SENTENCES = 100_000

# Marks that go with any script; which letters they modify is not known here.
_GENERAL_MARKS = range(0x0300, 0x0370)


def changed_letters(texts: Iterable[str]) -> float:
    """The share of the letters that become others of their alphabet without their marks.

    Args:
        texts: In random order, for only the first are looked at.

    >>> changed_letters(["мой", "дом"]), changed_letters(["дом", "summer"])
    (0.16666666666666666, 0.0)
    """
    counts: Counter[str] = Counter()
    for text in itertools.islice(texts, ENOUGH_SENTENCES):
        counts.update(unicodedata.normalize("NFC", text))
    changed = 0
    for character, count in counts.items():
        without, with_marks = (
            normalize_character(character, cased=True, keep_accents=keep) for keep in (False, True)
        )
        if without != with_marks and ord(character) not in _GENERAL_MARKS:
            changed += count
    return changed / max(1, sum(n for c, n in counts.items() if c.isalpha()))


class Normalization(NamedTuple):
    """What is kept of a text.

    Attributes:
        cased: Capital letters.
        keep_accents: Accents and other combining marks.
    """

    cased: bool
    keep_accents: bool


def normalization_of_pieces(tokenizer: Tokenizer) -> Normalization:
    """What kind of text a vocabulary was made from, judging by its pieces."""
    enough = LEAST_SHARE_OF_PIECES * tokenizer.vocab_size
    ordinary = tokenizer.pieces[FIRST_ORDINARY_ID:]
    cased = sum(piece != piece.lower() for piece in ordinary)
    decomposed = [unicodedata.normalize("NFKD", piece) for piece in ordinary]
    accented = sum(any(map(is_combining, piece)) for piece in decomposed)
    return Normalization(cased=cased > enough, keep_accents=accented > enough)


def missing_normalization(
    tokenizer: Tokenizer, made_from: Normalization | None = None
) -> list[str]:
    """What would have to be done to a text before this model sees it.

    Args:
        made_from: What is kept of a text; by default judged by the pieces.
    """
    made_from = made_from or normalization_of_pieces(tokenizer)
    missing = []
    if not made_from.cased and "A" in tokenizer.normalize("A"):
        missing.append("lower-casing")
    if not made_from.keep_accents and "é" in tokenizer.normalize("é"):
        missing.append("dropping accents")
    return missing


def is_combining(character: str) -> bool:
    """Whether a character is an accent or another combining mark."""
    return unicodedata.category(character).startswith("M")


def normalization_warning(model: bytes, *, vocab: str) -> str:
    """What to say of a model without its normalization; empty if nothing is missing."""
    if has_own_rules(model):
        return ""
    missing = " and ".join(missing_normalization(load_tokenizer(model)))
    if not missing:
        return ""
    return (
        f"{vocab} leaves {missing} to the program around it, without which words "
        "become unknown pieces; albert import "
        f"{shlex.quote(vocab)} --output NEW writes it into the vocabulary."
    )
