"""HTML in wikitext: comments, elements and entities.

Like the wiki, this module reads an extension tag up to the first closing tag of its
name, whatever stands between them, before any bracket is read. Of a tag that is never
closed, only the tag itself is removed.
"""

import re
from html.entities import html5

# Their content is not prose.
_HIDDEN_NAMES = (
    "ref|references|math|chem|ce|gallery|timeline|score|imagemap|syntaxhighlight"
    "|source|graph|chart|mapframe|maplink|hiero|templatestyles|templatedata|inputbox"
    "|categorytree|dynamicpagelist|includeonly|indicator|phonos|pre|style|script|rss"
    "|abc|poll|choose"
)

_OPENING = re.compile(rf"(?i)<(?:!--|(nowiki|{_HIDDEN_NAMES})\b([^<>]*+)>)")

_TABLE_TAG = re.compile(r"(?i)<(/?)table\b[^<>]*+>?")

_BLOCK_NAMES = (
    "p|div|blockquote|center|poem|ul|ol|li|dl|dt|dd|table|caption|thead|tbody|tr|td|th"
    "|h[1-6]|hr|section|gallery|pre|noinclude|onlyinclude|includeonly|references"
)
_INLINE_NAMES = (
    "span|small|big|b|i|u|s|sub|sup|font|tt|code|em|strong|abbr|acronym|cite|var|kbd"
    "|samp|del|ins|q|bdi|bdo|dfn|mark|ruby|rb|rp|rt|rtc|strike|time|data|wbr|nobr|ref"
    "|nowiki|math|chem|ce|source|syntaxhighlight|noindex|translate|tvar|img|a|label"
    "|timeline|imagemap|includeonly|no|includes|onlyinclude|section|indicator|score"
)
_BLOCK_TAG = re.compile(rf"(?i)<[/\\]?(?:{_BLOCK_NAMES})\b(?:[^<>]*+>)?+")
_INLINE_TAG = re.compile(rf"(?i)<[/\\]?(?:{_INLINE_NAMES})\b(?:[^<>]*+>)?+")
# What no wiki shows as text: a tag of an extension, known by its attributes or name.
_OTHER_TAG = re.compile(
    r"</?(?:pagequality|pages|pagelist|languages|dynamicpagelist|inputbox|smiles)\b[^<>]*+>"
    r"|<[a-zA-Z][\w-]{0,30}(?:\s++[\w:-]{1,40}=(?:\"[^\"<>]*+\"|[^\s\"<>]++))++\s*+/?>"
)
_LINE_BREAK = re.compile(r"(?i)<[/\\]?br\b(?:[^<>]*+>)?+")

# Written as entities, these characters are text to every later step.
_AS_ENTITIES = {ord(character): f"&#{ord(character)};" for character in "[]{}|'<=*#:;_-"}


def remove_elements(text: str) -> str:
    """The text without comments and without extension tags and their content.

    >>> remove_elements("a<!-- b -->c<ref name=x>d</ref>, <nowiki>[[e]]</nowiki>")
    'ac, &#91;&#91;e&#93;&#93;'
    >>> remove_elements("a<ref>b")
    'ab'
    """
    parts = []
    position = 0
    never_closed: set[str] = set()
    while opening := _OPENING.search(text, position):
        parts.append(text[position : opening.start()])
        position = opening.end()
        name = (opening[1] or "!--").lower()
        if (opening[2] or "").endswith("/") or name in never_closed:
            continue
        found = _find_end(text, name=name, start=position)
        if found is None:
            never_closed.add(name)
            continue
        content_end, end = found
        if name == "nowiki":
            parts.append(text[position:content_end].translate(_AS_ENTITIES))
        position = end
        is_first = text.endswith("\n", 0, opening.start()) or opening.start() == 0
        if name == "!--" and is_first and text.startswith("\n", end):
            # A comment alone on its lines takes a line end along.
            position += 1
    parts.append(text[position:])
    return _remove_tables("".join(parts))


def _find_end(text: str, *, name: str, start: int) -> tuple[int, int] | None:
    """Where the content of an element and its closing tag end.

    Returns:
        None if no tag of that name follows. An element ends where it starts if another
        of its name, or a heading inside a reference, shows that it was never closed.
    """
    if name == "!--":
        end = text.find("-->", start)
        return None if end < 0 else (end, end + 3)
    for tag in re.compile(rf"(?i)<(/?){name}\b([^<>]*+)>").finditer(text, start):
        is_opening = not tag[1]
        if is_opening and (name == "nowiki" or tag[2].endswith("/")):
            continue
        if is_opening or (name == "ref" and text.find("\n==", start, tag.start()) >= 0):
            return start, start
        return tag.start(), tag.end()
    return None


def _remove_tables(text: str) -> str:
    """The text without ``<table>`` elements, however nested.

    >>> _remove_tables("a<table><tr><table></table></table>b<table>c")
    'ab<table>c'
    """
    parts: list[str] = []
    # How many parts stand before each table that is open.
    open_tables: list[int] = []
    position = 0
    for tag in _TABLE_TAG.finditer(text):
        parts.append(text[position : tag.start()])
        position = tag.start()
        if not tag[1]:
            open_tables.append(len(parts))
        elif open_tables:
            del parts[open_tables.pop() :]
            position = tag.end()
    return "".join([*parts, text[position:]])


def remove_tags(text: str) -> str:
    r"""The text without HTML tags but with the text inside them.

    Blocks become paragraphs, line breaks become spaces.

    >>> remove_tags("H<sub>2</sub>O<br/>is<p>wet</p>")
    'H2O is\n\nwet\n\n'
    """
    text = _LINE_BREAK.sub(" ", text)
    text = _INLINE_TAG.sub("", text)
    text = _BLOCK_TAG.sub("\n\n", text)
    return _OTHER_TAG.sub("", text) if "<" in text else text


# Control characters, soft hyphens, marks of writing direction, U+FFFD.
UNWANTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\xad\u200e\u200f\u202a-\u202e\u2060"
    "\u2066-\u2069\ufeff\ufffd\ufffe\uffff]"
)

_ENTITY = re.compile(r"&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")


def decode_entities(text: str) -> str:
    r"""The text with its entities decoded, even if they were escaped twice.

    >>> decode_entities("5&nbsp;km &amp;lt; &#54;&#x20AC;, AT&T &unknown;")
    '5\xa0km < 6€, AT&T &unknown;'
    """
    for _ in range(2):
        if "&" not in text:
            break
        text = _ENTITY.sub(_entity_text, text)
    return text


def _entity_text(entity: re.Match[str]) -> str:
    """The character of one entity; an unknown name stays as it is.

    >>> _ENTITY.sub(_entity_text, "&eacute;&#0;&nothing;")
    'é&nothing;'
    """
    name = entity[1]
    is_number = name[0] == "#"
    found = character_of(name[1:]) if is_number else html5.get(name + ";", entity[0])
    return UNWANTED.sub("", found)


def character_of(number: str) -> str:
    """The character of a number, 16-based after an x; nothing if it has none.

    >>> character_of("x41"), character_of("1114112")
    ('A', '')
    """
    code = int(number[1:], 16) if number[0] in "xX" else int(number)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else ""
