"""JSON files that are whole or absent: written beside, flushed, then renamed."""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas.errors import AlbertError
from schemas.whole_file import whole_file

_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")

_REMEDY = "correct the file or make it again"


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise AlbertError(f"{path} does not exist.") from None
    except OSError as error:
        raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
    return parse_json(data, path)


def parse_json(data: bytes, path: str | Path) -> dict[str, Any]:
    """The JSON object that a file holds."""
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object)
    except RecursionError:
        reason = "its lists and objects are nested too deeply"
        raise AlbertError(f"{path} is not valid JSON: {reason}; {_REMEDY}.") from None
    except ValueError as error:
        raise AlbertError(f"{path} is not valid JSON: {error}; {_REMEDY}.") from error
    if not isinstance(value, dict):
        raise AlbertError(
            f"{path} must hold a JSON object, not a list or a value; {_REMEDY}."
        )
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dictionary; a key that comes twice has no clear value."""
    values = dict(pairs)
    if len(values) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {name!r:.60} comes twice in one object")
    return values


@contextlib.contextmanager
def undamaged(path: str | Path, *, remedy: str) -> Iterator[None]:
    """Say in one sentence that a file is damaged, whatever goes wrong meanwhile.

    For files that this program writes itself, so that nobody has to check each value.

    >>> with undamaged("state.json", remedy="copy it again"):
    ...     {}["step"]
    Traceback (most recent call last):
    schemas.errors.AlbertError: state.json is damaged: it has no 'step'; copy it again.
    """
    try:
        yield
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        found = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        found = found.removesuffix(".")
        raise AlbertError(f"{path} is damaged: {found:.300}; {remedy}.") from error


def json_text(value: object) -> str:
    r"""The one spelling of a JSON value: indented, keys in the order given.

    What cannot be written as UTF-8, such as a path that is not, is escaped.

    >>> print(json_text({"b": 1, "a": "é\udce9"}), end="")
    {
      "b": 1,
      "a": "é\udce9"
    }
    """
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def write_json(path: str | Path, value: object) -> None:
    """Write a JSON file that no reader ever sees half-written."""
    write_text(path, json_text(value))


def write_text(path: str | Path, text: str) -> None:
    """Write a text file that no reader ever sees half-written."""
    with whole_file(Path(path)) as file:
        file.write(text.encode("utf-8"))
