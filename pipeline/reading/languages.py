"""The language of a text, as a record, an address or a person names it."""

import re
from collections.abc import Mapping
from typing import Any

DEFAULT_LANGUAGE = "en"

# The fields of a record that may tell its language.
LANGUAGE_FIELDS = ("lang", "language", "url")

# As Wikipedia has them: de, zh-min-nan, be-x-old, pt-BR. The segmenter does not say
# which of them it knows; it treats all others as English.
_CODE = re.compile(r"[a-z]{2,3}(?:-[a-zA-Z0-9]{1,9})*")
_WIKI = re.compile(
    r"https?://(?!www\.)([a-z]{2,3}(?:-[a-z0-9]{1,9})*)(?:\.m)?"
    r"\.wik(?:i(?:pedia|source|news|books|quote|voyage|versity)|tionary)\.org\b"
)


def is_code(text: str) -> bool:
    """Whether a text is a language code.

    >>> is_code("zh-min-nan"), is_code("english"), is_code("EN")
    (True, False, False)
    """
    return _CODE.fullmatch(text) is not None


def language_of_address(address: str) -> str:
    """The language of the wiki that an address leads to; empty if it has none.

    >>> language_of_address("https://uk.m.wikipedia.org/wiki/7")
    'uk'
    >>> language_of_address("https://www.wikipedia.org"), language_of_address("/wiki/A")
    ('', '')
    """
    found = _WIKI.match(address)
    return found[1] if found else ""


def language_of_record(record: Mapping[str, Any]) -> str:
    """The language that a record names for itself; empty if it names none.

    >>> language_of_record({"text": "Wer?", "lang": "de"})
    'de'
    >>> language_of_record({"text": "See https://fr.wikipedia.org", "language": "n/a"})
    ''
    """
    for name in LANGUAGE_FIELDS:
        value = record.get(name)
        if not isinstance(value, str):
            continue
        if name == "url":
            return language_of_address(value)
        # Spelled as de, DE or pt_BR.
        first, dash, rest = value.strip().replace("_", "-").partition("-")
        code = first.lower() + dash + rest
        if is_code(code):
            return code
    return ""
