"""A look at a text in words: lines for a terminal, and a table for a card."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from schemas.readable import counted, percent

# Less than this is not worth a line.
LEAST = 0.005
# A longer document is perhaps a file of several.
LONG_DOCUMENT = 1_000_000


def look_lines(
    look: Mapping[str, Any], inputs: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """What a person should know of a text, in at most five lines.

    Args:
        look: See `pipeline.noise.look.sum_up`; of an older data set it is empty.
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
    text: 12.0% stands in lines of more than 10 documents, "Accept cookie
    text: 3.1% of what is held out stands in the training text too (54.0%
    text: of the documents 2.0% hold HTML
    """
    if not look:
        return
    has_prose = any(file["format"] == "prose" for file in inputs)
    found = [_form(look, has_prose=has_prose)]
    found += [make(look) for make in (_letters, _repeated, _copies, _signs)]
    yield from (f"text: {said}" for said in found if said)


def _form(look: Mapping[str, Any], *, has_prose: bool) -> str:
    """How lines became paragraphs, and files of prose documents."""
    parts = []
    if (joined := look.get("joined_share", 0)) >= LEAST:
        parts.append(f"{percent(joined)} of its lines were joined to paragraphs")
    if has_prose and look["longest_document"] > LONG_DOCUMENT:
        parts.append(
            f"a document has {counted(look['longest_document'], 'character')}: if its "
            "file holds several, put blank lines between paragraphs and <|endoftext|> "
            "between documents, or give JSON lines"
        )
    return "; ".join(parts)


def _letters(look: Mapping[str, Any]) -> str:
    scripts, languages = look["scripts"], look["languages"]
    parts = []
    if len(_notable(scripts)) > 1:
        parts.append(f"letters {_listed(scripts)}")
    if len(_notable(languages)) > 1:
        parts.append(
            f"languages {_listed(languages)} (make-data --keep-languages "
            f"{next(iter(languages))} keeps one)"
        )
    return "; ".join(parts)


def _notable(shares: Mapping[str, float]) -> dict[str, float]:
    return {name: share for name, share in shares.items() if share >= LEAST}


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{percent(s)} {name}" for name, s in _notable(shares).items())


def _repeated(look: Mapping[str, Any]) -> str:
    share, more_than = look["repeated_share"], look["repeated_more_than"]
    if share < LEAST:
        return ""
    text, times = look["repeated_lines"][0]
    return (
        f"{percent(share)} stands in lines of more than {more_than:,} documents, "
        f'"{text}" in about {times:,} (make-data --max-line-repeats '
        f"{more_than} drops them)"
    )


def _copies(look: Mapping[str, Any]) -> str:
    parts = []
    if look.get("near_copy_share", 0) >= LEAST:
        parts.append(
            f"{percent(look['near_copy_share'])} of the documents nearly equal "
            "others (make-data --near-duplicates drop leaves out all but one)"
        )
    now, before = look.get("held_out_share", 0), look.get("held_out_share_before", 0)
    if max(now, before) >= LEAST:
        went = f" ({percent(before)} before near-copies went)" if before > now else ""
        parts.append(
            f"{percent(now)} of what is held out stands in the training text too{went}"
        )
    return "; ".join(parts)


_SIGNS = {
    "html": "hold HTML",
    "mojibake": "hold letters of a wrong encoding (make-data --repair-text mends them)",
    "list": "are lists or tables",
}


def _signs(look: Mapping[str, Any]) -> str:
    found = [
        f"{percent(look[f'{sign}_share'])} {words}"
        for sign, words in _SIGNS.items()
        if look[f"{sign}_share"] >= LEAST
    ]
    return f"of the documents {', '.join(found)}" if found else ""


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
        "near_copy_share": "documents that nearly equal another",
        "held_out_share_before": f"{runs}, near-copies included",
        "held_out_share": runs,
        "html_share": "documents with HTML",
        "mojibake_share": "documents with letters of a wrong encoding",
        "list_share": "documents that are lists or tables",
    }
    for name, words in named.items():
        if name in look:
            yield words, look[name]
