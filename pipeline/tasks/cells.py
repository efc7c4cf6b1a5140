"""A cell of a table as the list, the object or the text that a program wrote there."""

import ast
import contextlib
import json
import re
from typing import Any

from schemas.errors import AlbertError

# How NumPy writes a list of numbers, texts, or true and false: nothing but white space
# is between them. And what else programs write around a list.
_ITEM = re.compile(
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|True|False"
    r"|-?[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?"
)
_NUMPY_LIST = re.compile(rf"\[\s*(?:{_ITEM.pattern})(?:\s+(?:{_ITEM.pattern}))+\s*\]")
_WRAPPED = re.compile(r"(?:array|tensor|frozenset)\((.*?)(?:,\s*dtype=[^()]+)?\)", re.DOTALL)

# Of texts that only look like JSON or Python.
_UNPARSED = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)

# A list as pandas writes it inside an object.
_ARRAY = re.compile(r"array\((\[[^\[\]]*\])(?:,\s*dtype=[^()]+)?\)")


def as_text(value: Any) -> str:
    """A value that has to be text, else a TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not text")
    return value


def as_texts(value: Any) -> tuple[str, ...]:
    """A list that has to be of texts, else a TypeError."""
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.60} is not a list")
    return tuple(map(as_text, value))


def listed_value(value: Any) -> Any:
    """A cell, read if it is a list as JSON, Python, NumPy or PyTorch writes it.

    >>> listed_value('["Arts, crafts"]'), listed_value("{'a'}"), listed_value("[0. 1.]")
    (['Arts, crafts'], ['a'], [0.0, 1.0])
    >>> listed_value("['Ada' 'ran']"), listed_value("tensor([0., 1.])")
    (['Ada', 'ran'], [0.0, 1.0])
    >>> listed_value("a, b")
    'a, b'
    """
    if isinstance(value, tuple | set):
        return list(value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    if wrapped := _WRAPPED.fullmatch(text):
        text = wrapped[1].strip()
    if text[:1] not in ("[", "(", "{"):
        return value
    if _NUMPY_LIST.fullmatch(text):
        items = [parsed_value(item) for item in _ITEM.findall(text)]
        return value if None in items else items
    found = parsed_value(text)
    if isinstance(found, set):
        return sorted(found, key=str)
    return found if isinstance(found, list) else value


def parsed_value(text: str) -> Any:
    """A value as JSON or Python writes it; None for other texts.

    >>> parsed_value("[(0, 3, 'PER')]")
    [[0, 3, 'PER']]
    """
    for read in (json.loads, ast.literal_eval):
        with contextlib.suppress(*_UNPARSED):
            return _without_tuples(read(text))
    return None


def _without_tuples(value: Any) -> Any:
    """A value of Python with lists in the place of tuples, as JSON has them."""
    if isinstance(value, dict):
        return {key: _without_tuples(item) for key, item in value.items()}
    is_listed = isinstance(value, list | tuple)
    return [*map(_without_tuples, value)] if is_listed else value


def object_value(value: Any) -> Any:
    """A cell, read if it is a list or an object as JSON, Python or pandas writes them.

    >>> object_value("{'text': array(['Ada'], dtype=object)}"), object_value("['Ada']")
    ({'text': ['Ada']}, ['Ada'])
    >>> object_value("{b}")
    '{b}'
    """
    value = listed_value(value)
    if not (isinstance(value, str) and value.strip().startswith("{")):
        return value
    for written in (value, _ARRAY.sub(r"\1", value)):
        if isinstance(found := parsed_value(written.strip()), dict):
            return found
    return value


def text_of_part(part: Any, *, place: str) -> str:
    """A word or an option; of an object, as Prodigy has them, its text.

    >>> text_of_part({"text": "Ada", "start": 0}, place=""), text_of_part(7, place="")
    ('Ada', '7')
    """
    text = part.get("text") if isinstance(part, dict) else part
    if not isinstance(text, str | int | float):
        raise AlbertError(
            f"{place}: {part!r:.60} is neither a text nor an object with a text; correct the row."
        )
    return str(text)
