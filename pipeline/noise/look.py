"""A look at a text: what is measured on a sample of its documents, and their sum.

A document is in the sample if a draw from its number, the first 64 bits of its hash,
says so, and so is a run of words; nothing else matters, so that the look is the same
for any order, worker and runner. What the documents of a chunk gave is a JSON object
(`Looker.result`), and `sum_up` makes of all of them what the manifest keeps.
"""

import bisect
import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from pipeline.core.documents import Document, ShardDocument, number_of
from pipeline.core.draws import Keys, draw, draws
from pipeline.core.scripts import script_of
from pipeline.near_duplicates.signatures import are_first, distinct, ngrams
from pipeline.noise.signs import html_remnants, is_list, misread
from pipeline.reading.read import hash_document, shard_documents

# Text that is looked at, and of a long document.
SAMPLE_BYTES = 8 << 20
MAX_CHARACTERS = 1 << 16
# At least this many documents are looked at, however long they are.
LEAST_DOCUMENTS = 20
# Lines, and documents by what is wrong with them, that are shown.
SHOWN_LINES, SHOWN_EXAMPLES, SHOWN_CHARACTERS = 10, 3, 100
# A line is a repeated one if it stands in more than this many documents, and in at
# least three of the sample.
REPEATED, SEEN = 10, 2
# Scripts and languages that have a name in the look.
NAMED = 6
# Documents whose language is looked at, and how much of each.
LANGUAGE_DOCUMENTS, LANGUAGE_CHARACTERS = 500, 400

# Held-out text stands in the training text where this many words in a row do.
SHINGLE = 8
# Shingles of training text that are remembered, about, and what a word takes.
MAX_SHINGLES, WORD_BYTES = 400_000, 6

_SAMPLED, _SHINGLES = 101, 102
_COUNTED = ("documents", "characters", "lines", "joined")


class Bounds(NamedTuple):
    """What is looked at of a text of some size.

    Attributes:
        documents: Those whose draw is below it, of 64 bits.
        shingles: Likewise.
    """

    documents: int
    shingles: int

    def has(self, number: int) -> bool:
        """Whether a document is looked at, by its number."""
        return draw(number, _SAMPLED) < self.documents


def bounds_for(text_bytes: int) -> Bounds:
    """The bounds that give a sample of the wanted size.

    >>> bounds_for(1000) == bounds_for(0) == Bounds(1 << 64, 1 << 64)
    True
    """
    text_bytes = max(1, text_bytes)
    documents = min(1.0, SAMPLE_BYTES / text_bytes)
    shingles = min(1.0, MAX_SHINGLES * WORD_BYTES / text_bytes)
    return Bounds(round(documents * 2**64), round(shingles * 2**64))


class Looker:
    """Looks at the documents of a chunk as they pass."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._documents = self._characters = self._longest = 0
        self._lines = self._joined = 0
        self._sampled: dict[int, dict[str, Any]] = {}
        # The least draws above the bound, for texts of few documents.
        self._least: list[int] = []
        # The number of its document and the hash of each, `[2, S]`.
        self._shingles: list[Keys] = []

    def watch(self, texts: Iterable[tuple[Document, str]]) -> Iterator[ShardDocument]:
        """Look at documents, each with its language, and divide them."""
        for document, language in texts:
            document_id = hash_document(document)
            self.see(number_of(document_id), document)
            yield from shard_documents(
                document, language=language, document_id=document_id
            )

    def see(self, number: int, document: Document) -> None:
        """Look at a document.

        Args:
            number: The first 64 bits of its hash.
        """
        characters = sum(map(len, document.paragraphs))
        self._documents += 1
        self._characters += characters
        self._longest = max(self._longest, characters)
        self._lines += document.lines or len(document.paragraphs)
        self._joined += max(0, document.lines - len(document.paragraphs))
        place = draw(number, _SAMPLED)
        if place >= self._bounds.documents:
            is_enough = len(self._sampled) - len(self._least) >= LEAST_DOCUMENTS
            is_above = self._least[LEAST_DOCUMENTS - 1 :] and place >= self._least[-1]
            if is_enough or is_above:
                return
            if place not in self._least:
                bisect.insort(self._least, place)
            for gone in self._least[LEAST_DOCUMENTS:]:
                self._sampled.pop(gone, None)
            del self._least[LEAST_DOCUMENTS:]
        if place not in self._sampled:
            self._sampled[place] = look_at(document)

    def see_words(self, number: int, words: Keys) -> None:
        """Remember some of a document's runs of words.

        Args:
            words: Their hashes, `[W]`.
        """
        if len(words) >= SHINGLE:
            shingles = draws(ngrams(words, SHINGLE), _SHINGLES)
            if self._bounds.shingles < 1 << 64:
                shingles = shingles[shingles < np.uint64(self._bounds.shingles)]
            shingles = distinct(shingles)
            numbers = np.full(len(shingles), number, np.uint64)
            self._shingles.append(np.stack([numbers, shingles]))

    def result(self) -> dict[str, Any]:
        """What was seen, as a JSON object."""
        shingles = np.concatenate(
            [np.zeros((2, 0), np.uint64), *self._shingles], axis=1
        )
        return {
            "documents": self._documents,
            "characters": self._characters,
            "longest_document": self._longest,
            "lines": self._lines,
            "joined": self._joined,
            "sampled": [[place, seen] for place, seen in self._sampled.items()],
            "shingles": shingles.tobytes().hex(),
        }


def look_at(document: Document) -> dict[str, Any]:
    """What a document of the sample shows; of a long one its beginning is read.

    >>> seen = look_at(Document(("He came.", "See &amp; hear.", "He came.")))
    >>> seen["html"], seen["lines"][line_key("He came.")]
    ('He came. See &amp; hear. He came.', [16, 'He came.'])
    """
    kept, left = [], MAX_CHARACTERS
    for paragraph in document.paragraphs:
        if left <= 0:
            break
        kept.append(paragraph[:left])
        left -= len(paragraph)
    text = "\n".join(kept)
    characters = sum(map(len, kept))
    total = sum(map(len, document.paragraphs))
    lines: dict[str, list[Any]] = {}
    for line in kept:
        lines.setdefault(line_key(line), [0, _shortened(line)])[0] += len(line)
    html, mistaken = html_remnants(text), misread(text)
    middle = max(0, (len(text) - LANGUAGE_CHARACTERS) // 2)
    return {
        "characters": characters,
        "weight": total / characters if characters else 0.0,
        "scripts": dict(_letters_by_script(text)),
        "lines": lines,
        "html": _around(text, html[0]) if html else "",
        "mojibake": _around(text, mistaken[0]) if mistaken else "",
        "list": _shortened(" / ".join(kept)) if is_list(document.paragraphs) else "",
        "excerpt": _shortened(text[middle:], LANGUAGE_CHARACTERS),
    }


def _letters_by_script(text: str) -> Counter[str]:
    """How many letters of a text are of each script.

    >>> _letters_by_script("Der Жук")
    Counter({'Latin': 3, 'Cyrillic': 3})
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    counts = np.bincount(codes)
    scripts: Counter[str] = Counter()
    for code in np.flatnonzero(counts).tolist():
        scripts[script_of(chr(code))] += int(counts[code])
    del scripts[""]
    return scripts


def line_key(line: str) -> str:
    """What stands for a line where lines are counted."""
    data = line.encode("utf-8", errors="replace")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def _around(text: str, part: str) -> str:
    place = max(0, text.index(part) - SHOWN_CHARACTERS // 3)
    return _shortened(text[place:])


def _shortened(text: str, characters: int = SHOWN_CHARACTERS) -> str:
    shown = " ".join(text[:characters].split())
    # A record may have half of a character of two halves.
    return shown.encode("utf-8", errors="replace").decode()


def sum_up(
    results: Iterable[dict[str, Any]],
    bounds: Bounds,
    *,
    is_held_out: Callable[[int], bool],
    gone: Container[int] = (),
    language_of: Callable[[str], str] | None = None,
) -> dict[str, Any]:
    """The look at all documents, as the manifest keeps it.

    Args:
        results: Of all chunks, in any order.
        is_held_out: Of the number of a document.
        gone: Numbers of documents that were left out.
        language_of: Names the language of an excerpt.
    """
    totals, longest = Counter[str](), 0
    sampled: dict[int, dict[str, Any]] = {}
    shingles = [np.zeros((2, 0), np.uint64)]
    for one in results:
        totals.update({name: one[name] for name in _COUNTED})
        longest = max(longest, one["longest_document"])
        sampled |= dict(one["sampled"])
        data = bytes.fromhex(one["shingles"])
        shingles.append(np.frombuffer(data, np.uint64).reshape(2, -1))
    runs = np.concatenate(shingles, axis=1)
    looks = _of_sample(sampled, bounds)
    rate = max(bounds.documents / 2**64, len(looks) / max(1, totals["documents"]))
    return {
        "documents": totals["documents"],
        "characters": totals["characters"],
        "longest_document": longest,
        "joined_share": round(totals["joined"] / max(1, totals["lines"]), 6),
        "sampled_documents": len(looks),
        "scripts": _scripts(looks),
        "languages": _languages(looks, language_of),
        **_repeated(looks, min(1.0, rate)),
        **_signs(looks),
        **held_out_shares(runs, is_held_out=is_held_out, gone=gone),
    }


def _of_sample(
    sampled: dict[int, dict[str, Any]], bounds: Bounds
) -> list[dict[str, Any]]:
    """What the documents below the bound show; if they are few, the next ones too."""
    places = sorted(sampled)
    wanted = max(LEAST_DOCUMENTS, bisect.bisect_left(places, bounds.documents))
    return [sampled[place] for place in places[:wanted]]


def _scripts(looks: list[dict[str, Any]]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for seen in looks:
        for script, count in seen["scripts"].items():
            counts[script] += count * seen["weight"]
    return _shares(counts)


def _languages(
    looks: list[dict[str, Any]], language_of: Callable[[str], str] | None
) -> dict[str, float]:
    if language_of is None:
        return {}
    counts: Counter[str] = Counter()
    for seen in looks[:LANGUAGE_DOCUMENTS]:
        if any(seen["scripts"].values()):
            language = language_of(seen["excerpt"])
            counts[language] += seen["characters"] * seen["weight"]
    return _shares(counts)


def _shares(counts: Counter[str]) -> dict[str, float]:
    """The shares of the largest, and of what is left.

    >>> _shares(Counter(a=6, b=3, c=1))
    {'a': 0.6, 'b': 0.3, 'c': 0.1}
    """
    total = sum(counts.values())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shares = {name: round(count / total, 6) for name, count in ranked[:NAMED]}
    rest = sum(count for _, count in ranked[NAMED:])
    return shares | ({"other": round(rest / total, 6)} if rest else {})


def _repeated(looks: list[dict[str, Any]], rate: float) -> dict[str, Any]:
    """Lines of more documents than a number, their share, and the most frequent."""
    documents: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for seen in looks:
        documents.update(seen["lines"].keys())
        texts |= {key: shown for key, (_, shown) in seen["lines"].items()}
    more_than = max(REPEATED, round(SEEN / rate))
    repeated = {k for k, n in documents.items() if n > max(SEEN, more_than * rate)}
    total = sum(seen["characters"] * seen["weight"] for seen in looks)
    inside = sum(
        seen["weight"] * characters
        for seen in looks
        for key, (characters, _) in seen["lines"].items()
        if key in repeated
    )
    ranked = sorted(repeated, key=lambda key: (-documents[key], texts[key], key))
    return {
        "repeated_more_than": more_than,
        "repeated_share": round(inside / total, 6) if total else 0.0,
        "repeated_lines": [
            [texts[key], round(documents[key] / rate)] for key in ranked[:SHOWN_LINES]
        ],
    }


def _signs(looks: list[dict[str, Any]]) -> dict[str, Any]:
    """The share of the documents that show each sign, and some of them."""
    found: dict[str, Any] = {}
    for sign in ("html", "mojibake", "list"):
        examples = [seen[sign] for seen in looks if seen[sign]]
        found[f"{sign}_share"] = round(len(examples) / max(1, len(looks)), 6)
        found[f"{sign}_examples"] = examples[:SHOWN_EXAMPLES]
    return found


def held_out_shares(
    runs: Keys, *, is_held_out: Callable[[int], bool], gone: Container[int]
) -> dict[str, float]:
    """The share of the held-out runs of words that training text has too.

    Before documents were left out and after; of documents that hold none out, nothing.

    Args:
        runs: The number of its document and the hash of each, `[2, S]`.

    >>> runs = np.uint64([[1, 1, 2, 2, 3], [5, 6, 5, 7, 6]])
    >>> held_out_shares(runs, is_held_out=lambda n: n == 1, gone={3})
    {'held_out_share_before': 1.0, 'held_out_share': 0.5}
    """
    numbers, shingles = runs
    starts = np.flatnonzero(are_first(numbers))
    lengths = np.diff(starts, append=len(numbers))
    documents = numbers[starts].tolist()
    held_out, stays = (
        np.repeat(np.array(list(map(each, documents)), np.bool_), lengths)
        for each in (is_held_out, lambda number: number not in gone)
    )
    own = distinct(shingles[held_out])
    if not len(own):
        return {}
    before, after = (
        _share_of(own, shingles[~held_out & kept])
        for kept in (np.ones_like(stays), stays)
    )
    return {
        "held_out_share_before": round(before, 6),
        "held_out_share": round(after, 6),
    }


def _share_of(own: Keys, others: Keys) -> float:
    """The share of some ascending values that others have too."""
    is_met = np.zeros(len(own), np.bool_)
    places = np.minimum(np.searchsorted(own, others), len(own) - 1)
    is_met[places[own[places] == others]] = True
    return float(is_met.mean())
