"""The look at a whole text: its sum for the manifest, and what people read of it."""

import bisect
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from pipeline.core.draws import Keys
from pipeline.noise.look import LEAST_DOCUMENTS, Bounds
from pipeline.noise.near_copies import are_first, distinct
from schemas.readable import counted, percent

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
    return {
        "documents": totals["documents"],
        "characters": totals["characters"],
        "longest_document": longest,
        "joined_share": round(totals["joined"] / max(1, totals["lines"]), 6),
        "sampled_documents": len(looks),
        **_letters(looks, language_of),
        **_repeated_lines(looks, min(1.0, rate), most_repeats=most_repeats),
        **_signs_of_noise(looks),
        **near_copy_share(runs, gone=gone),
        **held_out_shares(runs, is_held_out=is_held_out, gone=gone),
    }


def _letters(
    looks: list[dict[str, Any]], language_of: Callable[[str], str] | None
) -> dict[str, dict[str, float]]:
    """The shares of scripts, and of languages where these can be told."""
    scripts, languages = Counter[str](), Counter[str]()
    for place, seen in enumerate(looks):
        for script, count in seen["scripts"].items():
            scripts[script] += count * seen["weight"]
        is_told = place < LANGUAGE_DOCUMENTS and any(seen["scripts"].values())
        if language_of is not None and is_told:
            language = language_of(seen["excerpt"])
            languages[language] += seen["characters"] * seen["weight"]
    return {"scripts": _shares(scripts), "languages": _shares(languages)}


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


def _signs_of_noise(looks: list[dict[str, Any]]) -> dict[str, Any]:
    """The share of the documents that show each sign, and some of them."""
    found: dict[str, Any] = {}
    for sign in ("html", "mojibake", "list"):
        examples = [seen[sign] for seen in looks if seen[sign]]
        found[f"{sign}_share"] = round(len(examples) / max(1, len(looks)), 6)
        found[f"{sign}_examples"] = examples[:SHOWN_EXAMPLES]
    return found


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
    first = np.maximum.accumulate(np.where(is_new, place, 0))
    second = np.minimum(first + 1, len(number) - 1)
    other = np.where(place == first, number[second], number[first])
    has_other = (place != first) | ((second > first) & ~is_new[second])
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
        went = f" ({percent(before)} before near-copies went)" if before > now else ""
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
        "held_out_share_before": f"{runs}, near-copies included",
        "held_out_share": runs,
        "html_share": "documents with HTML",
        "mojibake_share": "documents with letters of a wrong encoding",
        "list_share": "documents that are lists or tables",
    }
    for name, words in named.items():
        if name in look:
            yield words, look[name]
