"""Plain text: running prose, and BERT's one sentence a line."""

from collections.abc import Iterable, Iterator
from typing import Literal

from pipeline.documents import Document, Dropped

TextFormat = Literal["prose", "sentences"]

# A file of running prose is one document up to this many characters, then another.
MOST_CHARACTERS = 8 << 20

_SENTENCE_ENDS = tuple(".!?…。！？؟।։\"'”’»)]")


def recognise_text(lines: list[str]) -> TextFormat:
    """Whether lines are whole sentences, in blocks that a blank line ends, or prose.

    Hard-wrapped prose has lines that end anywhere; prose with one paragraph a line has
    a blank line after each or several sentences in most.

    Args:
        lines: The first lines of a file.

    >>> recognise_text(["He came.", "She left.", "", "It rained.", "Why?"])
    'sentences'
    >>> recognise_text(["He came and she", "left. Then it", "rained."])
    'prose'
    >>> recognise_text(["He came. She left.", "", "It rained. Why?"])
    'prose'
    """
    full = [line for line in lines if line]
    if not full:
        return "prose"
    complete = sum(line.endswith(_SENTENCE_ENDS) for line in full)
    several = sum(". " in line[:-1] for line in full)
    blocks = sum(1 for a, b in zip(["", *lines], lines, strict=False) if b and not a)
    is_blocks = blocks == 1 or len(full) >= 1.5 * blocks
    if complete >= 0.75 * len(full) and several <= 0.3 * len(full) and is_blocks:
        return "sentences"
    return "prose"


def read_sentences(lines: Iterable[str]) -> Iterator[Document | Dropped]:
    """One sentence a line, a blank line between documents (BERT's format).

    >>> list(read_sentences(["He came.", "She left.", "", "Why?"]))[1].paragraphs
    ('Why?',)
    """
    sentences: list[str] = []
    for line in lines:
        if line:
            sentences.append(line)
        elif sentences:
            yield Document(tuple(sentences), is_segmented=True)
            sentences = []
    if sentences:
        yield Document(tuple(sentences), is_segmented=True)


def read_prose(lines: Iterable[str]) -> Iterator[Document | Dropped]:
    """One document a file; a blank line ends a paragraph.

    >>> list(read_prose(["He came", "late.", "", "Why?"]))
    [Document(paragraphs=('He came late.', 'Why?'), is_segmented=False)]
    """
    paragraphs: list[str] = []
    characters = 0
    for paragraph in join_paragraphs(lines):
        paragraphs.append(paragraph)
        characters += len(paragraph)
        if characters >= MOST_CHARACTERS:
            yield Document(tuple(paragraphs))
            paragraphs, characters = [], 0
    if paragraphs:
        yield Document(tuple(paragraphs))


def join_paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Lines up to a blank one become one paragraph, bounded in length."""
    block: list[str] = []
    characters = 0
    for line in lines:
        if line:
            block.append(line)
            characters += len(line)
        if block and (not line or characters >= MOST_CHARACTERS):
            yield " ".join(block)
            block, characters = [], 0
    if block:
        yield " ".join(block)
