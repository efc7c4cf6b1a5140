"""Books: those of Project Gutenberg and of Aozora Bunko, without what is no text of theirs.

Project Gutenberg puts a header and a footer around a book, and who typed it in. Aozora Bunko
has readings in ruby, notes of the typists, a head and a foot.
"""

import itertools
import re
from collections.abc import Iterable, Iterator

from pipeline.core.documents import NO_TEXT, Document, Documents, Dropped, ReadingCounts
from pipeline.reading.formats import FilePart, Head
from pipeline.reading.plain_text import (
    divide_at_markers,
    divide_bytes,
    prose_document,
    split_paragraphs,
)
from pipeline.storage.lines import decode

# The header of a book ends within this many characters, and so does what stands
# between the header and the title.
_HEADER_CHARACTERS = 30_000
_CREDITS_PARAGRAPHS = 8

# "*** START OF THIS PROJECT GUTENBERG EBOOK EMMA ***", possibly over two lines, and how
# the licence ended before 2001: "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver..."
_START = re.compile(
    r"(?im)^[ \t]*\*{3} ?START OF (?:THE|THIS) PROJECT GUTENBERG"
    r"(?:[^\n]*\*{3}|[^\n]*\n[^\n]*\*{3}|[^\n]*)[ \t]*$|"
    r"^[ \t]*\*?END ?\*? ?THE SMALL PRINT[^\n]*$"
)
_ANOTHER = re.compile(r"(?i)\*{3} ?START OF (?:THE|THIS) PROJECT GUTENBERG")
_END = re.compile(
    r"(?i)[ \t]*(?:\*{3} ?)?(?:END|ENDE|FIN|FINE)[ ,:][^\n]{0,20}?PROJE[CK]T GUTENBERG"
)
_GUTENBERG = ("Gutenberg", "GUTENBERG")
# A file has one book, and what a second one has is not read.
ANOTHER_BOOK = Dropped("book after the first of its file")
# In a line that begins the footer the name is not further in.
_FOOTER_CHARACTERS = 100
# Who typed the text in, and where from; the first paragraphs of many books.
_CREDITS = re.compile(
    r"(?i)(?:This )?(?:E-?(?:text|book)|file|book) (?:was )?(?:prepared|produced|scanned|"
    r"created|revised|transcribed) |"
    r"(?:Produced|Prepared|Scanned|Transcribed|Proofed|Edited) (?:and proofed )?"
    r"(?:by|from) |HTML version by |"
    r"Note: (?:Images of the original|Project Gutenberg|There is an)|"
    r"\[?Transcriber['’]s note|Project Gutenberg has |"
    r"Updated editions will replace "
)
_EMPHASIS = re.compile(r"\b_([^_]{1,200})_\b|(?<!\w)_([^_]{1,200})_(?!\w)")
_PICTURE = re.compile(
    r"(?i)\[(?:Illustration|Picture|Frontispiece|Decoration|Blank page)\b[^\[\]]{0,300}\]"
)


def read_book(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None, is_start: bool = True
) -> Documents:
    r"""The book in a file, as one document; a very long one as several.

    Between markers of the ends of documents, each is a book.

    Args:
        blocks: The file, or some of its documents as `find_books` divides it.
        is_start: Whether the blocks begin with the book.

    >>> book = (b"*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\nHe _came_.\n\n"
    ...         b"*** END OF THE PROJECT GUTENBERG EBOOK X ***\nLicence")
    >>> [document.paragraphs for document in read_book([book])]
    [('He came.',)]
    """
    divided = divide_bytes(blocks)
    has_header = is_start
    for data in divided:
        for book in divide_at_markers(data):
            text = decode(book, counts=counts)
            end = find_footer(text)
            yield book_document(text[:end], has_header=has_header)
            has_header = True
        has_header = False
        if end < len(text):
            rest = itertools.chain([text[end:]], map(decode, divided))
            if any(map(_ANOTHER.search, rest)):
                yield ANOTHER_BOOK
            return


def read_book_part(part: FilePart, blocks: Iterable[bytes], *, counts: ReadingCounts) -> Documents:
    """The documents of a part of a book's file."""
    return read_book(blocks, counts=counts, is_start=part.start == 0)


def find_books(blocks: Iterable[bytes]) -> Iterator[int]:
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


def book_document(text: str, *, has_header: bool, is_record: bool = False) -> Document | Dropped:
    """A book up to its footer as a document."""
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


_READING = re.compile("(?<=[々\u3400-\u9fff])《[\u3041-\u30ff]+》")
_NOTES = re.compile(r"《[^《》\n]*》|［＃[^［］\n]*］|｜")
# The symbols are explained between two lines of dashes; the foot names the source.
_EXPLAINED = "【テキスト中に現れる記号について】"
_AOZORA_HEAD = re.compile(rf"(?s)-{{20,}}\n.*?{_EXPLAINED}.*?\n-{{20,}}\n")
_AOZORA_FOOT = re.compile(r"\n底本[：:]")
_FEWEST_READINGS = 3


def is_aozora(head: Head) -> bool:
    """Whether a text has readings after its words, or the marks explained in its head."""
    text = "\n".join(head.lines)
    # In the same brackets are titles.
    readings = 2 * len(_READING.findall(text)) > max(text.count("《"), 2 * _FEWEST_READINGS - 1)
    return _EXPLAINED in text or readings


def read_aozora(blocks: Iterable[bytes], *, counts: ReadingCounts | None = None) -> Documents:
    """A book, as a document; each line is a paragraph.

    >>> lines = "川の話", "山道《やまみち》を三人｜兄弟《きょうだい》が行く［＃改行］。", "底本：川"
    >>> text = chr(10).join(lines).encode()
    >>> [document.paragraphs for document in read_aozora([text])]
    [('川の話', '山道を三人兄弟が行く。')]
    """
    for data in divide_bytes(blocks):
        text = decode(data, counts=counts)
        if _EXPLAINED in text:
            text = _AOZORA_HEAD.sub("", text, count=1)
        text, *foot = _AOZORA_FOOT.split(text, maxsplit=1)
        yield prose_document(_NOTES.sub("", text).replace("\n", "\n\n"))
        if foot:
            return
