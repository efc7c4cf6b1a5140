"""Paragraphs become sentences; long documents become parts.

Sentences come from `sentencex`, Wikimedia's segmenter. It keeps quoted speech together,
however long, so that over-long sentences are split once more at full stops inside
them; a sequence without a sentence boundary could only be divided inside a sentence.
"""

import re

import sentencex

from pipeline.documents import Document

# Longer sentences are split again; about a hundred words.
LONG_SENTENCE_CHARACTERS = 500

# A book is divided so that no shard has to hold the whole of a long one.
MOST_SENTENCES = 2000

# Behind a mark and a closing quote: white space, or nothing where none is written.
_INNER_END = re.compile(
    r"(?<=[.!?;…])([\"'”’»)\]]?)\s+|(?<=[。！？；])([」』”’）]?)\s*(?=.)"
)


def split_sentences(document: Document, *, language: str) -> list[list[str]]:
    """The sentences of each paragraph of a document.

    >>> split_sentences(Document(("He came. She left.", "Why?")), language="en")
    [['He came.', 'She left.'], ['Why?']]
    """
    if document.is_segmented:
        return [[sentence] for sentence in document.paragraphs]
    paragraphs = []
    for paragraph in document.paragraphs:
        sentences: list[str] = []
        for sentence in sentencex.segment(language, paragraph):
            if len(sentence) > LONG_SENTENCE_CHARACTERS:
                sentences += split_long(sentence)
            elif stripped := sentence.strip():
                sentences.append(stripped)
        paragraphs.append(sentences)
    return paragraphs


def split_long(sentence: str) -> list[str]:
    """Split at every full stop, question or exclamation mark and semicolon.

    >>> split_long('"Come in. Sit down!" he said; so I did.')
    ['"Come in.', 'Sit down!"', 'he said;', 'so I did.']
    """
    return _INNER_END.sub(r"\1\2\n", sentence.strip()).split("\n")


def divide(
    paragraphs: list[list[str]], *, most: int = MOST_SENTENCES
) -> list[list[str]]:
    """Divide a long document at paragraph ends into parts of about equal size.

    A paragraph is divided only if it alone is longer than `most`.

    Args:
        paragraphs: The sentences of each paragraph.
        most: A document of so many sentences stays whole.

    >>> divide([["a", "b"], ["c", "d"], ["e"]], most=3)
    [['a', 'b', 'c', 'd'], ['e']]
    >>> divide([["a", "b", "c", "d"]], most=3)
    [['a', 'b'], ['c', 'd']]
    """
    total = sum(map(len, paragraphs))
    size = -(-total // max(1, -(-total // most)))
    parts: list[list[str]] = [[]]
    for paragraph in paragraphs:
        step = len(paragraph) if len(paragraph) <= most else size
        for start in range(0, len(paragraph), max(1, step)):
            if len(parts[-1]) >= size:
                parts.append([])
            parts[-1] += paragraph[start : start + step]
    return [part for part in parts if part]
