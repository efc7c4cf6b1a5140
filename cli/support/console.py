"""What a person sees while a command works: lines and progress bars on stderr."""

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Self

import click
from tqdm import tqdm

from schemas.readable import duration, percent, prefixed, printable
from schemas.secrets import without_secrets

# Tells a person something.
Say = Callable[[str], None]

# Between lines of progress where there is no terminal.
LINE_SECONDS = 10.0
# No bar appears for what takes less, and no word about libraries that load.
DELAY_SECONDS = 0.8

_MARK = re.compile(r"^(Error|Next|next):", re.MULTILINE)


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Swallow what native code writes while it is imported; a person hears that it is."""
    import albert_tf

    with albert_tf.swallowed_stderr() as kept:
        # Within a second.
        word = threading.Timer(DELAY_SECONDS / 2, os.write, (kept, b"Loading libraries ...\n"))
        if os.isatty(kept) and "--quiet" not in sys.argv:
            word.start()
        try:
            yield
        finally:
            word.cancel()


def is_debugging() -> bool:
    """Whether --debug is typed."""
    return "--debug" in sys.argv


@contextmanager
def silent_logging() -> Iterator[None]:
    """Keep out of sight what Beam logs; what matters comes as an exception."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def tell(line: str) -> None:
    """Print a line on stderr, without secrets; if nobody can read it, work goes on.

    Errors and what to type next have a colour in terminals, unless NO_COLOR is set.
    """
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    said = _MARK.sub(
        lambda mark: click.style(mark[0], fg="red" if mark[0] == "Error:" else "green", bold=True),
        printable(without_secrets(line)),
    )
    with suppress(OSError):
        click.echo(said, err=True, color=False if is_plain else None)


class Console(AbstractContextManager["Console"]):
    """A `Progress` that speaks unless asked to be quiet: lines, and a bar at a time.

    Where there is no terminal a bar is a line now and then.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.is_quiet = quiet
        self.done = 0
        self._bar: tqdm | None = None

    def say(self, *lines: str) -> None:
        """Print lines, above the bar if there is one."""
        if not self.is_quiet:
            with tqdm.external_write_mode(file=sys.stderr):
                for line in lines:
                    tell(line)

    def start(self, label: str, *, total: int, unit: str = "", done: int = 0) -> Self:
        """Begin a bar, in place of one that is there."""
        self.close()
        is_terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=total,
            initial=done,
            delay=DELAY_SECONDS,
            disable=self.is_quiet or not is_terminal,
            dynamic_ncols=True,
            bar_format=f"{label} |{{bar}}| {{desc}}".lstrip(),
        )
        self._has_lines = not (self.is_quiet or is_terminal)
        self._label, self._total, self._unit = label, total, unit
        self._start = self._last_line = time.monotonic()
        # When how much was done: about a third of the time ago, and later. Before, something
        # may have been started or compiled.
        self._marks = [(self._start, done)] * 2
        self._status: str | None = None
        self.done = done
        return self

    def to(self, done: int, *, note: str = "") -> None:
        """Say how much is done by now, with the rate, the time left and a note."""
        if self._bar is None:
            return
        self._bar.update(done - self.done)
        self.done = done
        if self._status is not None:
            return
        said = [percent(done / self._total) if self._total else "100%"]
        now = time.monotonic()
        if now - self._start > 2 * (self._marks[1][0] - self._start):
            self._marks = [self._marks[1], (now, done)]
        since, before = self._marks[0]
        if rate := (done - before) / (now - since) if now > since else 0.0:
            if self._unit:
                said.append(f"{prefixed(rate, self._unit)}/s")
            said.append(f"{duration((self._total - done) / rate)} left")
        self._tell(", ".join([*said, note] if note else said))

    def advance(self, amount: int) -> None:
        """Move the bar on."""
        self.to(self.done + amount)

    def show(self, status: str, *, is_last: bool = False) -> None:
        """Show this instead of the rate and the time left, from now on.

        With `is_last` it is shown even if a line was shown just before. About 75
        characters fit.
        """
        if self._bar is not None:
            self._status = status
            self._tell(status, is_last=is_last)

    def close(self) -> None:
        """End the bar, if there is one, and leave it as it is."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _tell(self, text: str, *, is_last: bool = False) -> None:
        """Write a text beside the bar, or as a line if the last one is long ago."""
        assert self._bar is not None
        self._bar.set_description_str(text, refresh=is_last)
        is_time = time.monotonic() - self._last_line >= LINE_SECONDS
        if self._has_lines and (is_last or is_time):
            self._last_line = time.monotonic()
            tell(f"{self._label}: {text}" if self._label else text)

    def __exit__(self, *error: object) -> None:
        self.close()
