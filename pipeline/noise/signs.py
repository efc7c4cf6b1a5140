"""Signs of noise in a text: HTML, a wrong encoding, lists without sentences."""

import re
from collections.abc import Iterator, Sequence

from pipeline.core.scripts import ends_sentence, script_of

_TAGS = (
    "a abbr article aside b blockquote body br button center code dd div dl dt em "
    "figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe "
    "img input label li link main meta nav noscript ol option p pre s script section "
    "select small span strike strong style sub sup svg table tbody td textarea tfoot "
    "th thead title tr tt u ul video"
)
# Expressions that begin with the character itself are the quick ones.
_ELEMENT = (
    rf"<(?:/?(?:{'|'.join(_TAGS.split())})(?:\s+[a-z-]+(?:\s*=[^<>]{{0,500}})?)?\s*/?>|"
    r"!--|!doctype\b)|&(?:[a-z]{2,8}|#\d{2,6}|#x[0-9a-f]{2,5});"
)
_ATTRIBUTE = r"\b(?:class|href|src|style)=(?:\"[^\"<>]{0,300}\"|&quot;)"
_HTML = re.compile(_ELEMENT, re.IGNORECASE)
_HTML_OR_ATTRIBUTE = re.compile(f"{_ELEMENT}|{_ATTRIBUTE}", re.IGNORECASE)

# Bytes that begin a character of UTF-8 of two or three, and those that follow.
_TWO, _THREE = bytes(range(0xC2, 0xE0)), bytes(range(0xE0, 0xF0))
_LATER = bytes(range(0x80, 0xC0))
# Encodings of one byte, and how many characters of UTF-8 must stand in a row, if they
# begin with one of two bytes: in Cyrillic its letters may be there by chance ("Ці").
_ENCODINGS = {"cp1252": 1, "cp1251": 2}
# What a text decoded with the wrong encoding was: letters of Europe, and punctuation.
_EUROPEAN = re.compile(
    "(?:[\u00a0-\u017f\u2010-\u2044\u20ac]|[\u0386-\u03ce\u2010-\u2044]+|"
    "[\u0401-\u045f\u0490\u0491\u2010-\u2044]+)+"
)

# A list or a table has at least this many lines, and this share of them are shorter
# and end as no sentence does.
_LIST_LINES, _LIST_SHARE, _LIST_CHARACTERS = 5, 2 / 3, 80
# In these no mark ends a sentence.
_UNMARKED = {"Thai", "Lao", "Khmer", "Myanmar", "Tibetan"}


def html_remnants(text: str) -> list[str]:
    """The tags, entities and attributes of HTML in a text.

    >>> html_remnants('Read <a href="/x">more</a>&nbsp;here')
    ['<a href="/x">', '</a>', '&nbsp;']
    >>> html_remnants("if a < b and c > d, I <3 R&D; see <Anna>")
    []
    """
    if "<" not in text and "&" not in text and "=" not in text:
        return []
    may_have_attribute = '="' in text or "=&" in text
    return (_HTML_OR_ATTRIBUTE if may_have_attribute else _HTML).findall(text)


def _shown(codes: bytes, encoding: str) -> str:
    """The characters of some bytes, as a set of an expression; some stay bytes."""
    decoded = (bytes([code]).decode(encoding, errors="ignore") for code in codes)
    stayed = "".join(chr(code) for code in codes if code < 0xA0)
    return f"[{re.escape(''.join(decoded) + stayed)}]"


def _expression(encoding: str, least: int) -> re.Pattern[str]:
    """Where bytes of UTF-8 may have been read; it begins with a set, for speed."""
    two, three = _shown(_TWO, encoding), _shown(_THREE, encoding)
    first, later = _shown(_TWO + _THREE, encoding), _shown(_LATER, encoding)
    units = f"(?:{two}{later}|{three}{later}{later})"
    of_two = f"(?<={two}{later}){units}{{{least - 1},}}"
    return re.compile(f"{first}{later}(?:{of_two}|{later}{units}*)")


_MISREAD = {name: _expression(name, least) for name, least in _ENCODINGS.items()}


def misread(text: str) -> list[str]:
    """The parts of a text that are UTF-8 read with an encoding of one byte.

    Each would be valid UTF-8 and letters of one script if it were encoded again.

    >>> misread("The cafÃ© wasnâ€™t open"), misread("РџСЂРёРІРµС‚, РјРёСЂ")
    (['Ã©', 'â€™'], ['РџСЂРёРІРµС‚', 'РјРёСЂ'])
    >>> misread("Café «É», Ці Її речі, NÃO, ÀÉ")
    []
    """
    if text.isascii():
        return []
    return [
        found[0]
        for encoding, expression in _MISREAD.items()
        for found in expression.finditer(text)
        if _was_utf8(found[0], encoding)
    ]


def _was_utf8(part: str, encoding: str) -> bool:
    """Whether characters are bytes of UTF-8, as an encoding of one byte shows them."""
    codes = (
        bytes([ord(c)]) if "\x80" <= c <= "\x9f" else c.encode(encoding) for c in part
    )
    try:
        decoded = b"".join(codes).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return _EUROPEAN.fullmatch(decoded) is not None


def is_list(paragraphs: Sequence[str]) -> bool:
    """Whether a document is a list or a table: most of its lines are no sentences.

    >>> is_list(["Name Size Price", "Bolt 3 mm 0.10", "Nut 4 mm 0.20", "Rod", "Pin"])
    True
    >>> is_list(["He came late.", "Why?", "No one knew.", "It rained.", "They left."])
    False
    """
    if len(paragraphs) < _LIST_LINES:
        return False
    short = sum(
        len(line) < _LIST_CHARACTERS and not ends_sentence(line) for line in paragraphs
    )
    is_short = short >= _LIST_SHARE * len(paragraphs)
    return is_short and script_of(next(_letters(paragraphs), "")) not in _UNMARKED


def _letters(paragraphs: Sequence[str]) -> Iterator[str]:
    return (c for paragraph in paragraphs for c in paragraph if c.isalpha())
