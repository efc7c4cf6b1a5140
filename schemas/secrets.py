"""Secrets in addresses and options: used, and never shown or kept."""

import re
from typing import Any

HIDDEN = "***"

# A password may hold anything but another address, also what ends an address or gives it
# another meaning; a port is a number. As a path an address has one slash.
_ADDRESS = re.compile(
    r"\b([a-zA-Z][a-zA-Z0-9+.-]*):/+"
    r"(?:[^\s/?#:@\"'<>|]*:(?!\s|\d+(?:[/\s.,;:)]|$))(?:(?!:/).)*@(?=[\w\[]))?[^\s\"'<>|]+"
)
_USER = re.compile(r"(?:(?<=://)|(?<=:/)(?!/))(?:[^/?#]*|[^/?#:]*:(?!\d+/).*)@")
_VALUE = re.compile(r"([?&;#][^=?&;#/]+=)[^&;#]+")
# Where a question mark begins a query and is no wildcard.
_WEB = ("http", "https", "ftp", "ftps")
# Outside an address, such as in an option of Beam or a connection string.
_NAMED = re.compile(
    r"((?:secret|token|password|passwd|signature|credentials?|(?:account|access|api)"
    r"_?key)(?:_?(?:key|id|value))?=)"
    r"(?:\"[^\"]*\"|'[^']*'|[^\s;&\"']+?(?=:?(?:[\s;&\"']|$)))",
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
