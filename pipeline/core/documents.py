"""What every reader yields: a document, or the reason why it was left out."""

from typing import NamedTuple


class Document(NamedTuple):
    """One article or book, cleaned.

    Attributes:
        paragraphs: Running text with single spaces, or one sentence each.
        is_segmented: Whether each paragraph is one sentence already.
        language: As named by the record that holds the document, else empty.
    """

    paragraphs: tuple[str, ...]
    is_segmented: bool = False
    language: str = ""


class Dropped(NamedTuple):
    """Something that was read and left out; the reason is counted."""

    reason: str


class ShardDocument(NamedTuple):
    """A document, or a part of a long one, as it crosses the shuffle.

    Attributes:
        id: Hash of its text, 16 bytes.
        text: Its sentences, one a line.
        is_first: False for the parts of a long document after the first.
    """

    id: bytes
    text: str
    is_first: bool = True


NO_TEXT = Dropped("no text")
CUT_OFF = Dropped("page cut off")

# Counted for each paragraph that a reader leaves out of a document.
NOT_PROSE = "paragraph that is not prose"
