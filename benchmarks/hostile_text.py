"""Look for text whose time grows faster than its length: tokens repeated, or in pairs.

    python -m benchmarks.hostile_text                all functions, tokens and pairs
    python -m benchmarks.hostile_text sentences-en   one of them

Each text is tried at a length and at four times that. Printed are the slowest texts of
each function: seconds for each million characters at both lengths, which are about
equal where the time is linear in the text.
"""

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from pipeline.core.documents import Document
from pipeline.reading import plain_text
from pipeline.reading.books import book_document
from pipeline.reading.sentences import split_sentences
from pipeline.wikipedia.wikitext import strip_wikitext

CHARACTERS = 20_000
SHOWN = 3
# A pair is tried at four times the length only if it was slow at the first.
SUSPICIOUS_SECONDS_PER_MILLION = 3.0

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


def segment(text: str, *, language: str) -> None:
    """Segment a text as one paragraph."""
    split_sentences(Document((text,)), language=language)


SUBJECTS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    **{
        f"sentences-{language}": (partial(segment, language=language), QUOTES + PROSE)
        for language in ("en", "de", "ru", "ja", "hi", "ar", "my", "kk", "el")
    },
    "wikitext": (strip_wikitext, MARKUP),
    "heading": (lambda text: strip_wikitext(f"== {text} ==\nA b c d."), MARKUP),
    "book": (book_document, GUTENBERG),
    "prose": (plain_text.prose_document, (*PROSE, *QUOTES)),
}


def seconds_per_million(
    function: Callable[[str], object], unit: str, size: int
) -> float:
    """Return the processor time for each million characters of a repeated unit."""
    text = unit * (size // len(unit))
    start = time.process_time()
    function(text)
    return (time.process_time() - start) * 1e6 / len(text)


def try_all(
    function: Callable[[str], object], tokens: tuple[str, ...]
) -> Iterator[tuple[float, float, str]]:
    """Yield the times of each token and pair: at four times the length, and at it."""
    units = [*tokens, *map("".join, itertools.permutations(tokens, 2))]
    for unit in units:
        short = seconds_per_million(function, unit, CHARACTERS)
        if short > SUSPICIOUS_SECONDS_PER_MILLION or len(unit) == 1:
            yield seconds_per_million(function, unit, 4 * CHARACTERS), short, unit
        else:
            yield short, short, unit


def main() -> None:
    """Print the table."""
    print(f"{'function':14} {'text':28} s/M at {CHARACTERS:,}  at {4 * CHARACTERS:,}")
    for name in sys.argv[1:] or SUBJECTS:
        function, tokens = SUBJECTS[name]
        slowest = sorted(try_all(function, tokens), reverse=True)[:SHOWN]
        for long, short, unit in slowest:
            print(f"{name:14} {unit!r:28} {short:13.2f} {long:10.2f}", flush=True)


if __name__ == "__main__":
    main()
