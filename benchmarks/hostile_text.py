"""Look for text whose time grows faster than its length: tokens repeated in many ways.

    python -m benchmarks.hostile_text                all functions, in about 4 minutes
    python -m benchmarks.hostile_text sentences-en   one of them

Tried are runs of one token and of two in turns, and for wikitext also runs of three one
after the other, as brackets nest. The slowest of them are tried again at sixteen times
the length. Printed are the slowest of these: seconds of processor time for each million
characters at both lengths, which are about equal where the time is linear in the text.
Of sentences they grow with the logarithm, as costly paragraphs are halved again and
again, up to 10 at a million characters; no paragraph is longer.
"""

import itertools
import sys
import time
from collections.abc import Callable
from functools import partial

from benchmarks.timing import seconds
from pipeline.core.documents import Document
from pipeline.reading import plain_text
from pipeline.reading.books import book_document
from pipeline.reading.sentences import split_sentences
from pipeline.wikipedia.wikitext import strip_wikitext

# Characters of the first trial, how many times longer the second is, and how many get
# one.
CHARACTERS = 4_000
FACTOR = 16
RETRIED = 40
SHOWN = 3

QUOTES = (
    *(
        "“",
        "”",
        "‘",
        "’",
        "«",
        "»",
        "„",
        "‹",
        "›",
        "《",
        "「",
        "」",
        "'",
        '"',
        "`",
        "``",
    ),
    *("''", "' ", " '", "'a"),
)
PROSE = (
    *(". ", ".", "! ", "? ", "...", "。", "।", ", ", "(", ")", "[", "]", "1. ", "1) "),
    *("a) ", "• ", "Dr. ", "A. ", "a", "A ", "写", "a@b.co ", "\n", " ", "\u0301", "-"),
)
MARKUP = (
    *("{{", "}}", "{{{", "{{a|", "{|", "\n{|", "|}", "\n|}", "|", "[[", "]]", "[[a|"),
    *("[http://a ", "<ref>", "</ref>", "<ref name=a/>", "<!--", "-->", "<nowiki>"),
    *("<table>", "</table>", "<br", "<", ">", "''", "'''", "a'''a", "\n==", "== ", "="),
    *("\n*", "\n", "\n\n", "&amp;", "&#", "__", "__A", "-{", "}-", "(", ")", "( ", ","),
    *("({{a}},", "a", " ", "写", "\u0301", "\u0323\u0301", "：", "_"),
)
GUTENBERG = (
    *("*** START OF THE PROJECT GUTENBERG EBOOK ", "***", "*END*THE SMALL PRINT! "),
    *("END OF PROJECT GUTENBERG", "Gutenberg", "_", "_a", "a_ ", "[Illustration", "]"),
    *("\n", "\n\n", " ", "a", "* ", "Produced by "),
)

OPENINGS = ("{{", "{{{", "{{a|", "[[", "[[a|", "\n{|", "<ref>", "<table>", "(", "-{")
SHOWING = ("lc:", "nowrap|", "formatnum:")
CLOSINGS = ("}}", "}} ", "}}}", "]]", "]] ", "\n|}", "</ref>", "</table>", ")", "}-")

# A text: each part is repeated to take up as much of it as the others.
Parts = tuple[str, ...]


def segment(text: str, *, language: str) -> None:
    """Segment a text as one paragraph."""
    split_sentences(Document((text,)), language=language)


def runs(tokens: tuple[str, ...]) -> list[Parts]:
    """Texts of one token each."""
    return [(token,) for token in tokens]


def turns(tokens: tuple[str, ...]) -> list[Parts]:
    """Texts of one token each, and of two in turns."""
    pairs = map("".join, itertools.permutations(tokens, 2))
    return runs((*tokens, *pairs))


def nests(tokens: tuple[str, ...]) -> list[Parts]:
    """Texts of many openings, then many of a token, then many closings."""
    return list(itertools.product(OPENINGS, (*SHOWING, *tokens), CLOSINGS))


Subject = tuple[Callable[[str], object], list[Parts]]

# Languages differ in their abbreviations; quotation marks are the same for all.
SUBJECTS: dict[str, Subject] = {
    **{
        f"sentences-{language}": (
            partial(segment, language=language),
            texts(QUOTES + PROSE),
        )
        for texts, languages in (
            (turns, ("en", "ja", "my")),
            (runs, ("de", "ru", "hi", "ar", "kk", "el")),
        )
        for language in languages
    },
    "wikitext": (strip_wikitext, turns(MARKUP) + nests(MARKUP)),
    "heading": (lambda text: strip_wikitext(f"== {text} ==\nA b c d."), turns(MARKUP)),
    "book": (book_document, turns(GUTENBERG)),
    "prose": (plain_text.prose_document, turns((*PROSE, *QUOTES))),
}


def seconds_per_million(
    function: Callable[[str], object], parts: Parts, size: int
) -> float:
    """The processor time for each million characters of repeated parts."""
    share = size // len(parts)
    text = "".join(part * (share // len(part)) for part in parts)
    return seconds(lambda: function(text), clock=time.process_time) * 1e6 / len(text)


def slowest(
    function: Callable[[str], object], texts: list[Parts]
) -> list[tuple[float, float, Parts]]:
    """The slowest texts, with their times at the long and the short length."""
    short = {parts: seconds_per_million(function, parts, CHARACTERS) for parts in texts}
    found = [
        (seconds_per_million(function, parts, FACTOR * CHARACTERS), short[parts], parts)
        for parts in sorted(short, key=short.__getitem__, reverse=True)[:RETRIED]
    ]
    return sorted(found, reverse=True)


def main() -> None:
    """Print the table."""
    long = FACTOR * CHARACTERS
    print(f"{'function':14} {'text':32} s/M at {CHARACTERS:,}  at {long:,}")
    for name in sys.argv[1:] or SUBJECTS:
        for slow, short, parts in slowest(*SUBJECTS[name])[:SHOWN]:
            shown = " ".join(map(repr, parts))
            print(f"{name:14} {shown:32} {short:13.2f} {slow:10.2f}", flush=True)


if __name__ == "__main__":
    main()
