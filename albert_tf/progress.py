"""What the person at the terminal sees: a bar, or plain lines where there is none."""

import itertools
import sys
import time
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

# Between plain lines.
LINE_SECONDS = 10.0


class Progress:
    """A bar over sequences when stderr is a terminal, else a line now and then.

    Attributes:
        is_quiet: Whether nothing at all is shown.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.is_quiet = quiet
        self._bar: Any = None
        self._last_line = float("-inf")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def say(self, text: str) -> None:
        """Show a message of its own."""
        if self.is_quiet:
            return
        if self._bar is None:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        else:
            self._bar.write(text, file=sys.stderr)

    def start(self, *, total: int, done: int) -> None:
        """Begin the bar.

        Args:
            total: Sequences in the whole run.
            done: Those computed before.
        """
        if not self.is_quiet and sys.stderr.isatty():
            self._bar = tqdm(
                total=total, initial=done, unit=" seq", dynamic_ncols=True, smoothing=0
            )

    def advance(self, sequences: int) -> None:
        """Move the bar on."""
        if self._bar is not None:
            self._bar.update(sequences)

    def show(self, status: str, *, is_last: bool) -> None:
        """Show how it stands: in the bar, or as a line if the last is long ago."""
        if self._bar is not None:
            self._bar.set_postfix_str(status, refresh=is_last)
        elif is_last or time.monotonic() - self._last_line >= LINE_SECONDS:
            self.say(status)
            self._last_line = time.monotonic()


def duration_text(seconds: float) -> str:
    """A duration in the two units that matter.

    >>> [duration_text(s) for s in (7.4, 130, 7300, 200000)]
    ['7 s', '2 min 10 s', '2 h 1 min', '2 d 7 h']
    """
    whole = round(seconds)
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    for (name, size), (smaller_name, smaller) in itertools.pairwise(units):
        if whole >= size:
            return f"{whole // size} {name} {whole % size // smaller} {smaller_name}"
    return f"{whole} s"
