"""Paragraphs become sentences; long documents become parts.

Sentences come from `sentencex`, Wikimedia's segmenter. It keeps quoted speech together,
however long, so over-long sentences are split again at the full stops inside them:
otherwise a sequence would have to be cut in the middle of a sentence.

The segmenter's time grows with the square of a paragraph's length where quotation marks
are never closed or marks of any kind crowd together. A paragraph that would take too
long for its length is therefore halved until each part is cheap. Ordinary text stays
whole: novels of a million characters in one paragraph cost half of what is allowed.
"""

import functools
import re
from collections.abc import Iterator

import sentencex

from pipeline.core.documents import Document
from pipeline.core.scripts import CLOSING_MARKS, SURE_ENDS, UNMARKED
from pipeline.reading.languages import rules_of

# Longer sentences are split again; about a hundred words.
LONG_SENTENCE_CHARACTERS = 500

# A longer document is divided, so that a long book need not fit into one shard.
MAX_SENTENCES = 2000

# What one call of the segmenter may get: anything short, and longer paragraphs up to a
# length and an estimated cost for each character.
CHEAP_CHARACTERS = 1000
MAX_SEGMENTED_CHARACTERS = 1 << 20
MAX_COST_PER_CHARACTER = 1000

_CLOSED = f"[{re.escape(CLOSING_MARKS)}]"
# After a mark and a closing quote: white space, or nothing where none is needed. Thai,
# Lao and their neighbours have no mark; what is said ends with a space.
_PHRASED = f"{UNMARKED}\u1000-\u109f\u1780-\u17ff"
_SPACED_END = rf"(?<=[.!?;…])({_CLOSED}?)\s+"
_INNER_END = re.compile(
    rf"{_SPACED_END}|(?<=[{SURE_ENDS}])({_CLOSED}?)\s*(?=.)|(?<=[{_PHRASED}])()\s+"
)
# Most text has no other ends, and is searched for these in half the time.
_INNER_SPACED_END = re.compile(_SPACED_END)
_HAS_OTHER_ENDS = re.compile(f"[{SURE_ENDS}{_PHRASED}]")

# Where a clause of Thai or Lao ends: not before a number or a mark, or "ๆ", which
# repeats a word. Several make a sentence of at least so many characters.
_UNMARKED = re.compile(f"[{UNMARKED}]")
_CLAUSE_END = re.compile(rf"(?<=[{UNMARKED}])\s+(?=[^\W\dๆ])")
_LEAST_OF_CLAUSES = 60

# What the segmenter searches for after each opening quotation mark.
_CLOSING = {
    **{"``": "''", "`": "'", "'": "'", '"': '"', "«": "»", "»": "«", "‹": "›"},
    **{"‘": "’", "‚": "‚", "‛": "‛", "“": "”", "„": "“", "‟": "‟", "《": "》"},
    "「": "」",
}
_OPENING = "".join(dict.fromkeys("".join(_CLOSING)))
_OTHER_MARKS = "’”›》」[](){}<>（）•.!?…։؟۔।॥།။።。！？｡"

# The marks that the segmenter looks at. An apostrophe or backtick may open or close a
# quotation, or stand loose; within a word it counts as no mark. The set comes first in
# the expression, which makes the search for it several times as fast.
_MARK = re.compile(
    rf"[{re.escape(_OPENING + _OTHER_MARKS)}](?:(?<=`)`|(?<=')'"
    r"|(?P<opens>(?<=\B[`'])(?=\w))|(?P<closes>(?<=[^\s'][`'])(?!\w))"
    r"|(?P<loose>(?<=(?<!\w)[`'])|(?<=[`'])(?!\w))|(?<![`']))"
)
# How many comparisons of two marks it costs to search one character.
_SEARCH_COST = 20


def split_sentences(document: Document, *, language: str) -> list[list[str]]:
    """Return the sentences of each paragraph of a document.

    >>> split_sentences(Document(("He came. She left.", "Why?")), language="en")
    [['He came.', 'She left.'], ['Why?']]
    """
    if document.is_segmented:
        return [[sentence] for sentence in document.paragraphs]
    rules = rules_of(language)
    text = "\n".join(document.paragraphs)
    missed = "".join(mark for mark in _missed_ends() if mark in text)
    missed_end = re.compile(f"[{missed}]+{_CLOSED}*(?=.)") if missed else None
    is_unmarked = 2 * len(_UNMARKED.findall(text)) > len(text)
    paragraphs = []
    for paragraph in document.paragraphs:
        sentences: list[str] = []
        for part in cheap_parts(paragraph):
            found = with_whole_numbers(sentencex.segment(rules.segmenter, part))
            if rules.is_mended:
                found = rules.mended(found)
            if missed_end:
                found = missed_end.sub(r"\g<0>\n", "\n".join(found)).split("\n")
            if is_unmarked:
                found = [part for sentence in found for part in of_clauses(sentence)]
            for sentence in found:
                is_long = len(sentence) > LONG_SENTENCE_CHARACTERS
                sentences += split_long(sentence) if is_long else [sentence.strip()]
        paragraphs.append([*filter(None, sentences)])
    return paragraphs


def of_clauses(text: str) -> Iterator[str]:
    """Sentences of a text in which no mark ends one, of several clauses each.

    >>> [len(part) for part in of_clauses("วันนี้อากาศดีมาก " * 10)]
    [67, 67, 34]
    """
    start = 0
    for space in _CLAUSE_END.finditer(text):
        if space.start() - start >= _LEAST_OF_CLAUSES:
            yield text[start : space.start()]
            start = space.end()
    yield text[start:]


def with_whole_numbers(found: list[str]) -> list[str]:
    """Sentences joined where the segmenter takes a decimal point for an end.

    It does in all digits but ASCII's.

    >>> with_whole_numbers(["عدد ۳.", "۱۴ است. ", "در سال ۱۳۹۰. ", "۵ نفر."])
    ['عدد ۳.۱۴ است. ', 'در سال ۱۳۹۰. ', '۵ نفر.']
    """
    sentences = found[:1]
    for sentence in found[1:]:
        before, is_digit = sentences[-1], sentence[:1].isdecimal()
        if is_digit and before[-1] in ".．" and before[-2:-1].isdecimal():
            sentences[-1] += sentence
        else:
            sentences.append(sentence)
    return sentences


@functools.cache
def _missed_ends() -> str:
    """What ends a sentence for Unicode and not for the segmenter."""
    return "".join(mark for mark in SURE_ENDS if len(sentencex.segment("en", f"A{mark} B")) == 1)


def cheap_parts(paragraph: str) -> Iterator[str]:
    """Yield a paragraph whole, or halved until the segmenter is quick with each part.

    >>> list(cheap_parts("He came. She left."))
    ['He came. She left.']
    >>> [len(part) for part in cheap_parts("“" * 2000)]
    [1000, 1000]
    """
    characters = len(paragraph)
    if characters <= CHEAP_CHARACTERS or (
        characters <= MAX_SEGMENTED_CHARACTERS
        and segmentation_cost(paragraph) <= MAX_COST_PER_CHARACTER * characters
    ):
        yield paragraph
        return
    # Where a sentence or a word ends after the middle, or in the middle.
    middle = characters // 2
    end = middle + LONG_SENTENCE_CHARACTERS
    found = _INNER_END.search(paragraph, middle, end)
    cut = found.end() if found else paragraph.find(" ", middle, end) + 1 or middle
    yield from cheap_parts(paragraph[:cut])
    yield from cheap_parts(paragraph[cut:])


def segmentation_cost(paragraph: str) -> int:
    """Estimate what it costs to segment a paragraph: searches, and pairs of marks.

    >>> [segmentation_cost(text) for text in ("No mark", "“Yes”", "““")]
    [0, 84, 64]
    """
    searched = 0
    nearest: dict[str, int] = {}
    marks = list(_MARK.finditer(paragraph))
    for found in reversed(marks):
        mark, position = found[0], found.start()
        if mark in _CLOSING and found.lastgroup not in ("closes", "loose"):
            searched += nearest.get(_CLOSING[mark], len(paragraph)) - position
        if found.lastgroup not in ("opens", "loose"):
            nearest[mark] = position
    return _SEARCH_COST * searched + len(marks) ** 2


def split_long(sentence: str) -> list[str]:
    """Split after every full stop, question or exclamation mark and semicolon.

    >>> split_long('"Come in. Sit down!" he said; so I did.')
    ['"Come in.', 'Sit down!"', 'he said;', 'so I did.']
    """
    if sentence.isascii() or not _HAS_OTHER_ENDS.search(sentence):
        return _INNER_SPACED_END.sub(r"\1\n", sentence.strip()).split("\n")
    return _INNER_END.sub(r"\1\2\3\n", sentence.strip()).split("\n")


def divide(paragraphs: list[list[str]], *, maximum: int = MAX_SENTENCES) -> list[list[str]]:
    """Divide a long document at paragraph ends into parts of about equal size.

    A paragraph is divided only if it has more than `maximum` sentences itself.

    >>> divide([["a", "b"], ["c", "d"], ["e"]], maximum=3)
    [['a', 'b', 'c', 'd'], ['e']]
    >>> divide([["a", "b", "c", "d"]], maximum=3)
    [['a', 'b'], ['c', 'd']]
    """
    total = sum(map(len, paragraphs))
    size = -(-total // max(1, -(-total // maximum)))
    parts: list[list[str]] = [[]]
    for paragraph in paragraphs:
        step = len(paragraph) if len(paragraph) <= maximum else size
        for start in range(0, len(paragraph), max(1, step)):
            if len(parts[-1]) >= size:
                parts.append([])
            parts[-1] += paragraph[start : start + step]
    return [part for part in parts if part]
