"""The tags of words in one scheme, from any that files have, and from marked spans."""

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pipeline.tasks.columns import object_value
from pipeline.tasks.table_files import Row, Table
from schemas.errors import AlbertError
from schemas.task import (
    TaskExample,
    are_entities,
    are_iob2,
    convention_of,
    iob2,
    scheme_tags,
    with_prefixes,
    without_beginning,
)

# What is counted of tags that break the rules of IOB2 or IOBES.
NO_BEGINNING = "entity that begins with I-, read as if with B-"

# What is counted of spans that give no tag.
OUTSIDE = "span outside its text, or that ends before it begins, left out"
OVERLAPPING = "span inside or across a longer one, left out"
NO_WORD = "span that has no word of its own, left out"

# Brackets around an entity, as CoNLL-2005 and 2012 have them: (PER*, *, *), (PER).
_BRACKETED = re.compile(r"(?:\(([^()*\s]+))?(\*?)(\)?)")


def in_iob2(examples: Sequence[TaskExample], *, counts: Counter[str]) -> list[TaskExample]:
    """The examples of a file with tags in IOB2, whatever their convention.

    White space around a tag is no part of it.
    """
    for example in examples:
        if example.tags is not None and len(example.tags) != len(example.words):
            raise AlbertError(
                f"{example.place}: the number of tags ({len(example.tags)}) is not "
                f"that of the words ({len(example.words)}); correct it."
            )
    listed = (e.tags for e in examples if e.tags is not None)
    tags = _without_brackets([[*map(str.strip, each)] for each in listed])
    prefixed = with_prefixes(tag for each in tags for tag in each)
    if are_entities(prefixed.values()):
        tags = [[prefixed[tag] for tag in each] for each in tags]
        if convention_of(tags) != "IOB1" and (n := sum(map(without_beginning, tags))):
            counts[NO_BEGINNING] += n
        tags = [iob2(each) for each in tags]
    following = iter(tags)
    return [
        example
        if example.tags is None
        else dataclasses.replace(example, tags=tuple(next(following)))
        for example in examples
    ]


def _without_brackets(tags: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """Tags of entities in brackets as IOB2; others as they are."""
    listed = list(tags)
    found = {tag: _BRACKETED.fullmatch(tag) for each in listed for tag in each}
    has_brackets = any(tag.startswith("(") and len(tag) > 1 for tag in found)
    if not has_brackets or not all(found.values()):
        return listed
    result: list[Sequence[str]] = []
    for each in listed:
        own, inside = list[str](), None
        for mark in map(found.get, each):
            kind, _, end = mark.groups() if mark else (None, "", "")
            inside = kind or inside
            own.append(f"{'B' if kind else 'I'}-{inside}" if inside else "O")
            inside = None if end else inside
        result.append(own)
    return result


def in_scheme_of(examples: Sequence[TaskExample], labels: Collection[str]) -> list[TaskExample]:
    """Examples in IOB2 with tags in the scheme of the labels of a task."""
    prefixed = with_prefixes(labels)
    if not labels or not are_entities(prefixed.values()) or are_iob2(labels):
        return list(examples)
    return [
        example
        if example.tags is None
        else dataclasses.replace(example, tags=scheme_tags(example.tags, labels))
        for example in examples
    ]


def tags_of_marked(
    text: str, words: Sequence[str], spans: Iterable[tuple[int, int, str]], *, counts: Counter[str]
) -> tuple[str, ...]:
    """The tags of words, from spans of characters `[start, end)` with their types.

    A word that is in a span in part belongs to it, and to the first of several.

    >>> spans = [(3, 11, "LOC")]
    >>> tags_of_marked("in New York.", ["in", "New", "York."], spans, counts=Counter())
    ('O', 'B-LOC', 'I-LOC')
    """
    tags, place, before = [], 0, None
    apart = _apart(spans, length=len(text), counts=counts)
    for word in words:
        start = text.index(word, place)
        place = start + len(word)
        inside = (s for s in apart if s[0] < place and s[1] > start)
        found = next(inside, None)
        if found is None:
            tags.append("O")
        else:
            tags.append(f"{'I' if found is before else 'B'}-{found[2]}")
            apart[found] = True
        before = found
    if lost := list(apart.values()).count(False):
        counts[NO_WORD] += lost
    return tuple(tags)


def _apart(
    spans: Iterable[tuple[int, int, str]], *, length: int, counts: Counter[str]
) -> dict[tuple[int, int, str], bool]:
    """The spans that do not overlap, in order, each false; the longer one stays."""
    kept: list[tuple[int, int, str]] = []
    for span in sorted(set(spans), key=lambda s: (s[0] - s[1], s)):
        start, end, _ = span
        if not 0 <= start < min(end, length):
            counts[OUTSIDE] += 1
        elif any(start < other[1] and other[0] < end for other in kept):
            counts[OVERLAPPING] += 1
        else:
            kept.append(span)
    return dict.fromkeys(sorted(kept), False)


def marked_value(cell: Any) -> Any:
    """A cell with tags or with marked spans, as `object_value` reads it.

    Of an object in which spaCy has the spans as ``entities``, these.

    >>> marked_value("{'entities': [(3, 7, 'LOC')]}")
    [[3, 7, 'LOC']]
    """
    value = object_value(cell)
    entities = value.get("entities") if isinstance(value, dict) else None
    return entities if isinstance(entities, list) else value


def are_spans(value: Any) -> bool:
    """Whether a value lists spans of characters."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], list | dict)


def has_spans(table: Table, name: str) -> bool:
    """Whether tags are spans of characters, of which some rows may have none."""
    return any(are_spans(marked_value(row.cells.get(name))) for row in table.rows)


def _spans_of(value: dict[str, Any] | list[Any]) -> list[tuple[int, int, str]]:
    """Spans of characters `[start, end)` with their types.

    >>> _spans_of({"LOC": {"Rome": [[3, 6]]}}), _spans_of([[3, 7, "LOC"]])
    ([(3, 7, 'LOC')], [(3, 7, 'LOC')])
    """
    if isinstance(value, dict):
        # As in CLUENER: by type, then by their text, the first and the last character.
        return [
            (int(start), int(last) + 1, str(kind))
            for kind, found in value.items()
            for places in found.values()
            for start, last in places
        ]
    # As in Doccano and spaCy.
    listed = [_of_object(each) if isinstance(each, dict) else each for each in value]
    return [(int(start), int(end), str(kind)) for start, end, kind in listed]


def _of_object(span: dict[str, Any]) -> tuple[Any, Any, Any]:
    """A span as Prodigy, Doccano (with relations) or Label Studio has it.

    >>> _of_object({"start_offset": 3, "end_offset": 7, "label": "LOC"})
    (3, 7, 'LOC')
    >>> _of_object({"start": 3, "end": 7, "text": "Rome", "labels": ["LOC"]})
    (3, 7, 'LOC')
    """
    start, end = (
        span[f"{name}_offset"] if f"{name}_offset" in span else span[name]
        for name in ("start", "end")
    )
    if "labels" in span:
        (label,) = span["labels"]
        return start, end, label
    return start, end, span["label"]


def tags_of_row(
    row: Row, name: str, words: Sequence[str], text: str, *, has_spans: bool, counts: Counter[str]
) -> tuple[str, ...]:
    """The tags of the words of a row: a list, a text with spaces, or marked spans."""
    value = marked_value(row.cells.get(name))
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list | dict):
        raise AlbertError(f"{row.place} has no tags in {name!r}; correct the row.")
    if isinstance(value, list) and not has_spans:
        return tuple(map(str, value))
    try:
        return tags_of_marked(text, words, _spans_of(value), counts=counts)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise AlbertError(
            f"{row.place}: the words are not those of the text, or the spans are not "
            "of the form [start, end, type] with characters of the text; correct the "
            "row."
        ) from None
