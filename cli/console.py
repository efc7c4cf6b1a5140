"""What a person sees while a command works: lines and progress bars on stderr."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import click
from tqdm import tqdm

# Without a terminal a line of progress appears so often.
PLAIN_SECONDS = 10.0
# No bar appears for what takes less.
DELAY_SECONDS = 2.0


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Swallow what native code writes while it is imported.

    TensorFlow reports on the machine then, and no setting stops it; what goes wrong
    still comes as an exception.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class Console:
    """Speaks to the person, or not if asked to be quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet

    def say(self, line: str) -> None:
        """Print a line."""
        if not self.quiet:
            click.echo(line, err=True)

    def bar(self, label: str, *, total: int, unit: str) -> "Bar":
        """A progress bar, or plain lines where there is no terminal."""
        return Bar(label, total=total, unit=unit, quiet=self.quiet)


class Bar:
    """Progress of one stage with its rate and the time left."""

    def __init__(self, label: str, *, total: int, unit: str, quiet: bool) -> None:
        self._plain = not sys.stderr.isatty()
        self._quiet = quiet
        self._last = time.monotonic()
        self._bar = tqdm(
            total=total,
            desc=label,
            unit=unit,
            unit_scale=True,
            delay=DELAY_SECONDS,
            disable=quiet or self._plain,
            dynamic_ncols=True,
        )
        self._label, self._total, self._unit = label, total, unit
        self._start = self._last
        self.done = 0

    def to(self, done: int, *, note: str = "") -> None:
        """Say how much is done by now."""
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(done - self.done)
        self.done = done
        now = time.monotonic()
        if self._plain and not self._quiet and now - self._last >= PLAIN_SECONDS:
            self._last = now
            click.echo(self._line(now, note), err=True)

    def _line(self, now: float, note: str) -> str:
        share = self.done / self._total if self._total else 1.0
        left = f", {(now - self._start) * (1 / share - 1):.0f} s left" if share else ""
        return f"{self._label}: {share:.0%}{left}" + (f", {note}" if note else "")

    def close(self) -> None:
        """Leave it as it is."""
        self._bar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def watching(look: Callable[[], None], *, seconds: float = 0.5) -> Iterator[None]:
    """Call a function regularly from another thread while a block runs."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(seconds):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
