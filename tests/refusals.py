"""What is said of what is refused."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from schemas.errors import AlbertError


def refusal(
    call: Callable[..., Any], *given: Any, error: type[Exception] = AlbertError, **settings: Any
) -> str:
    """The sentence of the error that a call ends with."""
    with pytest.raises(error) as caught:
        call(*given, **settings)
    return str(caught.value)


def rows_of(table: str) -> list[tuple[str, str]]:
    """What is typed and what is said of it, which stands in one or more lines below."""
    blocks = (map(str.strip, block.splitlines()) for block in re.split(r"\n(?=\S)", table.strip()))
    return [(typed, " ".join(said)) for typed, *said in blocks]
