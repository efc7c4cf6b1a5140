"""Numbers and text as people read them: counts, durations, sizes, sentences.

A number that is not zero never reads as zero, a share that is not whole never reads as
100%, and nothing large has an exponent.
"""

import itertools
import math
import re
from collections.abc import Iterable

from schemas.secrets import without_secrets


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "split"), counted(1200, "split"), counted(1, "copy", "copies")
    ('1 split', '1,200 splits', '1 copy')
    """
    name = noun if number == 1 else plural or f"{noun}s"
    return f"{number:,} {name}"


def listed(names: Iterable[str], *, most: int = 3) -> str:
    """Names for a sentence, the first few of them.

    >>> listed("abcde")
    'a, b, c and 2 more'
    """
    names = list(names)
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def percent(share: float) -> str:
    """A share in percent, to one decimal place.

    Close to 0% and to 100% there are as many places as two digits of the distance take.

    >>> [percent(share) for share in (0.5454, 0.00038, 0.99962, 0, 1)]
    ['54.5%', '0.038%', '99.962%', '0%', '100%']
    """
    # What rounding leaves of a sum of shares is no distance.
    distance = round(min(abs(share), abs(1 - share)), 12)
    if distance == 0:
        return f"{share:.0%}"
    if not 0 < distance < 0.1:
        return f"{share:.1%}"
    return f"{share:.{max(1, -math.floor(math.log10(distance)) - 1)}%}"


def rounded(number: float, *, digits: int = 3) -> str:
    """A measured number to a few digits, all of those before the point if it is large.

    >>> [rounded(number) for number in (1234.5, 220.4, 3.14159, 0.00012345)]
    ['1,234', '220', '3.14', '0.000123']
    """
    is_large = abs(number) >= 10 ** (digits - 1)
    return f"{number:,.0f}" if is_large else f"{number:.{digits}g}"


def duration(seconds: float) -> str:
    """A duration in the two units that matter; below 10 s in two digits.

    >>> [duration(s) for s in (0.0321, 7.44, 10.2, 130, 7300, 200000, 1e8)]
    ['0.032 s', '7.4 s', '10 s', '2 min 10 s', '2 h 1 min', '2 d 7 h', '3 y 62 d']
    """
    if abs(seconds) < 9.95:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    units = (("y", 365 * 86400), ("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    for (name, size), (smaller_name, smaller) in itertools.pairwise(units):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // smaller} {smaller_name}"
    return f"{whole} s"


def prefixed(number: float, unit: str) -> str:
    """A quantity to three digits with the metric prefix of its size.

    >>> prefixed(512, "B"), prefixed(1_534_000, "B"), prefixed(1.4883e20, "FLOP")
    ('512 B', '1.53 MB', '149 EFLOP')
    """
    prefixes = iter(("", "k", "M", "G", "T", "P", "E", "Z", "Y"))
    prefix = next(prefixes)
    while abs(number) >= 999.5 and prefix != "Y":
        number, prefix = number / 1000, next(prefixes)
    return f"{number:.3g} {prefix}{unit}"


# What does something to a terminal, or shows a text in another order than it has
# (Boucher and Anderson, 2111.00169), and bytes that are no text.
_HARMFUL = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# At most a line of what somebody gave, and of a sentence about it.
_LONG_VALUE = re.compile(r"(\S{100})\S{61,}(\S{39})")
_LONG_SENTENCE = 1200


def printable(text: str) -> str:
    r"""A text that does nothing to a terminal but tabs and new lines, as JSON spells it.

    Names and texts come from elsewhere; all that people see passes here.

    >>> printable("rows\x1b[2J\x9b.txt"), printable("Ünï▁")
    ('rows\\u001b[2J\\u009b.txt', 'Ünï▁')
    """
    return _HARMFUL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_a_line(sentence: str) -> str:
    r"""A sentence in one line, with at most a line of each value in it.

    >>> in_a_line("a\tb\n"), len(in_a_line(10_000 * "x")), len(in_a_line(10_000 * "x "))
    ('a\\tb\\n', 140, 1203)
    """
    # First what is secret, of which half would not be known any more.
    line = (
        _LONG_VALUE.sub(r"\1…\2", without_secrets(sentence))
        .replace("\n", "\\n")
        .replace("\t", "\\t")
    )
    if len(line) > _LONG_SENTENCE:
        line = f"{line[:900]} … {line[-300:]}"
    return line
