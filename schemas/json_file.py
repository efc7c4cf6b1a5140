"""JSON files that are whole or absent: written beside, flushed, then renamed."""

import json
import os
import re
import reprlib
import stat
from collections import Counter
from pathlib import Path
from typing import Any

from schemas.errors import AlbertError
from schemas.whole_file import whole_file

# Room for the manifest of a million input files.
MAX_BYTES = 256 << 20
# Far more than any number of ours, and few enough to be converted and shown.
MAX_DIGITS = 100

_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")

_REMEDY = "correct the file or make it again"


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        AlbertError: The file is absent, unreadable or not a JSON object.
    """
    try:
        with Path(path).open("rb") as file:
            status = os.fstat(file.fileno())
            # Memory is allocated for all that is asked for, so ask for no more than
            # there is; the size of a pipe is unknown.
            size = status.st_size if stat.S_ISREG(status.st_mode) else MAX_BYTES
            data = file.read(min(size, MAX_BYTES) + 1)
    except FileNotFoundError:
        raise AlbertError(f"{path} does not exist.") from None
    except OSError as error:
        raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
    return parse_json(data, path)


def parse_json(data: bytes, path: str | Path) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        AlbertError: The file is too large, not valid JSON, or not an object.
    """
    if len(data) > MAX_BYTES:
        raise AlbertError(
            f"{path} is larger than {MAX_BYTES >> 20} MiB, too large for a JSON file "
            f"of this program; {_REMEDY}."
        )
    try:
        value = json.loads(
            data.decode("utf-8-sig"),
            object_pairs_hook=_object,
            parse_int=_integer,
        )
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
        raise ValueError(f"the key {reprlib.repr(name)} comes twice in one object")
    return values


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a whole number has more than {MAX_DIGITS} digits")
    return int(digits)


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
    """Write a text file that no reader ever sees half-written.

    Raises:
        AlbertError: The file cannot be written.
    """
    with whole_file(Path(path)) as file:
        file.write(text.encode("utf-8"))
