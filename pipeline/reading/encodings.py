"""Encodings that would be read wrongly, refused by the name of what they seem to be.

Text is read as UTF-8, and lines that are not as Windows-1252, which can write the
languages of Western Europe only (`pipeline.storage.lines`).
"""

import codecs
import re
import unicodedata
from collections import Counter

from pipeline.storage.lines import mostly_utf8
from schemas.errors import AlbertError

_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
# Which of each four bytes are mostly zero there.
_ZEROS: dict[tuple[int, ...], str] = {
    **dict.fromkeys([(0, 2), (1, 3)], "UTF-16"),
    **dict.fromkeys([(0, 1), (2, 3), (0, 1, 2), (1, 2, 3)], "UTF-32"),
}
_ASCII = bytes(range(128))
# What switches to other characters, and back to ASCII.
_SEVEN_BITS = (
    (re.compile(rb"\x1b\$\)C|\x0e[!-~]+\x0f"), "ISO-2022-KR"),
    (re.compile(rb"\x1b\$\)[AGE]"), "ISO-2022-CN"),
    (re.compile(rb"\x1b\$\(?[@BD]|\x1b\([BJI]"), "ISO-2022-JP"),
    (re.compile(rb"~\{[!-w][!-~](?:[!-w][!-~])*~\}"), "HZ"),
)
# The encoding that text of a language has which Windows-1252 cannot write.
_ENCODINGS = {
    code: encoding
    for encoding, codes in {
        "WINDOWS-1250": "pl cs sk hu sl hr bs sh ro csb szl hsb dsb",
        "WINDOWS-1251": "ru uk be bg mk sr kk ky mn tg tt ba cv ce os sah",
        "WINDOWS-1253": "el",
        "WINDOWS-1254": "tr az tk crh",
        "WINDOWS-1255": "he yi",
        "WINDOWS-1256": "ar fa ur ps ug ckb",
        "WINDOWS-1257": "lt lv",
        "WINDOWS-1258": "vi",
        "WINDOWS-874": "th",
        "ISO-8859-3": "mt eo",
        "ISO-8859-14": "cy",
        "ARMSCII-8": "hy",
        "SHIFT_JIS": "ja",
        "GB18030": "zh",
        "CP949": "ko",
    }.items()
    for code in codes.split()
}
# Encodings told by the letters that words have in them, where no language is given.
_CYRILLIC = ("windows-1251", "koi8-r", "cp866", "iso8859-5")
_CANDIDATES = ("cp1250", "iso8859-2", "cp1257", "cp1254", "cp850", "mac_roman", "cp852")
# Characters of Windows-1252 that stand between letters of a word.
_WITHIN_WORDS = "\u2019\xad\xb7\u2013\u2014\xb4\u2026\xa0\u2022"
# In real text of Windows-1252 a smaller share of what is beyond ASCII is no letter
# though it stands between letters.
_MOST_WITHIN_WORDS, _FEWEST = 0.1, 3
# Letters beyond ASCII of languages that Windows-1252 can write.
_ALPHABETS = (
    "àâæçéèêëîïôœùûüÿ",  # French
    "äöüß",  # German
    "áéíñóúü",  # Spanish
    "áâãàçéêíóôõúü",  # Portuguese
    "àéèìíîòóùú",  # Italian
    "éëïóöüáèê",  # Dutch
    "åäöé",  # Swedish, Finnish
    "æøåéèêóòôâä",  # Danish, Norwegian
    "áðéíóúýþæö",  # Icelandic
    "àçèéíïòóúü",  # Catalan
    "äõöüšž",  # Estonian
    "çë",  # Albanian
    "áéíóú",  # Irish
)
# In text of such a language all but a few of its letters beyond ASCII are in one of
# these (0.986 and more in eleven of them; 0.90 and less in text of Windows-1250 or
# 1254 that was read as Windows-1252). English has too few to tell.
_LEAST_IN_ALPHABET, _LEAST_BEYOND_ASCII, _FEWEST_LETTERS = 0.95, 0.02, 10


def refuse_escaped(head: bytes, *, path: str) -> None:
    r"""Refuse UTF-16 and 32, and encodings that write in ASCII what is not ASCII.

    >>> try: refuse_escaped(b"\x1b$B:#F|\x1b(B", path="a.txt")
    ... except AlbertError as error: print(str(error)[:21])
    a.txt is ISO-2022-JP;
    """
    names = [name for sign, name in _SEVEN_BITS if len(sign.findall(head)) > 1]
    if wide := _wide_encoding(head):
        names = [wide]
    if names:
        raise AlbertError(
            f"{path} is {names[0]}; convert it to UTF-8, for example with iconv -f "
            f"{names[0]} -t UTF-8."
        )


def _wide_encoding(head: bytes) -> str:
    """UTF-16 or UTF-32 by its mark, or by the places of zeros.

    >>> [_wide_encoding("It was.".encode(name)) for name in ("utf-16-be", "utf-32-le")]
    ['UTF-16', 'UTF-32']
    >>> _wide_encoding(b"It was." + bytes(30))
    ''
    """
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    number = len(head) // 4
    places = [p for p in range(4) if 2 * head[p::4].count(0) > number > 0]
    return _ZEROS.get(tuple(places), "")


def refuse_other_encoding(head: bytes, *, path: str) -> None:
    """Refuse encodings whose text is mostly bytes beyond ASCII, except UTF-8.

    In Windows-1252 text at most a fifth of the bytes are non-ASCII.

    >>> refuse_other_encoding("Привет, мир.".encode("cp1251"), path="a.txt")
    Traceback (most recent call last):
    schemas.errors.AlbertError: a.txt is in another encoding than UTF-8; convert it, \
for example with iconv -f WINDOWS-1251 -t UTF-8 or -f GB18030.
    """
    lines = [line for line in head.split(b"\n") if not line.isascii()]
    others = [line for line in lines if mostly_utf8(line, is_cut=True) is None]
    text = b"".join(others)
    beyond = len(text.translate(None, _ASCII))
    if 2 * len(others) > len(lines) and 2 * beyond > len(text):
        likely = min(_CYRILLIC, key=lambda name: _strange(text, name))
        raise AlbertError(
            f"{path} is in another encoding than UTF-8; convert it, for example with "
            f"iconv -f {likely.upper()} -t UTF-8 or -f GB18030."
        )


def refuse_foreign_bytes(head: bytes, *, language: str, path: str, has_flag: bool = True) -> None:
    """Refuse bytes that are not UTF-8 where Windows-1252 would read them wrongly.

    It would where it cannot write the language, or where what it reads is no letters
    within words.

    Args:
        has_flag: Whether a person can name the language.

    >>> try: refuse_foreign_bytes("żółw".encode("cp1250"), language="pl", path="a.txt")
    ... except AlbertError as error: print(str(error)[:47])
    a.txt is not UTF-8, and Windows-1252 cannot wri
    """
    lines = [line for line in head.split(b"\n") if not line.isascii()]
    others = [line for line in lines if mostly_utf8(line, is_cut=True) is None]
    if 2 * len(others) <= len(lines) or not others:
        return
    text = b"\n".join(others)
    if encoding := _ENCODINGS.get(language):
        raise AlbertError(
            f"{path} is not UTF-8, and Windows-1252 cannot write its language "
            f"({language}); convert it, for example with iconv -f {encoding} -t UTF-8."
        )
    strange = _strange_within_words(text, "cp1252")
    if strange >= max(_FEWEST, _MOST_WITHIN_WORDS * len(text.translate(None, _ASCII))):
        likely = min(_CANDIDATES, key=lambda name: _strange_within_words(text, name))
        raise AlbertError(
            f"{path} is neither UTF-8 nor Windows-1252; convert it, for example with "
            f"iconv -f {codecs.lookup(likely).name.upper()} -t UTF-8, or as its "
            "language needs."
        )
    if not language and not _is_western(head.decode("cp1252", errors="replace")):
        remedy = "from WINDOWS-1252 if it has several languages"
        remedy = "name its language with --language" if has_flag else remedy
        raise AlbertError(
            f"{path} is not UTF-8, and its letters are of no one language that "
            "Windows-1252 can write; convert it with iconv from the encoding of its "
            "language, as WINDOWS-1250 (Czech, Hungarian), -1254 (Turkish) or -1257 "
            f"(Latvian), or {remedy}."
        )


def _is_western(text: str) -> bool:
    """Whether the letters beyond ASCII are those of one language of Western Europe.

    >>> _is_western("Größe ändert für Schüler übrigens nichts, größtenteils schön.")
    True
    >>> _is_western("Für 5 µg und 7 µg wäre es schön. " * 2)
    True
    >>> _is_western("Pøíliš žluouèký kùò úpìl ïábelské ódy, øeka teèe.")
    False
    """
    # A unit of measurement in any language.
    letters = Counter(filter(str.isalpha, text.lower().replace("\xb5", "")))
    beyond = {letter: n for letter, n in letters.items() if not letter.isascii()}
    number = sum(beyond.values())
    if number < max(_FEWEST_LETTERS, _LEAST_BEYOND_ASCII * letters.total()):
        return True
    return any(
        sum(beyond.get(letter, 0) for letter in alphabet) >= _LEAST_IN_ALPHABET * number
        for alphabet in _ALPHABETS
    )


def _strange(text: bytes, encoding: str) -> int:
    """How many characters are capitals, or beyond ASCII and no letters."""
    decoded = text.decode(encoding, errors="replace")
    return sum(c.isupper() or not (c.isascii() or c.isalpha()) for c in decoded)


def _strange_within_words(text: bytes, encoding: str) -> int:
    """How often no letter, or a capital after a small letter, stands within a word."""
    decoded = text.decode(encoding, errors="replace")
    strange = 0
    for before, character, after in zip(decoded, decoded[1:], decoded[2:], strict=False):
        if character.isascii() or not (before.isalpha() and after.isalpha()):
            continue
        is_letter = unicodedata.category(character)[0] in "LM"
        is_misplaced = character.isupper() and before.islower()
        strange += is_misplaced or not (is_letter or character in _WITHIN_WORDS)
    return strange
