"""What stands on pages beside their text: numbers, running heads and feet, margins."""

import itertools
import re
from collections import Counter

from pipeline.core.writing_systems import ends_sentence

# The number of a page, alone in a line, and of a line, in its margin.
_PAGE_NUMBER = re.compile(r"\s*+[-–—\[(]?\s*+(\d{1,4})\s*+[-–—\])]?\s*+")
# Surely that of a page, also where no form feed ends one; the text goes on if it has small letters.
_DASHED_NUMBER = re.compile(r"\n(?:[ \t]*+\n)?[ \t]*+[-–—] ?\d{1,4} ?[-–—]\n\s*+(?=(\w?))")
_LINE_NUMBER = re.compile(r"(?m)^[ \t]{0,8}(\d{1,2})(?:[ \t]*$|([ \t]+)(.*))")
_MARGIN = re.compile(r"(?m)^[ \t]{0,8}(\d{1,2})(?:[ \t]*\n|[ \t]+|\Z)")
_DIGITS = re.compile(r"\d+")
# A line of words and a number behind them that does not say that it is that of a page.
_TITLE = re.compile(
    r"(?i)(?!\W*0)(?=.*0)(?=.*[^\W\d_])(?!(?:page|seite|p[aá]gina|strona|sid[ae]|стр)\b)"
)
# A running line stands on so many pages at least, and on such a share of them: those on
# the left may have another than those on the right.
_FEWEST_PAGES, _LEAST_OF_PAGES = 3, 0.3
# Of the ends of pages so many are within a sentence, unless each page is a text.
_LEAST_CROSSING = 0.1
# What has more lines is a chapter, whose heading is text.
_MOST_LINES = 80
# A page of a pleading has more lines, a list of things fewer numbers.
_FEWEST_LINES = 5
# Shares of the lines that have a number, of the numbers that are one more than the one
# before or begin again, and of the lines that go on in the next.
_MOST_NUMBERED, _MOST_RISING, _INNER_ENDS = 0.6, 0.95, 0.25
_HEAD_CHARACTERS = 1 << 16


def without_furniture(text: str) -> str:
    r"""A text without what its pages have beside it.

    >>> without_furniture("1 THE MILL\nIt was\n\x0c2 THE MILL\nlate.\n\x0c3 THE MILL\nWhy?")
    'It was\nlate.\n\nWhy?'
    """
    if "\x0c" in text:
        text = without_running_lines(text)
    elif sum(text.count(f"{dash}\n") for dash in "-–—") >= _FEWEST_PAGES and (
        len(_DASHED_NUMBER.findall(text)) >= _FEWEST_PAGES
    ):
        text = _DASHED_NUMBER.sub(lambda found: "\n" if found[1].islower() else "\n\n", text)
    head = text[:_HEAD_CHARACTERS]
    is_likely = _LINE_NUMBER.match(head.lstrip("\n")) is not None
    return without_margin(text) if is_likely and has_margin(head) else text


def without_margin(text: str) -> str:
    r"""A text without the numbers that count its lines, of which a few may be missing.

    >>> without_margin("1  It was\n2  late when\n15 000 men came.\n30 years passed.")
    'It was\nlate when\n15 000 men came.\n30 years passed.'
    """
    last = 0

    def stripped(found: re.Match[str]) -> str:
        nonlocal last
        number = int(found[1])
        if number != 1 and not last < number <= last + 2:
            return found[0]
        last = number
        return ""

    return _MARGIN.sub(stripped, text)


def without_running_lines(text: str) -> str:
    r"""A text without the lines that begin or end its pages, as in pdftotext's.

    These are the same on several pages but for digits, or numbers that rise with the
    pages; a number that no other one goes with is text.

    >>> without_running_lines("It was\n\n12\n\n\x0clate.\n\n- 13 -\n\x0cWhy?")
    'It was\nlate.\n\nWhy?'
    """
    whole = text.split("\x0c")
    lines = [[line for line in page.split("\n") if line.strip()] or [""] for page in whole]
    running = Counter(key for page in lines for key in {*map(_key, page[:2] + page[-2:])} - {""})
    least = max(_FEWEST_PAGES, _LEAST_OF_PAGES * len(whole))
    if text.count("\n") > _MOST_LINES * len(whole):
        running.clear()
    # Where no sentence goes on, lines that differ by their numbers are titles: Canto 2.
    titles = {key for key, n in running.items() if n >= least and _TITLE.match(key)}
    between = "\x0c"
    if titles:
        texts = (
            [e for e in page if e.strip("\n -0123456789") and running[_key(e)] < least]
            for page in lines[:-1]
        )
        crossing = sum(bool(page) and not ends_sentence(page[-1].strip()) for page in texts)
        if crossing < _LEAST_CROSSING * (len(whole) - 1):
            running -= Counter(dict.fromkeys(titles, len(whole)))
            between = "\n\n"
    # Numbers of pages less the places of these.
    offsets: Counter[int] = Counter()
    for place, (before, after) in enumerate(itertools.pairwise(lines), 1):
        matches = filter(None, map(_PAGE_NUMBER.fullmatch, (before[-1], after[0])))
        offsets.update({int(match[1]) - place for match in matches})

    def is_furniture(line: str, place: int) -> bool:
        if match := _PAGE_NUMBER.fullmatch(line):
            return offsets[int(match[1]) - place] > 1
        return running[_key(line)] >= least

    pages: list[str] = []
    had_foot = False
    for place, page in enumerate(whole):
        body, has_head = page, False
        first, _, rest = body.lstrip().partition("\n")
        while is_furniture(first, place) and not (had_foot and _PAGE_NUMBER.fullmatch(first)):
            body, has_head = rest.lstrip(), True
            first, _, rest = body.partition("\n")
        if pages and (had_foot or has_head):
            ended, body = pages[-1].rstrip(), body.lstrip()
            goes_on = body[:1].islower() and not ends_sentence(ended)
            pages[-1] = ended + ("\n" if goes_on else "\n\n")
        elif pages:
            body = between + body
        had_foot = False
        upper, _, last = body.rstrip().rpartition("\n")
        while is_furniture(last, place + 1):
            body, had_foot = upper.rstrip(), True
            upper, _, last = body.rpartition("\n")
        pages.append(body)
    return "".join(pages)


def _key(line: str) -> str:
    """What a line has in common with those that differ by numbers."""
    return _DIGITS.sub("0", line).strip()


def has_margin(text: str) -> bool:
    r"""Whether the lines of a text are numbered, from 1 on each page.

    The numbers are apart from the text, or sentences go on from line to line: verses
    have numbers too.

    >>> has_margin("1 It was late\n2 when he came\n3 home and\n4 she was\n5 so.\n" * 3)
    True
    >>> has_margin("1 It was late.\n2 He came.\n3 So.\n4 Why?\n5 No.\n" * 3)
    False
    """
    lines = [line for line in text.split("\n") if line.strip()]
    found = [match for match in map(_LINE_NUMBER.match, lines) if match]
    numbers = [int(match[1]) for match in found]
    rising = sum(b in (a + 1, 1) for a, b in itertools.pairwise(numbers))
    if numbers.count(1) < _FEWEST_PAGES - 1 or max(numbers) < _FEWEST_LINES:
        return False
    if rising < _MOST_RISING * (len(numbers) - 1):
        return False
    apart = sum(len(match[2] or "") > 1 for match in found)
    texts = [rest for line in lines if (rest := _MARGIN.sub("", line).strip())]
    inner = sum(not ends_sentence(a) and b[:1].islower() for a, b in itertools.pairwise(texts))
    is_apart = 2 * apart > len(lines)
    return len(found) >= _MOST_NUMBERED * len(lines) and (
        is_apart or inner >= _INNER_ENDS * len(texts)
    )
