"""wikiextractor's output: one article in each ``<doc>`` block.

The blocks look like XML but are not: nothing inside them is escaped, so an XML parser
would fail or misread them.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from pipeline.core.documents import CUT_OFF, Document, Dropped
from pipeline.storage.lines import decode
from pipeline.wikipedia.extracted import article_document

REST_TOO_LARGE = Dropped("rest of a page too large")

# The text kept of one article, so that a block without end cannot fill the memory.
_MOST_CHARACTERS = 32 << 20

# A title has 255 bytes at most. The limit keeps the line within what is read of it when
# a file is read in ranges (`pipeline.storage.byte_ranges.LINE_PREFIX_BYTES`).
_MAX_OPENING_CHARACTERS = 1000
_ATTRIBUTES = (' id="', ' title="')
_ADDRESS = re.compile(rb'(?:\xef\xbb\xbf)?\s*<doc\b[^>\n]*?\burl="([^"\n]*)"')


def starts_article(line: bytes) -> bool:
    r"""Return whether an article begins with a line.

    >>> starts_article(b'<doc id="1" url="u" title="Ada">'), starts_article(b"<doc is")
    (True, False)
    """
    if b"<doc " not in line:
        return False
    text = decode(line, counts=Counter()).partition("\n")[0]
    return _opened_title(text) is not None


def find_address(head: bytes) -> str:
    """The address of the article with which a file begins; empty if it has none.

    >>> find_address(b'<doc id="1" url="https://uk.wikipedia.org/wiki/1" title="A">')
    'https://uk.wikipedia.org/wiki/1'
    """
    found = _ADDRESS.match(head)
    return found[1].decode("ascii", "replace") if found else ""


def read_articles(
    lines: Iterable[str], *, dropped: Counter[str] | None = None
) -> Iterator[Document | Dropped]:
    """The articles of a file.

    Args:
        lines: Of the file.
        dropped: See `pipeline.wikipedia.extracted.article_document`.

    >>> [document.paragraphs for document in read_articles([
    ...     '<doc id="1" title="Ada &amp; I">', "Ada & I", "",
    ...     "Ada wrote the first of all programs.", "</doc>", "<doc>"])]
    [('Ada wrote the first of all programs.',)]
    """
    title: str | None = None
    body: list[str] = []
    characters = 0
    for line in lines:
        if (opened := _opened_title(line)) is not None:
            if title is not None:
                yield CUT_OFF
            title, body, characters = opened, [], 0
        elif title is None:
            continue
        elif line.startswith("</doc>"):
            yield article_document(body, title=title, dropped=dropped)
            yield from [REST_TOO_LARGE] * (characters > _MOST_CHARACTERS)
            title = None
        else:
            characters += len(line)
            if characters <= _MOST_CHARACTERS:
                body.append(line)
    if title is not None:
        yield CUT_OFF


def _opened_title(line: str) -> str | None:
    """Return the title of the article that begins with a line, None for other lines.

    A line of an article may begin like a tag; only one with all attributes is a tag.

    >>> _opened_title('<doc id="1" title="A "B" C">'), _opened_title("<doc of a kind>")
    ('A "B" C', None)
    """
    if not line.startswith("<doc ") or len(line) > _MAX_OPENING_CHARACTERS:
        return None
    tag = line.rstrip()
    if not tag.endswith(">") or not all(part in tag for part in _ATTRIBUTES):
        return None
    # Quotation marks in a title are not escaped: it goes on to the last of them.
    start = tag.index(_ATTRIBUTES[1]) + len(_ATTRIBUTES[1])
    return html.unescape(tag[start : tag.rfind('"')])
