"""Numbers and text as people read them: counts, durations, sizes, addresses.

A number that is not zero never reads as zero, a share that is not whole never reads as
100%, and nothing large has an exponent. Secrets in addresses are used, and never shown
or kept.
"""

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any


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

    >>> [duration(s) for s in (0.0321, 7.44, 10.2, 130, 7300, 200000)]
    ['0.032 s', '7.4 s', '10 s', '2 min 10 s', '2 h 1 min', '2 d 7 h']
    """
    if abs(seconds) < 9.95:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
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


def printable(text: str) -> str:
    r"""A text in one line that does nothing to a terminal.

    Names of files, keys and columns come from elsewhere.

    >>> printable("rows\x1b[2J\n.txt"), printable("Ünï▁")
    ('rows\\x1b[2J\\n.txt', 'Ünï▁')
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows in columns, the labels at the left and the figures at the right.

    >>> aligned([("", "steps"), ("tiny", "7,000")])
    ['      steps', 'tiny  7,000']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [label.ljust(widths[0])]
            + [f.rjust(width) for f, width in zip(rest, widths[1:], strict=True)]
        ).rstrip()
        for label, *rest in rows
    ]


HIDDEN = "***"

_ADDRESS = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]*)://[^\s\"'<>|]+")
# A password may hold what an address gives another meaning; a port is a number.
_USER = re.compile(r"(?<=://)(?:[^/?#]*|[^/?#:]*:(?!\d+/).*)@")
_VALUE = re.compile(r"([?&;#][^=?&;#/]+=)[^&;#]+")
# Where a question mark begins a query and is no wildcard.
_WEB = ("http", "https", "ftp", "ftps")
# Outside an address, such as in an option of Beam or a connection string.
_NAMED = re.compile(
    r"((?:secret|token|password|passwd|signature|credentials?|(?:account|access|api)"
    r"_?key)(?:_?(?:key|id|value))?=)[^\s;&\"']+?(?=:?(?:[\s;&\"']|$))",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """A text whose addresses have no user, no password and no value in their query.

    A user without a password is kept where it names a container.

    >>> without_secrets("https://ada:xyz@host/a.txt?sig=1%2F2&part=3 cannot be read.")
    'https://***@host/a.txt?sig=***&part=*** cannot be read.'
    >>> without_secrets("abfs://texts@account.dfs.core.windows.net/novel-?.txt")
    'abfs://texts@account.dfs.core.windows.net/novel-?.txt'
    >>> without_secrets("--s3_secret_access_key=xyz: options after -- are Beam's")
    "--s3_secret_access_key=***: options after -- are Beam's"
    """
    return _NAMED.sub(rf"\1{HIDDEN}", _ADDRESS.sub(_hidden, text))


def _hidden(found: "re.Match[str]") -> str:
    """One address without what is secret in it."""
    address, is_web = found[0], found[1].lower() in _WEB
    user = _USER.search(address)
    if user and (is_web or ":" in user[0]):
        address = f"{address[: user.start()]}{HIDDEN}@{address[user.end() :]}"
    address = _VALUE.sub(rf"\1{HIDDEN}", address)
    start, mark, query = address.partition("?")
    return f"{start}?{HIDDEN}" if is_web and mark and "=" not in query else address


def record_without_secrets(value: Any) -> Any:
    """The same of every text in a value that is written as JSON.

    >>> record_without_secrets({"text": ["https://host/a?key=b"], "seed": 1})
    {'text': ['https://host/a?key=***'], 'seed': 1}
    """
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {name: record_without_secrets(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [record_without_secrets(each) for each in value]
    return value
