"""Books: one a file, without what Project Gutenberg puts around the text."""

import itertools
import re
from collections.abc import Iterable, Iterator

from pipeline.core.documents import NO_TEXT, Document, Dropped, ReadingCounts
from pipeline.reading.markers import divide_at_markers
from pipeline.reading.plain_text import divide_bytes, split_paragraphs
from pipeline.storage.lines import decode

# The header of a book ends within this many characters, and so does what stands
# between the header and the title.
_HEADER_CHARACTERS = 30_000
_CREDITS_PARAGRAPHS = 8

# "*** START OF THIS PROJECT GUTENBERG EBOOK EMMA ***", possibly over two lines, and how
# the licence ended before 2001: "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver..."
_START = re.compile(
    r"^[ \t]*\*{3} ?START OF (?:THE|THIS) PROJECT GUTENBERG"
    r"(?:[^\n]*\*{3}|[^\n]*\n[^\n]*\*{3}|[^\n]*)[ \t]*$|"
    r"^[ \t]*\*?END ?\*? ?THE SMALL PRINT[^\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ANOTHER = re.compile(r"\*{3} ?START OF (?:THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
_END = re.compile(
    r"[ \t]*(?:\*{3} ?)?(?:END|ENDE|FIN|FINE)[ ,:][^\n]{0,20}?PROJE[CK]T GUTENBERG", re.IGNORECASE
)
_GUTENBERG = ("Gutenberg", "GUTENBERG")
# A file has one book, and what a second one has is not read.
ANOTHER_BOOK = Dropped("book after the first of its file")
# In a line that begins the footer the name is not further in.
_FOOTER_CHARACTERS = 100
# Who typed the text in, and where from; the first paragraphs of many books.
_CREDITS = re.compile(
    r"(?:This )?(?:E-?(?:text|book)|file|book) (?:was )?(?:prepared|produced|scanned|"
    r"created|revised|transcribed) |"
    r"(?:Produced|Prepared|Scanned|Transcribed|Proofed|Edited) (?:and proofed )?"
    r"(?:by|from) |HTML version by |"
    r"Note: (?:Images of the original|Project Gutenberg|There is an)|"
    r"\[?Transcriber['’]s note|Project Gutenberg has |"
    r"Updated editions will replace ",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"\b_([^_]{1,200})_\b|(?<!\w)_([^_]{1,200})_(?!\w)")
_PICTURE = re.compile(
    r"\[(?:Illustration|Picture|Frontispiece|Decoration|Blank page)\b[^\[\]]{0,300}\]",
    re.IGNORECASE,
)


def read_book(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None, is_start: bool = True
) -> Iterator[Document | Dropped]:
    r"""The book in a file, as one document; a very long one as several.

    Between markers of the ends of documents, each is a book.

    Args:
        blocks: The file, or some of its documents as `find_documents` divides it.
        is_start: Whether the blocks begin with the book.

    >>> book = (b"*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\nHe _came_.\n\n"
    ...         b"*** END OF THE PROJECT GUTENBERG EBOOK X ***\nLicence")
    >>> [document.paragraphs for document in read_book([book])]
    [('He came.',)]
    """
    divided = divide_bytes(blocks)
    has_header = is_start
    for data in divided:
        *books, last = divide_at_markers(data)
        for book in books:
            text = decode(book, counts=counts)
            yield _document(text[: find_footer(text)], has_header=has_header)
            has_header = True
        text = decode(last, counts=counts)
        end = find_footer(text)
        yield _document(text[:end], has_header=has_header)
        has_header = False
        if end < len(text):
            rest = itertools.chain([text[end:]], map(decode, divided))
            if any(map(_ANOTHER.search, rest)):
                yield ANOTHER_BOOK
            return


def find_documents(blocks: Iterable[bytes]) -> Iterator[int]:
    """Where the documents of a very long book begin in its file.

    What follows the footer of Project Gutenberg is part of none.
    """
    start = 0
    for data in divide_bytes(blocks):
        yield start
        text = decode(divide_at_markers(data)[-1])
        if find_footer(text) < len(text):
            return
        start += len(data)


def book_document(text: str) -> Document | Dropped:
    """The whole book in a record as a document."""
    return _document(text[: find_footer(text)], has_header=True, is_record=True)


def _document(text: str, *, has_header: bool, is_record: bool = False) -> Document | Dropped:
    headers = [*_START.finditer(text, 0, _HEADER_CHARACTERS)] if has_header else []
    body = text[headers[-1].end() :] if headers else text
    paragraphs, lines = split_paragraphs(body, is_record=is_record)
    if has_header:
        first = paragraphs[:_CREDITS_PARAGRAPHS]
        paragraphs[:_CREDITS_PARAGRAPHS] = [p for p in first if not _CREDITS.match(p)]
    cleaned = tuple(filter(None, map(remove_marks, paragraphs)))
    return Document(cleaned, lines=lines) if cleaned else NO_TEXT


def find_footer(text: str) -> int:
    r"""Where Project Gutenberg's footer begins, the end of the text without one.

    >>> find_footer("It was.\nEnd of Project Gutenberg's Emma, by Jane Austen")
    8
    """
    footer = len(text)
    # A search for the pattern would take longer than all other cleaning.
    for name in _GUTENBERG:
        mention = text.find(name)
        while mention >= 0:
            nearest = max(0, mention - _FOOTER_CHARACTERS)
            line_feed = text.rfind("\n", nearest, mention)
            is_near = line_feed >= 0 or nearest == 0
            if is_near and _END.match(text, line_feed + 1):
                footer = min(footer, line_feed + 1)
                break
            mention = text.find(name, mention + len(name))
    return footer


def remove_marks(paragraph: str) -> str:
    """Remove the marks of italics and of pictures.

    >>> remove_marks("in _St. Paul's Magazine_, snake_case_name [Illustration: A cat]")
    "in St. Paul's Magazine, snake_case_name"
    """
    if "_" in paragraph:
        paragraph = _EMPHASIS.sub(lambda match: match[1] or match[2], paragraph)
    if "[" in paragraph:
        paragraph = " ".join(_PICTURE.sub(" ", paragraph).split())
    return paragraph
