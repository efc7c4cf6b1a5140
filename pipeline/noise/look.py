"""A look at a text: what a sample of its documents shows, signs of noise among it.

A document is in the sample if a draw from its number, the first 64 bits of its hash,
says so, and so is a run of words; nothing else matters, so that the look is the same
for any order, worker and runner. What the documents of a chunk gave is a JSON object
(`Looker.result`), and `describe.sum_up` makes of all of them what the manifest keeps.
"""

import bisect
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.core.documents import Document, ShardDocument, number_of
from pipeline.core.draws import Keys, draw, draws
from pipeline.core.scripts import ends_sentence, script_of
from pipeline.noise.near_copies import distinct, ngrams
from pipeline.reading.read import hash_document, shard_documents

# Text that is looked at, and of a long document.
SAMPLE_BYTES = 8 << 20
MAX_CHARACTERS = 1 << 16
# At least this many documents are looked at, however long they are.
LEAST_DOCUMENTS = 20
# Characters of a text that are shown, and that tell its language.
SHOWN_CHARACTERS, LANGUAGE_CHARACTERS = 100, 400

# Held-out text stands in the training text where this many words in a row do.
SHINGLE = 8
# Shingles of training text that are remembered, about, and what a word takes.
MAX_SHINGLES, WORD_BYTES = 400_000, 6

_SAMPLED, _SHINGLES = 101, 102


class Bounds(NamedTuple):
    """Below which draws, of 64 bits, documents and runs of words are looked at."""

    documents: int
    shingles: int


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
            yield from shard_documents(document, language=language, document_id=document_id)

    def see(self, number: int, document: Document) -> None:
        """Look at the document of a number."""
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
        """Remember some runs of a document's words, by their hashes `[W]`."""
        if len(words) >= SHINGLE:
            shingles = draws(ngrams(words, SHINGLE), _SHINGLES)
            if self._bounds.shingles < 1 << 64:
                shingles = shingles[shingles < np.uint64(self._bounds.shingles)]
            shingles = distinct(shingles)
            numbers = np.full(len(shingles), number, np.uint64)
            self._shingles.append(np.stack([numbers, shingles]))

    def result(self) -> dict[str, Any]:
        """What was seen, as a JSON object."""
        shingles = np.concatenate([np.zeros((2, 0), np.uint64), *self._shingles], axis=1)
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


_TAGS = (
    "a abbr article aside b blockquote body br button center code dd div dl dt em "
    "figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe "
    "img input label li link main meta nav noscript ol option p pre s script section "
    "select small span strike strong style sub sup svg table tbody td textarea tfoot "
    "th thead title tr tt u ul video"
)
# Expressions that begin with the character itself are the quick ones.
_ELEMENT = (
    rf"<(?:/?(?:{'|'.join(_TAGS.split())})(?:\s+[a-z-]+(?:\s*=[^<>]{{0,500}})?)?\s*/?>|"
    r"!--|!doctype\b)|&(?:[a-z]{2,8}|#\d{2,6}|#x[0-9a-f]{2,5});"
)
_ATTRIBUTE = r"\b(?:class|href|src|style)=(?:\"[^\"<>]{0,300}\"|&quot;)"
_HTML = re.compile(_ELEMENT, re.IGNORECASE)
_HTML_OR_ATTRIBUTE = re.compile(f"{_ELEMENT}|{_ATTRIBUTE}", re.IGNORECASE)

# Bytes that begin a character of UTF-8 of two or three, and those that follow.
_TWO, _THREE = bytes(range(0xC2, 0xE0)), bytes(range(0xE0, 0xF0))
_LATER = bytes(range(0x80, 0xC0))
# Encodings of one byte, and how many characters of UTF-8 must stand in a row, if they
# begin with one of two bytes: in Cyrillic its letters may be there by chance ("Ці").
_ENCODINGS = {"cp1252": 1, "cp1251": 2}
# What a text decoded with the wrong encoding was: letters of Europe, and punctuation.
_EUROPEAN = re.compile(
    "(?:[\u00a0-\u017f\u2010-\u2044\u20ac]|[\u0386-\u03ce\u2010-\u2044]+|"
    "[\u0401-\u045f\u0490\u0491\u2010-\u2044]+)+"
)

# A list or a table has at least this many lines, and this share of them are shorter
# and end as no sentence does.
_LIST_LINES, _LIST_SHARE, _LIST_CHARACTERS = 5, 2 / 3, 80
# In these no mark ends a sentence.
_UNMARKED = {"Thai", "Lao", "Khmer", "Myanmar", "Tibetan"}


def html_remnants(text: str) -> list[str]:
    """The tags, entities and attributes of HTML in a text.

    >>> html_remnants('Read <a href="/x">more</a>&nbsp;here')
    ['<a href="/x">', '</a>', '&nbsp;']
    >>> html_remnants("if a < b and c > d, I <3 R&D; see <Anna>")
    []
    """
    if "<" not in text and "&" not in text and "=" not in text:
        return []
    may_have_attribute = '="' in text or "=&" in text
    return (_HTML_OR_ATTRIBUTE if may_have_attribute else _HTML).findall(text)


def _shown(codes: bytes, encoding: str) -> str:
    """The characters of some bytes, as a set of an expression; some stay bytes."""
    decoded = (bytes([code]).decode(encoding, errors="ignore") for code in codes)
    stayed = "".join(chr(code) for code in codes if code < 0xA0)
    return f"[{re.escape(''.join(decoded) + stayed)}]"


def _expression(encoding: str, least: int) -> re.Pattern[str]:
    """Where bytes of UTF-8 may have been read; it begins with a set, for speed."""
    two, three = _shown(_TWO, encoding), _shown(_THREE, encoding)
    first, later = _shown(_TWO + _THREE, encoding), _shown(_LATER, encoding)
    units = f"(?:{two}{later}|{three}{later}{later})"
    of_two = f"(?<={two}{later}){units}{{{least - 1},}}"
    return re.compile(f"{first}{later}(?:{of_two}|{later}{units}*)")


_MISREAD = {name: _expression(name, least) for name, least in _ENCODINGS.items()}


def misread(text: str) -> list[str]:
    """The parts of a text that are UTF-8 read with an encoding of one byte.

    Each would be valid UTF-8 and letters of one script if it were encoded again.

    >>> misread("The cafÃ© wasnâ€™t open"), misread("РџСЂРёРІРµС‚, РјРёСЂ")
    (['Ã©', 'â€™'], ['РџСЂРёРІРµС‚', 'РјРёСЂ'])
    >>> misread("Café «É», Ці Її речі, NÃO, ÀÉ")
    []
    """
    if text.isascii():
        return []
    return [
        found[0]
        for encoding, expression in _MISREAD.items()
        for found in expression.finditer(text)
        if _was_utf8(found[0], encoding)
    ]


def _was_utf8(part: str, encoding: str) -> bool:
    """Whether characters are bytes of UTF-8, as an encoding of one byte shows them."""
    codes = (bytes([ord(c)]) if "\x80" <= c <= "\x9f" else c.encode(encoding) for c in part)
    try:
        decoded = b"".join(codes).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return _EUROPEAN.fullmatch(decoded) is not None


def is_list(paragraphs: Sequence[str]) -> bool:
    """Whether a document is a list or a table: most of its lines are no sentences.

    >>> is_list(["Name Size Price", "Bolt 3 mm 0.10", "Nut 4 mm 0.20", "Rod", "Pin"])
    True
    >>> is_list(["He came late.", "Why?", "No one knew.", "It rained.", "They left."])
    False
    """
    if len(paragraphs) < _LIST_LINES:
        return False
    short = sum(len(line) < _LIST_CHARACTERS and not ends_sentence(line) for line in paragraphs)
    letter = next((c for line in paragraphs for c in line if c.isalpha()), "")
    is_short = short >= _LIST_SHARE * len(paragraphs)
    return is_short and script_of(letter) not in _UNMARKED
