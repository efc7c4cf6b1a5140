"""What training asks of whoever shows its progress to a person."""

from collections.abc import Callable
from typing import Any, Protocol

# What shows a line.
Say = Callable[[str], None]


class Progress(Protocol):
    """Lines, and one bar at a time."""

    @property
    def is_quiet(self) -> bool:
        """Whether nothing at all is shown, so that nothing need be measured for it."""

    def say(self, line: str) -> None:
        """Show a line."""

    def start(self, label: str, *, total: int, done: int = 0) -> object:
        """Begin a bar, in place of one that is there."""

    def advance(self, amount: int) -> None:
        """Move the bar on."""

    def show(self, status: str, *, is_last: bool = False) -> None:
        """Show about 75 characters: beside the bar, or now and then as a line.

        The last status is shown in any case.
        """


class NoProgress:
    """`Progress` of which nothing is shown."""

    is_quiet = True

    def say(self, *_: Any, **__: Any) -> None:
        """Show nothing."""

    start = advance = show = say


QUIET = NoProgress()
