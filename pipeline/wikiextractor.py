"""wikiextractor's output: articles in ``<doc>`` blocks that look like XML and are none.

Nothing inside a block is escaped, so that no XML parser may read it.
"""

import html
import re
from collections.abc import Iterable, Iterator

from pipeline.documents import Document, Dropped
from pipeline.extracted import article_document

CUT_OFF = Dropped("page cut off")
REST_TOO_LARGE = Dropped("rest of a page too large")

# A block that never ends does not fill the memory.
_MOST_CHARACTERS = 32 << 20

_TITLE_START = re.compile(r"\btitle=\"")


def starts_article(line: bytes) -> bool:
    """Whether an article begins with a line."""
    return line.startswith(b"<doc ")


def read_articles(lines: Iterable[str]) -> Iterator[Document | Dropped]:
    """The articles of a file.

    >>> list(read_articles(['<doc id="1" title="Ada &amp; I">', "Ada & I", "",
    ...     "Ada wrote the first of all programs.", "</doc>", "<doc>"]))
    [Document(paragraphs=('Ada wrote the first of all programs.',), is_segmented=False)]
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
            yield article_document(body, title=title)
            yield from [REST_TOO_LARGE] * (characters > _MOST_CHARACTERS)
            title = None
        else:
            characters += len(line)
            if characters <= _MOST_CHARACTERS:
                body.append(line)
    if title is not None:
        yield CUT_OFF


def _opened_title(line: str) -> str | None:
    """The title of the article that a line opens, None if it opens none.

    >>> _opened_title('<doc id="1" title="A "B" C">'), _opened_title("<doc of a kind")
    ('A "B" C', None)
    """
    tag = line.rstrip()
    if not tag.startswith("<doc ") or not tag.endswith(">"):
        return None
    start = _TITLE_START.search(tag)
    # Quotation marks in a title are not escaped: it goes on to the last of them.
    return html.unescape(tag[start.end() : tag.rfind('"')]) if start else ""
