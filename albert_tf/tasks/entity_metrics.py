"""Entities of tags, and how many were found, in the default sense of seqeval.

As conlleval: an entity ends where its type changes or a tag says so, and an I- that no
entity precedes begins one. So sequences that break the rules of IOB2 count too.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

OUTSIDE = "O"


class Entity(NamedTuple):
    """A span of words `[start, end)` of some type."""

    type: str
    start: int
    end: int


class Found(NamedTuple):
    """How many entities were found.

    Attributes:
        right: Those found where they are, with their type.
        said: All that were found.
        wanted: All that there are.
    """

    right: int
    said: int
    wanted: int

    @property
    def precision(self) -> float:
        """Of what was found, the share that is right."""
        return self.right / self.said if self.said else 0.0

    @property
    def recall(self) -> float:
        """Of what is there, the share that was found."""
        return self.right / self.wanted if self.wanted else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.said + self.wanted
        return 2 * self.right / both if both else 0.0


def entities_of(tags: Sequence[str]) -> list[Entity]:
    """The entities of a sentence.

    >>> entities_of(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    ... # doctest: +NORMALIZE_WHITESPACE
    [Entity(type='PER', start=0, end=2), Entity(type='LOC', start=3, end=4),
     Entity(type='LOC', start=4, end=5)]
    """
    entities, start, before = [], 0, (OUTSIDE, "")
    for place, tag in enumerate([*tags, OUTSIDE]):
        now = _parted(tag)
        if _ends(before, now):
            entities.append(Entity(before[1], start, place))
        if _begins(before, now):
            start = place
        before = now
    return entities


def has_entities(labels: Iterable[str]) -> bool:
    """Whether tags are of entities, and not of single words as parts of speech are."""
    return all(label == OUTSIDE or label[:2] in ("B-", "I-") for label in labels)


def count_entities(
    targets: Iterable[Sequence[str]], predictions: Iterable[Sequence[str]]
) -> dict[str, Found]:
    """How many entities of each type were found, and of all types under "".

    >>> count_entities([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])[""]
    Found(right=1, said=1, wanted=2)
    """
    right: Counter[str] = Counter()
    said: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for gold, predicted in zip(targets, predictions, strict=True):
        ours, theirs = set(entities_of(predicted)), set(entities_of(gold))
        for counter, entities in (
            (right, ours & theirs),
            (said, ours),
            (wanted, theirs),
        ):
            counter.update(entity.type for entity in entities)
            counter[""] += len(entities)
    types = sorted({"", *said, *wanted})
    return {name: Found(right[name], said[name], wanted[name]) for name in types}


def _parted(tag: str) -> tuple[str, str]:
    """B, I or O, and the type; tags without a prefix are types of their own.

    >>> _parted("B-PER"), _parted("O"), _parted("I")
    (('B', 'PER'), ('O', ''), ('I', ''))
    """
    prefix, _, kind = tag.partition("-")
    return prefix, kind


def _ends(before: tuple[str, str], now: tuple[str, str]) -> bool:
    return before[0] != OUTSIDE and (now[0] in ("B", OUTSIDE) or before[1] != now[1])


def _begins(before: tuple[str, str], now: tuple[str, str]) -> bool:
    is_inside = now[0] != OUTSIDE
    return is_inside and (now[0] == "B" or before[0] == OUTSIDE or before[1] != now[1])
