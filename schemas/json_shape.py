"""What a JSON value has to look like, and where it first looks otherwise.

A shape is a `Rule` for a single value, a dictionary for an object that has at least
these keys, `Only` for one that has no others, `Each` for one with any keys, and a list
of one shape for a list.
"""

import dataclasses
import re
import reprlib
from collections.abc import Callable, Iterator
from typing import Any, Union

# The largest number of eight bytes, more than any count of anything.
_LARGEST = (1 << 63) - 1


@dataclasses.dataclass(frozen=True)
class Rule:
    """What a single value must be.

    Attributes:
        words: The rule as it follows "must be".
        holds: Whether a value obeys it.
    """

    words: str
    holds: Callable[[Any], bool]


@dataclasses.dataclass(frozen=True)
class Only:
    """An object with these keys and no others."""

    shapes: "dict[str, Shape]"


@dataclasses.dataclass(frozen=True)
class Each:
    """An object whose keys obey one rule and whose values have one shape."""

    key: Rule
    value: "Shape"


Shape = Union[Rule, Only, Each, "dict[str, Shape]", "list[Shape]"]


def whole_number(*, minimum: int) -> Rule:
    """The rule for a whole number of a minimum size."""
    return Rule(
        f"a whole number of {minimum} or more",
        lambda value: type(value) is int and minimum <= value <= _LARGEST,
    )


def number(words: str, *, maximum: float) -> Rule:
    """The rule for a number from 0 to a maximum."""
    return Rule(
        words, lambda value: type(value) in (int, float) and 0 <= value <= maximum
    )


def text(words: str, *, pattern: str) -> Rule:
    """The rule for a text that matches a regular expression from end to end."""
    expression = re.compile(pattern, re.ASCII)
    return Rule(
        words,
        lambda value: isinstance(value, str) and bool(expression.fullmatch(value)),
    )


COUNT = whole_number(minimum=0)
# Any at all: a loss may be negative, and not finite where training went wrong.
ANY_NUMBER = Rule("a number", lambda value: type(value) in (int, float))
SHARE = number("a number from 0 to 1", maximum=1)
# JSON can spell half a character, but nothing can print it or write it to a file.
TEXT = text("text", pattern=r"[^\ud800-\udfff]*")
HASH = text("a sha256 of 64 digits", pattern="[0-9a-f]{64}")


def or_null(rule: Rule) -> Rule:
    """The rule for what may also be left unknown."""
    return Rule(
        f"{rule.words}, or null", lambda value: value is None or rule.holds(value)
    )


def problem(value: Any, shape: Shape) -> str:
    """What is wrong with a value, as a clause; empty if nothing is.

    >>> shape = {"copies": [{"examples": COUNT}]}
    >>> problem({"copies": [{"examples": 1}, {"examples": "2"}]}, shape)
    "copies[1].examples must be a whole number of 0 or more, not '2'"
    >>> problem({"copies": [{}]}, shape)
    'copies[0] has no examples'
    """
    return next(_problems(value, shape, place=""), "")


def _problems(value: Any, shape: Shape, *, place: str) -> Iterator[str]:
    """Everything that is wrong with the value at a place, in its own order."""
    subject = place or "it"
    if isinstance(shape, Rule):
        if not shape.holds(value):
            yield f"{subject} must be {shape.words}, not {reprlib.repr(value)}"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{subject} must be a list, not {reprlib.repr(value)}"
            return
        for number, item in enumerate(value):
            yield from _problems(item, shape[0], place=f"{place}[{number}]")
    elif not isinstance(value, dict):
        yield f"{subject} must be an object, not {reprlib.repr(value)}"
    else:
        yield from _problems_of_object(value, shape, place=place)


def _problems_of_object(
    value: dict[str, Any], shape: "Only | Each | dict[str, Shape]", *, place: str
) -> Iterator[str]:
    subject, prefix = place or "it", f"{place}." if place else ""
    if isinstance(shape, Each):
        for name, item in value.items():
            shown = reprlib.repr(name)
            if not shape.key.holds(name):
                yield f"{subject} has the key {shown}, which is not {shape.key.words}"
            yield from _problems(item, shape.value, place=f"{place}[{shown}]")
        return
    shapes = shape.shapes if isinstance(shape, Only) else shape
    for name, item in shapes.items():
        if name in value:
            yield from _problems(value[name], item, place=prefix + name)
        else:
            yield f"{subject} has no {name}"
    if isinstance(shape, Only):
        for name in sorted(value.keys() - shapes.keys()):
            yield f"{subject} has the unknown key {reprlib.repr(name)}"
