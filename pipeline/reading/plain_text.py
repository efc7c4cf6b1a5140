"""Plain text: running prose, or one sentence or paragraph a line."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Literal

from pipeline.core.documents import NO_TEXT, Document, Dropped, ReadingCounts
from pipeline.core.scripts import (
    CLOSING_MARKS,
    SURE_ENDS,
    UNMARKED,
    ends_sentence,
    is_unspaced,
    unwrapped,
    with_whole_words,
)
from pipeline.reading.markers import divide_at_markers
from pipeline.storage.lines import cut_position, decode

TextFormat = Literal["prose", "sentences", "bookcorpus", "paragraphs"]


# Running prose that is longer becomes several documents.
MAX_DOCUMENT_BYTES = 8 << 20
# A longer paragraph is divided at a space.
MAX_PARAGRAPH_CHARACTERS = 1 << 20

# Nobody wraps lines by hand at this width.
_WIDE_LINE_CHARACTERS = 200
_HEAD_CHARACTERS = 1 << 16
# Nobody wraps lines by hand at less than this, with and without spaces.
_LEAST_WIDTH, _LEAST_UNSPACED_WIDTH = 30, 12
# Where the next word brings a line to this share of the width, it did not fit: printed
# lines are wrapped by the widths of letters.
_FULL = 0.85
# Shares of the line ends in a wrapped text: those of full lines, and those inside a
# sentence.
_FULL_LINES, _INNER_ENDS = 0.7, 0.25
# Lines of verse and of lists are shorter, and so are those on a terminal.
_LONG_LINE_CHARACTERS = 80
_UNMARKED = re.compile(f"[{UNMARKED}]")

# Other characters at which a line or a paragraph of a record ends, and those of any
# text; in a file form feeds are white space, and U+0085 is most often a misread "…".
_LINE_FEEDS = str.maketrans(dict.fromkeys("\x0b\x0c\x85\u2028\u2029", "\n"))
_SEPARATORS = str.maketrans({"\u2028": "\n", "\u2029": "\n\n"})


# The number of a page, alone in a line.
_PAGE_NUMBER = re.compile(r"\s*[-–—\[(]?\s*(\d{1,4})\s*[-–—\])]?\s*")

# A paragraph most likely ends within this much text.
_END_BYTES = 1 << 18
_BLANK = b"\n\n"
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n")
# A full stop with more text after it. "He came." she said is one sentence, and so is a
# quotation with a full stop in it.
_INNER_STOP = re.compile(rf"\. (?=.)|[{SURE_ENDS}]\s*+(?=[^\s{re.escape(CLOSING_MARKS)}])")


def recognise_text(lines: list[str], *, is_whole: bool = True) -> TextFormat:
    """Whether lines are whole sentences, in blocks that a blank line ends, or prose.

    Hard-wrapped prose has lines that end anywhere; prose with one paragraph a line has
    a blank line after each or several sentences in most. Lines that nobody wrapped, in
    blocks of several, are paragraphs with a blank line between documents.

    Args:
        is_whole: Whether these are all. Sentences that go on without a blank line have
            no document boundaries, as in BookCorpus.

    >>> recognise_text(["He came.", "She left.", "", "It rained.", "Why?"])
    'sentences'
    >>> recognise_text(["He came and she", "left. Then it", "rained."])
    'prose'
    >>> recognise_text(["He came. She left.", "", "It rained. Why?"])
    'prose'
    >>> recognise_text(["他来了。她走了。", "下雨了。为什么？"])
    'prose'
    >>> recognise_text(["He came.", "She left.", "It rained."], is_whole=False)
    'bookcorpus'
    """
    full = [line for line in lines if line]
    if not full:
        return "prose"
    complete = sum(map(ends_sentence, full))
    several = sum(bool(_INNER_STOP.search(line)) for line in full)
    blocks = sum(1 for a, b in zip(["", *lines], lines, strict=False) if b and not a)
    is_blocks = blocks == 1 or len(full) >= 1.5 * blocks
    if complete >= 0.75 * len(full) and several <= 0.3 * len(full) and is_blocks:
        return "sentences" if is_whole or "" in lines else "bookcorpus"
    return "paragraphs" if _are_paragraphs(lines) else "prose"


def _are_paragraphs(lines: list[str]) -> bool:
    """Whether blank lines stand between documents of one paragraph a line."""
    blocks = _blocks_of(lines)
    of_several = [block for block in blocks if len(block) > 1]
    if len(blocks) < 2 or len(of_several) < 0.6 * len(blocks) or is_wrapped(lines):
        return False
    characters = sum(map(len, lines))
    if 2 * len(_UNMARKED.findall("".join(lines))) > characters:
        return True
    # Documentation has wrapped paragraphs among its tables and code.
    wrapped = sum(sum(map(len, block)) for block in of_several if is_wrapped(block))
    in_long = sum(len(line) for line in lines if len(line) > _LONG_LINE_CHARACTERS)
    return 3 * in_long > characters and 5 * wrapped < characters


def _blocks_of(lines: list[str]) -> list[list[str]]:
    """The lines between blank ones."""
    groups = itertools.groupby(lines, key=bool)
    return [list(block) for is_full, block in groups if is_full]


def is_wrapped(lines: list[str], *, width: int = 0) -> bool:
    """Whether lines were wrapped, so that their ends mean nothing.

    The lines of a wrapped text are nearly full: the next word did not fit. Many end
    inside a sentence. Without two lines in a row there is nothing to be wrong about.

    Args:
        width: Of the text that they are part of, if they are not all of it.

    >>> is_wrapped(["It was late when the miller came", "home. No one knew why he was"])
    True
    >>> is_wrapped(["Beginner knitting evening", "Bring two needles", "and wool"])
    False
    """
    ends = [(a, b) for a, b in itertools.pairwise(lines) if a and b]
    if not ends:
        return True
    width = width or _width(lines)
    unspaced = sum(is_unspaced(a[-1]) for a, _ in ends) > len(ends) // 2
    inner = sum(not ends_sentence(a) and not b[0].isupper() for a, b in ends)
    if width < (_LEAST_UNSPACED_WIDTH if unspaced else _LEAST_WIDTH):
        blocks = [block for block in _blocks_of(lines) if len(block) > 1]
        return inner == len(ends) and all(ends_sentence(b[-1]) for b in blocks)
    least = width if unspaced else _FULL * width
    # What the next line's first word and a space before it take; without spaces, a
    # character and the one or two marks after it that may not begin a line.
    taken = (3 if is_unspaced(b[0]) else 1 + len(b.split(" ", 1)[0]) for _, b in ends)
    full = sum(len(a) + n > least for (a, _), n in zip(ends, taken, strict=True))
    return full >= _FULL_LINES * len(ends) and inner >= _INNER_ENDS * len(ends)


def _width(lines: list[str]) -> int:
    """The width of a text, in characters, if it was wrapped."""
    lengths = sorted(len(a) for a, b in itertools.pairwise(lines) if a and b)
    # A line may be longer, as one with an address is.
    return lengths[9 * len(lengths) // 10] if lengths else 0


def read_sentences(lines: Iterable[str]) -> Iterator[Document]:
    """One sentence a line, a blank line between documents (BERT's format).

    >>> list(read_sentences(["He came.", "She left.", "", "Why?"]))[1].paragraphs
    ('Why?',)
    """
    sentences: list[str] = []
    characters = 0
    for line in lines:
        if line:
            sentences.append(line)
            characters += len(line)
        if sentences and (not line or characters >= MAX_DOCUMENT_BYTES):
            yield Document(tuple(sentences), is_segmented=True)
            sentences, characters = [], 0
    if sentences:
        yield Document(tuple(sentences), is_segmented=True)


def read_paragraphs(lines: Iterable[str]) -> Iterator[Document | Dropped]:
    """One paragraph a line, a blank line between documents.

    >>> text = ["He came. She left.", "Why?", "", "It rained."]
    >>> [document.paragraphs for document in read_paragraphs(text)]
    [('He came. She left.', 'Why?'), ('It rained.',)]
    """
    for document in read_sentences(lines):
        yield document._replace(is_segmented=False)


def read_prose(
    blocks: Iterable[bytes], *, counts: ReadingCounts | None = None
) -> Iterator[Document | Dropped]:
    r"""One document a file, or between two markers; a blank line ends a paragraph.

    >>> blocks = [b"He came\nlate.\n", b"\nWhy?"]
    >>> [document.paragraphs for document in read_prose(blocks)]
    [('He came late.', 'Why?')]
    """
    for data in divide_bytes(blocks):
        for part in divide_at_markers(data):
            yield prose_document(decode(part, counts=counts))


def find_documents(file: BinaryIO, *, size: int) -> Iterator[int]:
    r"""Where the documents of a file begin, as `divide_bytes` divides it.

    Args:
        file: The file, uncompressed, read at the ends of documents only.
    """
    limit, start = MAX_DOCUMENT_BYTES, 0
    yield start
    while size - start > limit:
        nearest = max(start, start + limit - _END_BYTES)
        file.seek(nearest)
        cut = file.read(start + limit - nearest).rfind(_BLANK)
        if cut >= 0:
            start = nearest + cut + len(_BLANK)
        else:
            file.seek(start)
            start += _end_of_paragraph(bytearray(file.read(limit + 1)), limit)
        yield start


def prose_document(text: str, *, is_record: bool = False) -> Document | Dropped:
    """Running prose as a document."""
    paragraphs, lines = split_paragraphs(text, is_record=is_record)
    return Document(tuple(paragraphs), lines=lines) if paragraphs else NO_TEXT


def divide_bytes(blocks: Iterable[bytes], *, limit: int = MAX_DOCUMENT_BYTES) -> Iterator[bytes]:
    r"""A file whole, or a very long one in several parts, cut at blank lines.

    >>> list(divide_bytes([b"One.\n\nTwo.\n", b"\nThree."], limit=13))
    [b'One.\n\nTwo.\n\n', b'Three.']
    """
    held = bytearray()
    for block in blocks:
        held += block
        while len(held) > limit:
            cut = _end_of_paragraph(held, limit)
            yield bytes(held[:cut])
            del held[:cut]
    if held:
        yield bytes(held)


def _end_of_paragraph(data: bytearray, limit: int) -> int:
    for blank in (b"\n\n", b"\n\r\n", b"\n"):
        found = data.rfind(blank, 0, limit)
        if found >= 0:
            return found + len(blank)
    return cut_position(bytes(data[: limit + 1]), limit)


def split_paragraphs(text: str, *, is_record: bool = False) -> tuple[list[str], int]:
    r"""The paragraphs of running prose with single spaces, and how many lines they had.

    A blank line ends a paragraph. Where most of the text is in lines wider than anybody
    wraps by hand, each line is one; so it is in a record where nobody wrapped the
    lines, as in pages of the web. What has neither letter nor digit, such as ``* * *``
    between chapters, is none.

    >>> split_paragraphs("He came\nlate.\n \n* * *\n\nWhy?\n")
    (['He came late.', 'Why?'], 3)
    """
    head = text[:_HEAD_CHARACTERS]
    lengths = map(len, head.split("\n"))
    are_lines = sum(n for n in lengths if n > _WIDE_LINE_CHARACTERS) > len(head) // 2
    if "\x0c" in text:
        text = without_page_numbers(text)
    text = with_whole_words(_with_line_feeds(text, is_record=is_record))
    raw = text.split("\n") if are_lines else _BLANK_LINES.split(text)
    if is_record and not are_lines:
        spaced = [" ".join(line.split()) for line in text.split("\n")]
        raw = list[str]()
        width = _width(spaced)
        for block in _blocks_of(spaced):
            raw += ["\n".join(block)] if is_wrapped(block, width=width) else block
    paragraphs, lines = [], 0
    for part in raw:
        paragraph = unwrapped(part)
        if not any(map(str.isalnum, paragraph)):
            continue
        lines += part.strip().count("\n") + 1
        if len(paragraph) > MAX_PARAGRAPH_CHARACTERS:
            paragraphs += _divide_paragraph(paragraph)
        else:
            paragraphs.append(paragraph)
    return paragraphs, lines


def _with_line_feeds(text: str, *, is_record: bool) -> str:
    r"""A text with line feeds for what ends lines or paragraphs otherwise.

    >>> _with_line_feeds("It was\u2028late.\u2029Why?", is_record=False)
    'It was\nlate.\n\nWhy?'
    """
    ends = _LINE_FEEDS if is_record else _SEPARATORS
    is_without = not any(chr(mark) in text for mark in ends)
    return text if is_without else text.translate(ends)


def without_page_numbers(text: str) -> str:
    r"""A text without the numbers that stand where its pages end, as in pdftotext's.

    These rise with the pages; a number that no other one goes with is text.

    >>> without_page_numbers("It was\n\n12\n\n\x0clate.\n\n- 13 -\n\x0cWhy?")
    'It was\nlate.\n\nWhy?'
    """
    whole = text.split("\x0c")
    # Numbers of pages less the places of these.
    offsets: Counter[int] = Counter()
    for place, (page, following) in enumerate(itertools.pairwise(whole), 1):
        lines = page.rstrip().rpartition("\n")[2], following.lstrip().partition("\n")[0]
        matches = filter(None, map(_PAGE_NUMBER.fullmatch, lines))
        offsets.update({int(match[1]) - place for match in matches})

    def is_number(line: str, place: int) -> bool:
        match = _PAGE_NUMBER.fullmatch(line)
        return match is not None and offsets[int(match[1]) - place] > 1

    pages: list[str] = []
    for place, page in enumerate(whole):
        before, after = (pages[-1] if pages else "").rstrip(), page.lstrip()
        last_line = before.rfind("\n") + 1
        first, _, rest = after.partition("\n")
        if is_number(before[last_line:], place):
            before = before[:last_line].rstrip()
        elif pages and is_number(first, place):
            after = rest.lstrip()
        else:
            pages.append(f"\x0c{page}" if pages else page)
            continue
        goes_on = after[:1].islower() and not ends_sentence(before)
        pages[-1] = before + ("\n" if goes_on else "\n\n")
        pages.append(after)
    return "".join(pages)


def _divide_paragraph(paragraph: str, *, limit: int = MAX_PARAGRAPH_CHARACTERS) -> list[str]:
    """Parts of at most `limit` characters, cut at spaces.

    >>> _divide_paragraph("one two three", limit=8)
    ['one two', 'three']
    """
    parts = []
    while len(paragraph) > limit:
        cut = paragraph.rfind(" ", 1, limit) if " " in paragraph[1:limit] else limit
        parts.append(paragraph[:cut])
        paragraph = paragraph[cut:].lstrip()
    return [*parts, paragraph]
