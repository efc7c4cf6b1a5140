"""Books: one a file, without what Project Gutenberg puts around the text."""

import itertools
import re
from collections.abc import Iterable, Iterator

from pipeline.documents import Document, Dropped
from pipeline.plain_text import read_prose

_START = re.compile(
    r"\*{3} ?START OF (THE|THIS) PROJECT GUTENBERG|"
    r"\*END ?\*? ?THE SMALL PRINT",
    re.IGNORECASE,
)
_END = re.compile(
    r"\*{3} ?END OF (THE|THIS) PROJECT GUTENBERG|"
    r"^End of (the |this )?Project Gutenberg",
    re.IGNORECASE,
)
# Who typed the text in; the first paragraph of many books.
_CREDITS = re.compile(
    r"(E-text|Etext|This etext was) prepared by|Produced by|Scanned by"
)

# The header of a book is within this many lines.
_HEADER_LINES = 400

_EMPHASIS = re.compile(r"\b_([^_]{1,200})_\b|(?<!\w)_([^_]{1,200})_(?!\w)")


def read_book(lines: Iterable[str]) -> Iterator[Document | Dropped]:
    """The book in a file, as one document.

    >>> book = ["*** START OF THE PROJECT GUTENBERG EBOOK X ***", "He _came_.",
    ...         "*** END OF THE PROJECT GUTENBERG EBOOK X ***", "Licence"]
    >>> list(read_book(book))
    [Document(paragraphs=('He came.',), is_segmented=False)]
    """
    for document in read_prose(body(lines)):
        if isinstance(document, Dropped):
            yield document
            continue
        paragraphs = document.paragraphs
        if _CREDITS.match(paragraphs[0]):
            paragraphs = paragraphs[1:]
        if paragraphs:
            yield Document(tuple(remove_emphasis(p) for p in paragraphs))


def body(lines: Iterable[str]) -> Iterator[str]:
    """The lines between Project Gutenberg's header and footer, or all lines."""
    lines = iter(lines)
    head = list(itertools.islice(lines, _HEADER_LINES))
    starts = [number for number, line in enumerate(head) if _START.search(line)]
    if starts:
        head = head[starts[-1] + 1 :]
    for line in itertools.chain(head, lines):
        if _END.search(line):
            return
        yield line


def remove_emphasis(text: str) -> str:
    """Leave out the underscores that stand for italics.

    >>> remove_emphasis("in _St. Paul's Magazine_, snake_case_name")
    "in St. Paul's Magazine, snake_case_name"
    """
    if "_" not in text:
        return text
    return _EMPHASIS.sub(lambda match: match[1] or match[2], text)
