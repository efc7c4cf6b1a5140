"""The tags of words: one convention inside, IOB2, whatever a file has."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

# IOB1 begins an entity with B only after another of its type, IOB2 always; IOBES (also
# as BILOU or BMES) marks the last word and the only word of an entity as well.
Convention = Literal["IOB1", "IOB2", "IOBES", "none"]

_ENTITY_TAG = re.compile(r"O|[BIESLUM]-.+", re.DOTALL)
_INSIDE = "IELM"
_LAST = "ESLU"

# What is counted of tags that break the rules of IOB2 or IOBES.
NO_BEGINNING = "entity that begins with I-, read as if with B-"


def are_entities(tags: Iterable[str]) -> bool:
    """Whether tags mark entities, and are not one for each word such as NOUN.

    >>> are_entities({"O", "B-PER", "I-PER"}), are_entities({"NOUN", "O"})
    (True, False)
    """
    different = set(tags)
    return different != {"O"} and all(map(_ENTITY_TAG.fullmatch, different))


def convention_of(sentences: Sequence[Sequence[str]]) -> Convention:
    """The convention that the tags of a file follow.

    >>> convention_of([["I-PER", "I-PER", "O"], ["I-LOC", "B-LOC"]])
    'IOB1'
    >>> convention_of([["B-PER", "I-PER", "O"]]), convention_of([["S-PER", "O"]])
    ('IOB2', 'IOBES')
    """
    if not are_entities(tag for tags in sentences for tag in tags):
        return "none"
    if any(tag[0] not in "BIO" for tags in sentences for tag in tags):
        return "IOBES"
    begins = Counter(
        tag[0]
        for tags in sentences
        for tag, before in _with_before(tags)
        if tag != "O" and (before == "O" or before[2:] != tag[2:])
    )
    return "IOB2" if begins["B"] else "IOB1"


def iob2(tags: Sequence[str]) -> list[str]:
    """The tags of a sentence in IOB2, from any convention.

    An I- that continues nothing begins an entity, as conlleval reads it.

    >>> iob2(["I-PER", "I-PER", "B-PER", "O", "S-LOC", "E-ORG"])
    ['B-PER', 'I-PER', 'B-PER', 'O', 'B-LOC', 'B-ORG']
    """
    return [
        "O" if tag == "O" else f"{'I' if _continues(tag, before) else 'B'}-{tag[2:]}"
        for tag, before in _with_before(tags)
    ]


def without_beginning(tags: Sequence[str]) -> int:
    """How many entities begin with an inner word, where B- or S- ought to stand.

    >>> without_beginning(["I-PER", "O", "B-LOC", "I-PER"])
    2
    """
    return sum(
        tag[0] in _INSIDE and not _continues(tag, before)
        for tag, before in _with_before(tags)
    )


def _continues(tag: str, before: str) -> bool:
    return tag[0] in _INSIDE and before[0] not in _LAST and before[1:] == tag[1:]


def _with_before(tags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each tag with the one before it."""
    return zip(tags, ["O", *tags], strict=False)


def tags_of_spans(text: str, entities: dict[str, Any]) -> list[str]:
    """The tags of the characters of a text, from CLUENER's spans.

    Args:
        text: Of which each character gets a tag.
        entities: By type, then by their text: the first and the last character of each.

    >>> tags_of_spans("in Rome", {"LOC": {"Rome": [[3, 6]]}})
    ['O', 'O', 'O', 'B-LOC', 'I-LOC', 'I-LOC', 'I-LOC']
    """
    tags = ["O"] * len(text)
    for kind, spans in entities.items():
        for start, last in (span for found in spans.values() for span in found):
            tags[start : last + 1] = [f"B-{kind}"] + [f"I-{kind}"] * (last - start)
    return tags
