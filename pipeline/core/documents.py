"""What every reader yields: documents, reasons why others were left out, and counts."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self


class Document(NamedTuple):
    """One article or book, cleaned.

    Attributes:
        paragraphs: Running text with single spaces, or one sentence each.
        is_segmented: Whether each paragraph is one sentence already.
        language: As named by the record that holds the document, else empty.
        is_held_out: Whether it was given to be held out.
        lines: How many lines running prose had before they were joined to paragraphs.
    """

    paragraphs: tuple[str, ...]
    is_segmented: bool = False
    language: str = ""
    is_held_out: bool = False
    lines: int = 0

    def left_with(self, paragraphs: tuple[str, ...]) -> "Document":
        """The document with some of its paragraphs, and a line less for each that went.

        >>> Document(("Menu", "He came late."), lines=3).left_with(("He came late.",)).lines
        2
        """
        lines = self.lines - len(self.paragraphs) + len(paragraphs)
        return self._replace(paragraphs=paragraphs, lines=max(0, lines))


class Dropped(NamedTuple):
    """Something that was read and left out; the reason is counted."""

    reason: str


Documents = Iterator[Document | Dropped]


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


# Bytes of zeros that the ids of text given to be held out begin with, so that its split
# is told by its id, as that of any document is. One of 16 million other
# documents has so low an id, and is held out too.
HELD_OUT_ZEROS = 3
HELD_OUT_BOUND = 1 << 8 * (8 - HELD_OUT_ZEROS)


def number_of(document_id: bytes) -> int:
    """The 64 bits that all parts of a document share: the first of its id."""
    return int.from_bytes(document_id[:8], "big")


def held_out_id(document_id: bytes) -> bytes:
    """The id of a document that was given to be held out.

    >>> held_out_id(bytes(range(1, 17))).hex()
    '0000000102030405090a0b0c0d0e0f10'
    """
    return bytes(HELD_OUT_ZEROS) + document_id[: 8 - HELD_OUT_ZEROS] + document_id[8:]


NO_TEXT = Dropped("no text")
CUT_OFF = Dropped("page cut off")

# Counted for each paragraph that a reader leaves out of a document.
NOT_PROSE = "paragraph that is not prose"


# The reason that is counted once for each damaged stream.
DAMAGED = "damaged or cut off compressed data"
# The reason for files in folders that are not read.
PASSED_OVER = "file passed over"


@dataclasses.dataclass
class ReadingCounts:
    """Counts of any part of the input, by reason what was dropped and changed.

    Attributes:
        documents: Documents read, long ones counted once.
        sentences: Their sentences, where someone counts them.
    """

    documents: int = 0
    sentences: int = 0
    dropped: Counter[str] = dataclasses.field(default_factory=Counter)
    changed: Counter[str] = dataclasses.field(default_factory=Counter)

    def add(self, other: "ReadingCounts") -> None:
        """Add the counts of another part."""
        for name, counted in vars(other).items():
            vars(self)[name] += counted

    def to_dict(self) -> dict[str, Any]:
        """A JSON object with its reasons in order.

        >>> ReadingCounts(documents=5, dropped=Counter(redirect=2)).to_dict()
        {'documents': 5, 'sentences': 0, 'dropped': {'redirect': 2}, 'changed': {}}
        """
        of_reasons = {name: in_order(getattr(self, name)) for name in ("dropped", "changed")}
        return vars(self) | of_reasons

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        reasons = {name: Counter(values[name]) for name in ("dropped", "changed")}
        return cls(**{**values, **reasons})


def in_order(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts above zero in the order of their reasons.

    >>> in_order({"redirect": 2, "no text": 1, "disambiguation": 0})
    {'no text': 1, 'redirect': 2}
    """
    return {reason: count for reason, count in sorted(counts.items()) if count}


def largest_first(counts: Mapping[Any, int]) -> list[tuple[Any, int]]:
    """What was counted with its counts; of equal ones by their names.

    >>> largest_first({"b": 1, "c": 2, "a": 1})
    [('c', 2), ('a', 1), ('b', 1)]
    """
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def list_reasons(counts: Mapping[str, int]) -> str:
    """Counts by reason in a line for a person, the largest first.

    >>> list_reasons({"no text": 1, "redirect": 2000})
    '2,000 x redirect; 1 x no text'
    """
    return "; ".join(f"{count:,} x {reason}" for reason, count in largest_first(counts))


def left_out(dropped: Mapping[str, int]) -> str:
    """What to add to a sentence that says there is too little text; empty if nothing.

    >>> left_out({"redirect": 2}), left_out({"no text": 0})
    (' (left out: 2 x redirect)', '')
    """
    reasons = list_reasons(in_order(dropped))
    return f" (left out: {reasons})" if reasons else ""


def describe_counts(dropped: Mapping[str, int], changed: Mapping[str, int]) -> Iterator[str]:
    """What reading counted, as it is printed at the end of a command.

    >>> list(describe_counts({"redirect": 2}, {}))
    ['left out: 2 x redirect']
    """
    if damaged := dropped.get(DAMAGED):
        yield (
            f"Warning: {damaged:,} x {DAMAGED}; the rest of it could not be read, so "
            "copy the file again."
        )
    others = {reason: n for reason, n in dropped.items() if reason != DAMAGED}
    if others:
        yield f"left out: {list_reasons(others)}"
    if changed:
        yield f"changed while reading: {list_reasons(changed)}"
