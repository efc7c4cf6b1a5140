"""What is said of what is refused."""

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
