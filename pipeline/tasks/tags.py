"""The tags of words in one scheme, from any that files have, and from marked spans."""

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pipeline.core.writing_systems import is_unspaced
from pipeline.tasks.columns import parsed
from pipeline.tasks.named_tasks import wanted
from pipeline.tasks.published import nearest
from pipeline.tasks.table_files import Row
from schemas.errors import AlbertError
from schemas.task import (
    Answer,
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

# What is counted of spans that are not tagged as they stand.
OUTSIDE = "span outside its text, or that ends before it begins, left out"
OVERLAPPING = "span inside or across a longer one, left out"
NO_WORD = "span that has no word of its own, left out"
MOVED = "span whose text is not at its start, taken from the nearest place"
PARTIAL = "span that begins or ends inside a word, taken with the whole word"
NO_SPANS = "row without a value for its spans, read as one without entities"

# More spans than this that do not fit their texts are no slips.
_MAX_MISFITS = 0.1

# Of fewer spans nothing is told by their lengths.
_MANY_SPANS = 20

# Brackets around an entity, as CoNLL-2005 and 2012 have them: (PER*, *, *), (PER).
_BRACKETED = re.compile(r"(?:\(([^()*\s]+))?\*?(\)?)")

# A tag among others, as in CoNLL-U's last column, and one of an entity in small letters.
_KEYED = re.compile(r"(?<![^|])([^|=]+)=([^|]*)")
_SMALL = re.compile(r"o|[bieslumw][-_].+")

# What some files have in the place of O.
_OUTSIDE = {"_", "-", "0"}

# A letter of a script in which other words are written onto a name: Hebrew, Arabic, Korean.
_WITH_PARTICLES = re.compile("[\u0590-\u06ff가-힣]")


def entity_forms(tags: Collection[str]) -> dict[str, str] | None:
    """Tags of entities by what each is in its file; None if they are no entities.

    They may stand behind a key, as in CoNLL-U, or be written in small letters, or have
    another sign in the place of O.

    >>> entity_forms({"O", "B-PER"}), entity_forms({"NOUN"})
    ({'O': 'O', 'B-PER': 'B-PER'}, None)
    >>> sorted(entity_forms({"name=O", "SpaceAfter=No|name=B-PER"}).values())
    ['B-PER', 'O']
    >>> sorted(entity_forms({"b-per", "O"}).values())
    ['B-per', 'O']
    >>> sorted(entity_forms({"B-PER", "_"}).values())
    ['B-PER', 'O']
    """
    different = sorted(set(tags), reverse=True)
    meant = ["O" if tag in _OUTSIDE else tag for tag in different]
    meant = [t[0].upper() + t[1:] if _SMALL.fullmatch(t) else t for t in meant]
    keyed = [dict(_KEYED.findall(tag)) for tag in different]
    keys = sorted(set(keyed[0]).intersection(*keyed)) if keyed else []
    for forms in (different, meant, *([own[key] for own in keyed] for key in keys)):
        if are_entities(set(forms)):
            return dict(zip(different, forms, strict=True))
    return None


def in_one_scheme(
    examples: Sequence[TaskExample], labels: Collection[str], *, counts: Counter[str]
) -> tuple[list[TaskExample], list[str]]:
    """The examples of a file with tags in IOB2, whatever their convention, and remarks.

    White space around a tag is no part of it.

    Args:
        labels: Of the task, if they are known; tags have their scheme.
    """
    for example in examples:
        if example.tags is not None and len(example.tags) != len(example.words):
            raise AlbertError(
                f"{example.place}: the number of tags ({len(example.tags)}) is not "
                f"that of the words ({len(example.words)}); correct it."
            )
    tags = _without_brackets([[*map(str.strip, each.tags or ())] for each in examples])
    remarks = []
    different = set(itertools.chain.from_iterable(tags))
    if (forms := entity_forms(different)) is not None:
        if changed := sorted(f"{tag} as {form}" for tag, form in forms.items() if tag != form):
            remarks.append(f"tags are read as those of entities: {max(changed, key=len)}")
        prefixed = with_prefixes(forms.values())
        tags = [[prefixed[forms[tag]] for tag in each] for each in tags]
        if convention_of(tags) != "IOB1" and (n := sum(map(without_beginning, tags))):
            counts[NO_BEGINNING] += n
        tags = [iob2(each) for each in tags]
    if labels and are_entities(labels) and not are_iob2(labels):
        tags = [scheme_tags(each, labels) for each in tags]
    return [
        dataclasses.replace(example, tags=example.tags and tuple(own))
        for example, own in zip(examples, tags, strict=True)
    ], remarks


def _without_brackets(tags: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Tags of entities in brackets as IOB2; others as they are."""
    found = {tag: _BRACKETED.fullmatch(tag) for each in tags for tag in each}
    has_brackets = any(tag.startswith("(") and len(tag) > 1 for tag in found)
    if not has_brackets or not all(found.values()):
        return tags
    result: list[list[str]] = []
    for each in tags:
        own, inside = list[str](), None
        for mark in map(found.get, each):
            kind, end = mark.groups() if mark else (None, "")
            inside = kind or inside
            own.append(f"{'B' if kind else 'I'}-{inside}" if inside else "O")
            inside = None if end else inside
        result.append(own)
    return result


class LabelledSpan(NamedTuple):
    """Characters `[start, end)` of a text that are an entity; `text` if a file says it."""

    start: int
    end: int
    type: str
    text: str = ""


def tags_of_spans(
    text: str, words: Sequence[str], spans: Iterable[LabelledSpan], *, counts: Counter[str]
) -> tuple[str, ...]:
    """The tags of words, from spans that fit their text.

    A word that is in a span in part belongs to it, and to the first of several; of spans
    that overlap the longer one stays.

    >>> spans = [LabelledSpan(3, 11, "LOC")]
    >>> tags_of_spans("in New York.", ["in", "New", "York."], spans, counts=Counter())
    ('O', 'B-LOC', 'I-LOC')
    """
    apart: list[LabelledSpan] = []
    for span in sorted(set(spans), key=lambda s: (s.start - s.end, s)):
        if any(span.start < other.end and other.start < span.end for other in apart):
            counts[OVERLAPPING] += 1
        else:
            apart.append(span)
    place = 0
    of_words: list[LabelledSpan | None] = [None]
    for word in words:
        start = text.index(word, place)
        place = start + len(word)
        of_words.append(min((s for s in apart if s.start < place and s.end > start), default=None))
    if lost := len({*apart} - {*of_words}):
        counts[NO_WORD] += lost
    return tuple(
        f"{'I' if span is before else 'B'}-{span.type}" if span else "O"
        for before, span in itertools.pairwise(of_words)
    )


def marked_value(cell: Any) -> Any:
    """A cell with tags or with marked spans; of spaCy's object its ``entities``.

    >>> marked_value("{'entities': [(3, 7, 'LOC')]}")
    [[3, 7, 'LOC']]
    """
    value = parsed(cell)
    entities = value.get("entities") if isinstance(value, dict) else None
    return entities if isinstance(entities, list) else value


def are_spans(value: Any) -> bool:
    """Whether a value has spans of characters: a list of them, or CLUENER's object."""
    is_list = isinstance(value, list) and bool(value) and isinstance(value[0], list | dict)
    return is_list or isinstance(value, dict)


def spans_of(value: dict[str, Any] | list[Any]) -> Iterator[LabelledSpan]:
    """Spans as a file has them.

    >>> [*spans_of({"LOC": {"Rome": [[3, 6]]}}), *spans_of([[3, 7, "LOC"]])] == [
    ...     LabelledSpan(3, 7, "LOC", "Rome"), LabelledSpan(3, 7, "LOC")
    ... ]
    True
    >>> [*spans_of([{"start_offset": 3, "end_offset": 7, "labels": ["LOC"]}])]
    [LabelledSpan(start=3, end=7, type='LOC', text='')]
    """
    if isinstance(value, dict):
        # As in CLUENER: by type, then by their text, the first and the last character.
        for kind, found in value.items():
            for text, places in found.items():
                for start, last in places:
                    yield LabelledSpan(int(start), int(last) + 1, kind, text)
        return
    for each in value:
        if not isinstance(each, dict):
            # As in Doccano and spaCy.
            start, end, kind = each
            yield LabelledSpan(int(start), int(end), str(kind))
            continue
        # As in Prodigy, Doccano with relations, and Label Studio.
        start, end = (
            each[f"{name}_offset"] if f"{name}_offset" in each else each[name]
            for name in ("start", "end")
        )
        (label,) = each["labels"] if "labels" in each else [each["label"]]
        text = each.get("text")
        yield LabelledSpan(int(start), int(end), str(label), text if isinstance(text, str) else "")


class SpanReader:
    """What makes tags of the spans of a file, and refuses them if they do not fit its texts."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._total = 0
        self._misfits: list[str] = []
        # Spans that end a letter before their word, and of one character without spaces.
        self._cut: list[str] = []
        self._single: list[str] = []
        self._may_be_cut = True
        self._may_count_words = True

    def tags(self, row: Row, name: str, words: Sequence[str], text: str) -> tuple[str, ...]:
        """The tags of the words of a row."""
        value = marked_value(row.cells.get(name))
        if value in (None, ""):
            self._counts[NO_SPANS] += 1
        try:
            spans = [*spans_of(value or [])]
            fitting = [fit for span in spans if (fit := self._fitting(span, text, row.place))]
            self._may_count_words &= all(span.end <= len(words) for span in spans)
            return tags_of_spans(text, words, fitting, counts=self._counts)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            raise AlbertError(
                f"{row.place}: the words are not those of the text, or the spans {value!r:.60} "
                "are not of the form [start, end, type] with characters of the text and one "
                f"type{wanted('tag')}"
            ) from None

    def _fitting(self, span: LabelledSpan, text: str, place: str) -> LabelledSpan | None:
        """The span where its text stands, or as it is; None if it has no place."""
        self._total += 1
        start, end = span.start, span.end
        if not span.text and end - start < 2 and any(map(is_unspaced, text[start : end + 1])):
            self._single.append(place)
        self._may_be_cut &= end < len(text)
        if span.text and text[max(start, 0) : end] != span.text:
            if text[max(start, 0) : end + 1] == span.text:
                self._cut.append(place)
            start = nearest(text, Answer(span.text, start))
            self._counts[MOVED if start >= 0 else OUTSIDE] += 1
            self._misfits.append(place)
            return span._replace(start=start, end=start + len(span.text)) if start >= 0 else None
        if not 0 <= start < min(end, len(text)):
            self._counts[OUTSIDE] += 1
            self._misfits.append(place)
            return None
        begins, ends = _is_inside(text, start), _is_inside(text, end)
        if not span.text and (begins or ends):
            self._counts[PARTIAL] += 1
            # A rest may be the ending of a name, as of a genitive, but of most names it is a
            # letter that was not counted.
            if begins:
                self._misfits.append(place)
            elif not _is_inside(text, end + 1):
                self._cut.append(place)
        return span

    def check(self) -> None:
        """Refuse spans of which more than a tenth do not fit their texts."""
        # Of many names few have one character, and some end a text.
        is_many = self._may_be_cut and self._total >= _MANY_SPANS
        for places, most in ((self._cut, 1 / 2), (self._single, 1 / 3 if is_many else 1)):
            if len(places) > most * self._total:
                otherwise = "; if these are right, give each span its text"
                raise AlbertError(
                    f"{places[0]}: the span ends before its last character, as {len(places):,} of "
                    f"{self._total:,} in the file; an end is the place after the last character"
                    f"{otherwise if places is self._single else ''}{wanted('tag')}"
                )
        if len(self._misfits) <= _MAX_MISFITS * self._total:
            return
        units = "words" if self._may_count_words else "bytes, UTF-16 or another text"
        raise AlbertError(
            f"{self._misfits[0]}: the span has not its text where it stands, is empty, or begins "
            f"or ends inside a word, as {len(self._misfits):,} of {self._total:,} in the file; "
            f"they seem to count {units}, and have to count characters{wanted('tag')}"
        )


def _is_inside(text: str, place: int) -> bool:
    """Whether a place is inside a word of a script with spaces.

    >>> _is_inside("in Rome", 4), _is_inside("in Rome", 3), _is_inside("在台湾", 2)
    (True, False, False)
    """
    around = text[place - 1 : place + 1] if place else ""
    is_spaced = not any(is_unspaced(each) or _WITH_PARTICLES.match(each) for each in around)
    return len(around) == 2 and around.isalnum() and is_spaced


def tags_of_row(row: Row, name: str) -> tuple[str, ...]:
    """The tags of a row: a list, or a text with spaces between them."""
    value = parsed(row.cells.get(name))
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list):
        raise AlbertError(f"{row.place} has no tags in {name!r}; correct the row{wanted('tag')}")
    return tuple(map(str, value))
