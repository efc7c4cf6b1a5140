"""Turn entities of HTML into characters."""

import re
from html.entities import html5

# Control characters, soft hyphens, marks of writing direction, U+FFFD.
UNWANTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\xad\u200e\u200f\u202a-\u202e\u2060"
    "\u2066-\u2069\ufeff\ufffd\ufffe\uffff]"
)

_ENTITY = re.compile(r"&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")


def decode_entities(text: str) -> str:
    r"""Return the text with its entities decoded, even if they were escaped twice.

    Example:
        >>> decode_entities("5&nbsp;km &amp;lt; &#54;&#x20AC;, AT&T &unknown;")
        '5\xa0km < 6€, AT&T &unknown;'
    """
    for _ in range(2):
        if "&" not in text:
            break
        text = _ENTITY.sub(_entity_text, text)
    return text


def _entity_text(entity: re.Match[str]) -> str:
    """Return the character of one entity; an unknown name stays as it is.

    Example:
        >>> _ENTITY.sub(_entity_text, "&eacute;&#0;&nothing;")
        'é&nothing;'
    """
    name = entity[1]
    if name[0] != "#":
        return UNWANTED.sub("", html5.get(name + ";", entity[0]))
    code = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return ""
    return UNWANTED.sub("", chr(code))
