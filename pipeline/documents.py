"""What every reader yields: a document, or the reason why there is none."""

from typing import NamedTuple


class Document(NamedTuple):
    """One article or book, cleaned.

    Attributes:
        paragraphs: Running text with single spaces, or one sentence each.
        is_segmented: Whether each paragraph is one sentence already.
    """

    paragraphs: tuple[str, ...]
    is_segmented: bool = False


class Dropped(NamedTuple):
    """Something that was read and left out; the reason is counted."""

    reason: str


class ShardDocument(NamedTuple):
    """A document, or a part of a long one, as it crosses the shuffle.

    Attributes:
        id: Hash of its text, 16 bytes.
        text: Its sentences, one a line.
    """

    id: bytes
    text: str
