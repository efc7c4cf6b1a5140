"""Tags of words that mark entities, by one of several schemes.

IOB2 is made of each, and back.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

# IOB1 begins an entity with B only after another of its type, IOB2 always; IOBES (also
# as BILOU, BMES or BMEWO) marks the last word and the only word of an entity as well.
Convention = Literal["IOB1", "IOB2", "IOBES"]
_ENTITY_TAG = re.compile(r"O|[BIESLUMW]-.+", re.DOTALL)
# The forms of a tag other than O: its place in an entity before its type, after it, or
# alone where all entities are of one type.
_FORMS = (
    re.compile(r"(?P<place>[BIESLUMW])[-_](?P<type>.+)", re.DOTALL),
    re.compile(r"(?P<type>.+)[-_](?P<place>[BIESLUMW])", re.DOTALL),
    re.compile(r"(?P<place>[BIESLUMW])"),
)
_ONLY_TYPE = "entity"
_INSIDE = "IELM"
_LAST = "ESLUW"
# The letters that a scheme may have for a word of an entity, the most exact ones first.
_BEGINNING_LETTERS, _ONLY_LETTERS = "BI", "SUWBI"
_INNER_LETTERS, _LAST_LETTERS = "IM", "ELIM"


def with_prefixes(tags: Iterable[str]) -> dict[str, str]:
    """Each different tag in the form B-PER, if all have one form; else as it is.

    >>> sorted(with_prefixes(["PER-B", "PER-I", "O"]).values())
    ['B-PER', 'I-PER', 'O']
    >>> with_prefixes(["B_PER"]), with_prefixes(["B"]), with_prefixes(["B-PER", "NOUN"])
    ... # doctest: +NORMALIZE_WHITESPACE
    ({'B_PER': 'B-PER', 'O': 'O'}, {'B': 'B-entity', 'O': 'O'},
     {'B-PER': 'B-PER', 'NOUN': 'NOUN'})
    """
    different = sorted(set(tags))
    for form in _FORMS:
        found = {tag: form.fullmatch(tag) for tag in different if tag != "O"}
        parts = {tag: each.groupdict() for tag, each in found.items() if each}
        if len(parts) == len(found):
            named = {
                tag: f"{each['place']}-{each.get('type', _ONLY_TYPE)}"
                for tag, each in parts.items()
            }
            return {**named, "O": "O"}
    return {tag: tag for tag in different}


def are_entities(tags: Iterable[str]) -> bool:
    """Whether tags mark entities, and are not one for each word such as NOUN.

    >>> are_entities({"O", "B-PER", "I-PER"}), are_entities({"NOUN", "O"})
    (True, False)
    """
    different = set(tags)
    found = with_prefixes(different).values()
    return different != {"O"} and all(map(_ENTITY_TAG.fullmatch, found))


def convention_of(sentences: Sequence[Sequence[str]]) -> Convention:
    """The convention that the tags of entities of a file follow.

    >>> convention_of([["I-PER", "I-PER", "O"], ["I-LOC", "B-LOC"]])
    'IOB1'
    >>> convention_of([["B-PER", "I-PER", "O"]]), convention_of([["S-PER", "O"]])
    ('IOB2', 'IOBES')
    """
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
    forms = with_prefixes(tags)
    return [
        "O" if tag == "O" else f"{'I' if _continues(tag, before) else 'B'}-{tag[2:]}"
        for tag, before in _with_before([forms[tag] for tag in tags])
    ]


def without_beginning(tags: Sequence[str]) -> int:
    """How many entities begin with an inner word, where B- or S- ought to stand.

    >>> without_beginning(["I-PER", "O", "B-LOC", "I-PER"])
    2
    """
    return sum(
        tag[0] in _INSIDE and not _continues(tag, before) for tag, before in _with_before(tags)
    )


def _continues(tag: str, before: str) -> bool:
    return tag[0] in _INSIDE and before[0] not in _LAST and before[1:] == tag[1:]


def _with_before(tags: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each tag with the one before it."""
    return zip(tags, ["O", *tags], strict=False)


def are_iob2(labels: Collection[str]) -> bool:
    """Whether labels of entities are those of IOB2, each in the form B-PER."""
    letters = {label[0] for label in labels}
    is_form = all(form == label for label, form in with_prefixes(labels).items())
    return letters <= {"B", "I", "O"} and "B" in letters and is_form


def scheme_tags(tags: Sequence[str], labels: Collection[str]) -> tuple[str, ...]:
    """Tags in IOB2 in the scheme that labels follow; unknown ones stay as they are.

    >>> iobes = {"O", "B-A", "I-A", "E-A", "S-A"}
    >>> scheme_tags(["B-A", "I-A", "I-A", "O", "B-A"], iobes)
    ('B-A', 'I-A', 'E-A', 'O', 'S-A')
    >>> scheme_tags(["B-A", "I-A", "O"], {"O", "I-A"})
    ('I-A', 'I-A', 'O')
    >>> scheme_tags(["B-A", "I-A", "O"], {"O", "A-B", "A-I"})
    ('A-B', 'A-I', 'O')
    """
    found, own_form = [], {form: tag for tag, form in with_prefixes(labels).items()}
    for tag, after in zip(tags, [*tags[1:], "O"], strict=True):
        goes_on = after == f"I-{tag[2:]}"
        if tag[0] == "B":
            letters = _BEGINNING_LETTERS if goes_on else _ONLY_LETTERS
        else:
            letters = _INNER_LETTERS if goes_on else _LAST_LETTERS
        own = (f"{letter}-{tag[2:]}" for letter in letters)
        known = (own_form[form] for form in own if form in own_form)
        found.append(tag if tag == "O" else next(known, tag))
    return tuple(found)


class Entity(NamedTuple):
    """A span of words `[start, end)` of some type."""

    type: str
    start: int
    end: int


def entities_of(tags: Sequence[str]) -> list[Entity]:
    """The entities of a sentence, whose tags are of any scheme.

    >>> entities_of(["B-PER", "E-PER", "O", "I-LOC", "S-LOC"])
    ... # doctest: +NORMALIZE_WHITESPACE
    [Entity(type='PER', start=0, end=2), Entity(type='LOC', start=3, end=4),
     Entity(type='LOC', start=4, end=5)]
    """
    entities: list[Entity] = []
    for place, tag in enumerate(iob2(tags)):
        if tag[0] == "B":
            entities.append(Entity(tag[2:], place, place + 1))
        elif tag[0] == "I":
            entities[-1] = entities[-1]._replace(end=place + 1)
    return entities
