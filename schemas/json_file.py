"""JSON files that are whole or absent: written beside, flushed, then renamed."""

import json
from pathlib import Path
from typing import Any

from schemas.errors import AlbertError
from schemas.whole_file import whole_file


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        AlbertError: The file is absent, unreadable or not a JSON object.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise AlbertError(f"{path} does not exist.") from None
    except OSError as error:
        raise AlbertError(f"{path} cannot be read: {error.strerror}.") from error
    return parse_json(data, path)


def parse_json(data: bytes, path: str | Path) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        AlbertError: It is none.
    """
    try:
        value = json.loads(data.decode("utf-8"))
    except ValueError as error:
        raise AlbertError(f"{path} is not valid JSON: {error}.") from error
    if not isinstance(value, dict):
        raise AlbertError(f"{path} must hold a JSON object, not a list or a value.")
    return value


def json_text(value: object) -> str:
    """The one spelling of a JSON value: indented, keys in the order given.

    >>> print(json_text({"b": 1, "a": "é"}), end="")
    {
      "b": 1,
      "a": "é"
    }
    """
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


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
