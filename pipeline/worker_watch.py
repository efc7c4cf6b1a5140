"""Ends all workers when one of them was killed or the job is interrupted.

Beam would wait: for ever for a killed worker, and for the others until each has done
all that it was given. A worker signs on with a file named after its process and removes
it when it ends in its own time. A file whose process is gone tells of one that did not.
"""

import contextlib
import logging
import os
import signal
import threading
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

WORKER_KILLED = (
    "A worker process was killed, perhaps for want of memory; what is finished is "
    "kept: run the same command again, with fewer --workers if memory is short."
)

# Not SIGINT, which a shell lets its jobs in the background ignore.
_KILLED = signal.SIGUSR1
_SECONDS = 1.0
_AGAIN_SECONDS = 4.0
_PREFIX = "worker-"


def sign_on(folder: Path) -> Path:
    """Note that this process works in a folder; returns the file to remove."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / f"{_PREFIX}{os.getpid()}"
    mark.touch()
    return mark


def signed_on(folder: Path) -> list[int]:
    """The processes that signed on and have not signed off."""
    return [int(mark.name[len(_PREFIX) :]) for mark in folder.glob(f"{_PREFIX}*")]


def killed_workers(folder: Path) -> list[int]:
    """Those of them that are gone."""
    return [number for number in signed_on(folder) if not _is_alive(number)]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class WorkerWatch:
    """While it is entered, a killed worker interrupts the main thread.

    Any interrupt, that or Ctrl-C or SIGTERM, ends the workers at once. They leave
    nothing half-written under a final name, so that there is nothing to wait for.

    Attributes:
        killed: Whether a killed worker was what interrupted the main thread.
    """

    def __init__(self, folder: Path) -> None:
        self.killed = False
        self._folder = folder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._handlers: dict[int, Any] = {}
        self._number = 0  # of the signal that interrupts, once one does

    def _watch(self) -> None:
        while not self._number and not self._stop.wait(_SECONDS):
            if killed_workers(self._folder):
                self.killed = True
                self._number = _KILLED
        # A real signal, for the main thread waits in a system call; and again, for a
        # worker may have been about to sign on, and Beam may wait for it once more.
        main = threading.main_thread().ident or 0
        wait = 0.0 if self.killed else _AGAIN_SECONDS
        while not self._stop.wait(wait):
            signal.pthread_kill(main, self._number)
            wait = _AGAIN_SECONDS

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._number = number
        # Beam's threads complain of workers that are gone, until the process ends.
        logging.disable(logging.CRITICAL)
        for process in signed_on(self._folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        if number == _KILLED:
            raise KeyboardInterrupt
        self._handlers[number](number, frame)

    def __enter__(self) -> Self:
        # Beam watches each worker from a thread, and reports errors to the main one.
        threading.excepthook = lambda _: None
        # Marks of an earlier job that was killed as a whole.
        for mark in self._folder.glob(f"{_PREFIX}*"):
            mark.unlink(missing_ok=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):
                self._handlers[number] = signal.signal(number, self._interrupt)
        self._handlers[_KILLED] = signal.signal(_KILLED, self._interrupt)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        if kind is None:
            threading.excepthook = threading.__excepthook__
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
