"""Plain text: running prose, and BERT's one sentence a line."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

from pipeline.documents import Document, Dropped
from pipeline.lines import cut_position, decode

TextFormat = Literal["prose", "sentences", "bookcorpus"]

NO_TEXT = Dropped("no text")

# A file of running prose is one document up to this size, then another.
MOST_DOCUMENT_BYTES = 8 << 20
# A longer paragraph is divided at a space.
MOST_PARAGRAPH_CHARACTERS = 1 << 20

# No one wraps lines by hand that wide.
_WIDE_LINE_CHARACTERS = 200
_HEAD_CHARACTERS = 1 << 16

_BLANK_LINES = re.compile(r"\n[^\S\n]*\n")
_SENTENCE_ENDS = tuple(".!?…。！？؟।։\"'”’»)]")


def recognise_text(lines: list[str], *, is_whole: bool = True) -> TextFormat:
    """Whether lines are whole sentences, in blocks that a blank line ends, or prose.

    Hard-wrapped prose has lines that end anywhere; prose with one paragraph a line has
    a blank line after each or several sentences in most.

    Args:
        lines: The first lines of a file.
        is_whole: Whether these are all. Sentences that go on without a blank line have
            no document boundaries, as in BookCorpus.

    >>> recognise_text(["He came.", "She left.", "", "It rained.", "Why?"])
    'sentences'
    >>> recognise_text(["He came and she", "left. Then it", "rained."])
    'prose'
    >>> recognise_text(["He came. She left.", "", "It rained. Why?"])
    'prose'
    >>> recognise_text(["He came.", "She left.", "It rained."], is_whole=False)
    'bookcorpus'
    """
    full = [line for line in lines if line]
    if not full:
        return "prose"
    complete = sum(line.endswith(_SENTENCE_ENDS) for line in full)
    several = sum(". " in line[:-1] for line in full)
    blocks = sum(1 for a, b in zip(["", *lines], lines, strict=False) if b and not a)
    is_blocks = blocks == 1 or len(full) >= 1.5 * blocks
    if complete >= 0.75 * len(full) and several <= 0.3 * len(full) and is_blocks:
        return "sentences" if is_whole or "" in lines else "bookcorpus"
    return "prose"


def starts_after_blank(line: bytes) -> bool:
    """Whether a line parts documents of one sentence a line: it is blank."""
    return not line.strip()


def read_sentences(lines: Iterable[str]) -> Iterator[Document | Dropped]:
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
        if sentences and (not line or characters >= MOST_DOCUMENT_BYTES):
            yield Document(tuple(sentences), is_segmented=True)
            sentences, characters = [], 0
    if sentences:
        yield Document(tuple(sentences), is_segmented=True)


def read_prose(
    blocks: Iterable[bytes], *, counts: Counter[str]
) -> Iterator[Document | Dropped]:
    r"""One document a file; a blank line ends a paragraph.

    Args:
        blocks: The file.
        counts: See `pipeline.lines.decode`.

    >>> list(read_prose([b"He came\nlate.\n", b"\nWhy?"], counts=Counter()))
    [Document(paragraphs=('He came late.', 'Why?'), is_segmented=False)]
    """
    for data in divide_bytes(blocks):
        yield prose_document(decode(data, counts=counts))


def prose_document(text: str) -> Document | Dropped:
    """Running prose as a document."""
    paragraphs = split_paragraphs(text)
    return Document(tuple(paragraphs)) if paragraphs else NO_TEXT


def divide_bytes(
    blocks: Iterable[bytes], *, most: int = MOST_DOCUMENT_BYTES
) -> Iterator[bytes]:
    r"""A file in one piece, or a very long one in several, cut at blank lines.

    >>> list(divide_bytes([b"One.\n\nTwo.\n", b"\nThree."], most=13))
    [b'One.\n\nTwo.\n\n', b'Three.']
    """
    held = bytearray()
    for block in blocks:
        held += block
        while len(held) > most:
            cut = _end_of_paragraph(held, most)
            yield bytes(held[:cut])
            del held[:cut]
    if held:
        yield bytes(held)


def _end_of_paragraph(data: bytearray, most: int) -> int:
    for blank in (b"\n\n", b"\n\r\n", b"\n"):
        found = data.rfind(blank, 0, most)
        if found >= 0:
            return found + len(blank)
    return cut_position(bytes(data[: most + 1]), most)


def split_paragraphs(text: str) -> list[str]:
    r"""The paragraphs of running prose, with single spaces.

    A blank line ends a paragraph. Where most of the text stands in lines wider than
    anyone wraps by hand, each line is one. What has neither letter nor digit (``* * *``
    between chapters) is none.

    >>> split_paragraphs("He came\nlate.\n \n* * *\n\nWhy?\n")
    ['He came late.', 'Why?']
    """
    text_is_wide = _has_wide_lines(text[:_HEAD_CHARACTERS])
    raw = text.split("\n") if text_is_wide else _BLANK_LINES.split(text)
    paragraphs = []
    for part in raw:
        paragraph = " ".join(part.split())
        if not any(map(str.isalnum, paragraph)):
            continue
        if len(paragraph) > MOST_PARAGRAPH_CHARACTERS:
            paragraphs += _divide_paragraph(paragraph)
        else:
            paragraphs.append(paragraph)
    return paragraphs


def _has_wide_lines(head: str) -> bool:
    wide = sum(
        len(line) for line in head.split("\n") if len(line) > _WIDE_LINE_CHARACTERS
    )
    return wide > len(head) // 2


def _divide_paragraph(
    paragraph: str, *, most: int = MOST_PARAGRAPH_CHARACTERS
) -> list[str]:
    """Parts of at most so many characters, cut at spaces.

    >>> _divide_paragraph("one two three", most=8)
    ['one two', 'three']
    """
    parts = []
    while len(paragraph) > most:
        cut = paragraph.rfind(" ", 1, most) if " " in paragraph[1:most] else most
        parts.append(paragraph[:cut])
        paragraph = paragraph[cut:].lstrip()
    return [*parts, paragraph]
