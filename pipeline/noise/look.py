"""A look at a text: what a sample of its documents shows, summed up and told to people.

A document is in the sample if a draw from its number, the first 64 bits of its hash,
says so, and so is a run of words; nothing else matters, so that the look is the same
for any order, worker and runner. What the documents of a chunk gave is a JSON object
(`Looker.result`), and `sum_up` makes of all of them what the manifest keeps.
"""

import bisect
import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pipeline.core.documents import Document, largest_first
from pipeline.core.draws import Keys, draw
from pipeline.core.writing_systems import ends_sentence, script_of
from pipeline.noise.near_copies import are_first, distinct
from schemas.readable import counted, percent

# Text that is looked at, and of a long document.
SAMPLE_BYTES = 8 << 20
MAX_CHARACTERS = 1 << 16
# At least this many documents are looked at, however long they are.
LEAST_DOCUMENTS = 20
# Characters of a text that are shown, and that tell its language.
SHOWN_CHARACTERS, LANGUAGE_CHARACTERS = 100, 400

# Shingles of training text that are remembered, about, and what a word takes.
MAX_SHINGLES, WORD_BYTES = 400_000, 6

_SAMPLED = 101


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
        self._totals, self._longest = Counter(dict.fromkeys(_COUNTED, 0)), 0
        self._sampled: dict[int, dict[str, Any]] = {}
        # The least draws, for texts of few documents.
        self._least: list[int] = []
        # The number of its document and the hash of each, `[2, S]`.
        self._shingles: list[Keys] = []

    def see(self, number: int, document: Document) -> None:
        """Look at the document of a number."""
        characters = sum(map(len, document.paragraphs))
        paragraphs = len(document.paragraphs)
        joined = max(0, document.lines - paragraphs)
        counts = (1, characters, document.lines or paragraphs, joined)
        self._totals.update(dict(zip(_COUNTED, counts, strict=True)))
        self._longest = max(self._longest, characters)
        place = draw(number, _SAMPLED)
        least = sorted({*self._least, place})
        self._least = least[:LEAST_DOCUMENTS]
        is_sampled = place < self._bounds.documents or place in self._least
        if is_sampled and place not in self._sampled:
            self._sampled[place] = look_at(document)
        for other in least[LEAST_DOCUMENTS:]:
            if other >= self._bounds.documents:
                self._sampled.pop(other, None)

    def see_runs(self, number: int, runs: Keys) -> None:
        """Remember some of a document's runs of eight words, by their hashes `[S]`."""
        if self._bounds.shingles < 1 << 64:
            runs = runs[runs < np.uint64(self._bounds.shingles)]
        if len(runs):
            runs = distinct(runs)
            self._shingles.append(np.stack([np.full(len(runs), number, np.uint64), runs]))

    def result(self) -> dict[str, Any]:
        """What was seen, as a JSON object."""
        shingles = np.concatenate([np.zeros((2, 0), np.uint64), *self._shingles], axis=1)
        return {
            **self._totals,
            "longest_document": self._longest,
            "sampled": [[place, seen] for place, seen in self._sampled.items()],
            "shingles": shingles.tobytes().hex(),
        }


def look_at(document: Document) -> dict[str, Any]:
    """What a document of the sample shows; of a long one its beginning is read.

    >>> seen = look_at(Document(("He came.", "See &amp; hear.", "He came.")))
    >>> seen["html"], seen["lines"][line_key("He came.")]
    ('He came. See &amp; hear. He came.', [16, 'He came.'])
    """
    *starts, total = itertools.accumulate(map(len, document.paragraphs), initial=0)
    kept = [
        paragraph[: MAX_CHARACTERS - start]
        for paragraph, start in zip(document.paragraphs, starts, strict=True)
        if start < MAX_CHARACTERS
    ]
    text, characters = "\n".join(kept), min(total, MAX_CHARACTERS)
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
    scripts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        scripts[script_of(character)] += count
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
_HTML = re.compile(f"(?i){_ELEMENT}|{_ATTRIBUTE}")

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
    return _HTML.findall(text)


def _shown(codes: bytes, encoding: str) -> str:
    """The characters of some bytes, as a set of an expression; some stay bytes."""
    decoded = codes.decode(encoding, errors="ignore")
    stayed = "".join(chr(code) for code in codes if code < 0xA0)
    return f"[{re.escape(decoded + stayed)}]"


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


# Lines, and documents by what is wrong with them, that are shown.
SHOWN_LINES, SHOWN_EXAMPLES = 10, 3
# A line is a repeated one if it stands in more than this many documents, and in at
# least three of the sample.
REPEATED, SEEN = 10, 2
# Scripts and languages that have a name in the look.
NAMED = 6
# Documents whose language is looked at.
LANGUAGE_DOCUMENTS = 500
_COUNTED = ("documents", "characters", "lines", "joined")
# Less than this is not worth a line.
LEAST = 0.005
# Near-copies, at least 0.8 alike in runs of five words, are 0.7 alike in runs of eight,
# and in a sample of these sometimes a little less; of how many a document must have.
_ALIKE, _LEAST_RUNS = 0.65, 8
# A longer document is perhaps a file of several.
LONG_DOCUMENT = 1_000_000


def sum_up(
    results: Iterable[dict[str, Any]],
    bounds: Bounds,
    *,
    is_held_out: Callable[[int], bool],
    gone: Container[int] = (),
    most_repeats: int | None = None,
    language_of: Callable[[str], str] | None = None,
) -> dict[str, Any]:
    """The look at all documents, as the manifest keeps it.

    Args:
        gone: Numbers of documents that were left out.
        most_repeats: Documents that a line stands in at most, if others were dropped.
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
    places = sorted(sampled)
    # Where few are below the bound, the next ones are looked at too.
    wanted = max(LEAST_DOCUMENTS, bisect.bisect_left(places, bounds.documents))
    looks = [sampled[place] for place in places[:wanted]]
    rate = max(bounds.documents / 2**64, len(looks) / max(1, totals["documents"]))
    scripts, languages, signs = Counter[str](), Counter[str](), dict[str, Any]()
    for place, seen in enumerate(looks):
        for script, count in seen["scripts"].items():
            scripts[script] += count * seen["weight"]
        is_told = place < LANGUAGE_DOCUMENTS and any(seen["scripts"].values())
        if language_of is not None and is_told:
            language = language_of(seen["excerpt"])
            languages[language] += seen["characters"] * seen["weight"]
    for sign in _SIGNS:
        # The share of the documents that show it, and some of them.
        examples = [seen[sign] for seen in looks if seen[sign]]
        signs[f"{sign}_share"] = round(len(examples) / max(1, len(looks)), 6)
        signs[f"{sign}_examples"] = examples[:SHOWN_EXAMPLES]
    return {
        "documents": totals["documents"],
        "characters": totals["characters"],
        "longest_document": longest,
        "joined_share": round(totals["joined"] / max(1, totals["lines"]), 6),
        "sampled_documents": len(looks),
        "scripts": _shares(scripts),
        "languages": _shares(languages),
        **_repeated_lines(looks, min(1.0, rate), most_repeats=most_repeats),
        **signs,
        **near_copy_share(runs, gone=gone),
        **held_out_shares(runs, is_held_out=is_held_out, gone=gone),
    }


def _shares(counts: Counter[str]) -> dict[str, float]:
    """The shares of the largest, and of what is left.

    >>> _shares(Counter(a=6, b=3, c=1))
    {'a': 0.6, 'b': 0.3, 'c': 0.1}
    """
    total = sum(counts.values())
    ranked = largest_first(counts)
    shares = {name: round(count / total, 6) for name, count in ranked[:NAMED]}
    rest = sum(count for _, count in ranked[NAMED:])
    return shares | ({"other": round(rest / total, 6)} if rest else {})


def _repeated_lines(
    looks: list[dict[str, Any]], rate: float, *, most_repeats: int | None
) -> dict[str, Any]:
    """Lines of more documents than a number, their share, and the most frequent."""
    documents: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for seen in looks:
        documents.update(seen["lines"].keys())
        texts |= {key: shown for key, (_, shown) in seen["lines"].items()}
    more_than = max(REPEATED, round(SEEN / rate))
    repeated = {k for k, n in documents.items() if n > max(SEEN, more_than * rate)}
    if most_repeats is not None and most_repeats <= more_than:
        # A sample can hold several of the few documents that a line stands in.
        repeated = set()
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


def near_copy_share(runs: Keys, *, gone: Container[int]) -> dict[str, float]:
    """The share of the text in documents that nearly equal another one.

    At least `_ALIKE` of the runs of words of both are those of both. Documents with few
    runs in the sample are left out; where few have more, or less than half of all runs
    are theirs, nothing is said.

    Args:
        runs: The number of its document and the hash of each, `[2, S]`.
    """
    documents, number = np.unique(runs[0], return_inverse=True)
    stays = np.array([one not in gone for one in documents.tolist()], np.bool_)
    number, shingles = number[stays[number]], runs[1][stays[number]]
    order = np.lexsort((number, shingles))
    number, shingles = number[order], shingles[order]
    is_new = are_first(shingles)
    once = is_new | are_first(number)
    number, is_new = number[once], is_new[once]
    # The first other document that has a run: mostly the same one for all near-copies.
    place = np.arange(len(number))
    first = number[np.maximum.accumulate(np.where(is_new, place, 0))]
    other = np.where(is_new, np.roll(number, -1), first)
    has_other = ~is_new | ~np.append(is_new[1:], True)
    counts = np.bincount(number, minlength=len(documents))
    pairs, common = np.unique(
        number[has_other] * len(documents) + other[has_other], return_counts=True
    )
    one, two = np.divmod(pairs, len(documents))
    united = counts[one] + counts[two] - common
    alike = np.unique(one[common >= _ALIKE * united])
    is_told = counts >= _LEAST_RUNS
    told = counts[is_told].sum()
    if is_told.sum() < LEAST_DOCUMENTS or 2 * told < counts.sum():
        return {}
    inside = counts[alike[is_told[alike]]].sum() / told
    return {"near_copy_share": round(float(inside), 6)}


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
    documents, number = np.unique(runs[0], return_inverse=True)
    held_out, stays = (
        np.array([*map(each, documents.tolist())], np.bool_)[number]
        for each in (is_held_out, lambda one: one not in gone)
    )
    shingles = runs[1]
    own = distinct(shingles[held_out])
    if not len(own):
        return {}
    before, after = (
        float(np.isin(own, shingles[~held_out & kept]).mean())
        for kept in (np.ones_like(stays), stays)
    )
    return {"held_out_share_before": round(before, 6), "held_out_share": round(after, 6)}


def look_lines(look: Mapping[str, Any], inputs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What a person should know of a text, in at most five lines.

    Args:
        look: See `sum_up`; of an older data set it is empty.
        inputs: The files, each with its "format".

    >>> look = {"documents": 900, "scripts": {"Latin": 0.9, "Greek": 0.1},
    ...     "languages": {}, "repeated_share": 0.12, "repeated_more_than": 10,
    ...     "repeated_lines": [["Accept cookies", 812]], "html_share": 0.02,
    ...     "mojibake_share": 0.0, "list_share": 0.0, "held_out_share": 0.031,
    ...     "held_out_share_before": 0.54, "longest_document": 20_000,
    ...     "joined_share": 0.914}
    >>> for line in look_lines(look, [{"format": "prose"}]):
    ...     print(line[:69])
    text: 91.4% of its lines were joined to paragraphs
    text: letters 90.0% Latin, 10.0% Greek
    text: 12.0% is in lines that occur in more than 10 documents, "Accept
    text: 3.1% of the held-out text is in the training text too (54.0% be
    text: 2.0% of the documents hold HTML, whose tags no flag removes
    """
    if not look:
        return
    has_prose = any(file["format"] == "prose" for file in inputs)
    form, letters = [], []
    if (joined := look.get("joined_share", 0)) >= LEAST:
        form.append(f"{percent(joined)} of its lines were joined to paragraphs")
    if has_prose and look["longest_document"] > LONG_DOCUMENT:
        form.append(
            f"a document has {counted(look['longest_document'], 'character')}: if its "
            "file holds several, put blank lines between paragraphs and <|endoftext|> "
            "between documents, or give JSON lines"
        )
    if scripts := _if_several(look["scripts"]):
        letters.append(f"letters {scripts}")
    if languages := _if_several(look["languages"]):
        letters.append(
            f"languages {languages} (make-data --keep-languages "
            f"{next(iter(look['languages']))} keeps one)"
        )
    found = ("; ".join(form), "; ".join(letters), *_noise(look))
    yield from (f"text: {said}" for said in found if said)


def _if_several(shares: Mapping[str, float]) -> str:
    """The shares of scripts or languages; empty where there is one."""
    found = [f"{percent(s)} {name}" for name, s in shares.items() if s >= LEAST]
    return ", ".join(found) if len(found) > 1 else ""


_SIGNS = {
    "html": "hold HTML, whose tags no flag removes",
    "mojibake": "hold letters of a wrong encoding (make-data --repair-text mends them)",
    "list": "are lists or tables",
}


def _noise(look: Mapping[str, Any]) -> Iterator[str]:
    """What repeats, and signs of noise."""
    share, more_than = look["repeated_share"], look["repeated_more_than"]
    if share >= LEAST:
        text, times = look["repeated_lines"][0]
        yield (
            f"{percent(share)} is in lines that occur in more than {more_than:,} "
            f'documents, "{text}" in about {times:,} (make-data --max-line-repeats '
            f"{more_than} drops them)"
        )
    copies = []
    if look.get("near_copy_share", 0) >= LEAST:
        copies.append(
            f"{percent(look['near_copy_share'])} is in documents that nearly equal "
            "others (make-data --near-duplicates drop keeps one of each)"
        )
    now, before = look.get("held_out_share", 0), look.get("held_out_share_before", 0)
    if max(now, before) >= LEAST:
        went = f" ({percent(before)} before documents with it went)" if before > now else ""
        copies.append(f"{percent(now)} of the held-out text is in the training text too{went}")
    if copies:
        yield "; ".join(copies)
    found = [
        (percent(look[f"{sign}_share"]), words)
        for sign, words in _SIGNS.items()
        if look[f"{sign}_share"] >= LEAST
    ]
    if found:
        (first, words), *others = found
        yield ", ".join([f"{first} of the documents {words}", *map(" ".join, others)])


def look_facts(look: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The shares of a look by what they are called in a card."""
    for name, share in look["scripts"].items():
        yield f"letters: {name}", share
    for name, share in look["languages"].items():
        yield f"language: {name}", share
    more_than = look["repeated_more_than"]
    runs = "held-out runs of 8 words that the training text has too"
    named = {
        "repeated_share": f"text in lines of more than {more_than:,} documents",
        "near_copy_share": "text in documents that nearly equal another",
        "held_out_share_before": f"{runs}, before documents with them went",
        "held_out_share": runs,
        "html_share": "documents with HTML",
        "mojibake_share": "documents with letters of a wrong encoding",
        "list_share": "documents that are lists or tables",
    }
    for name, words in named.items():
        if name in look:
            yield words, look[name]
