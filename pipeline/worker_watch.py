"""Notices a worker process that was killed, for which Beam would wait for ever.

A worker signs on with a file named after its process and removes it when it ends in its
own time. A file whose process is gone tells of one that did not.
"""

import os
import signal
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

WORKER_KILLED = (
    "A worker process was killed, perhaps for want of memory; what is finished is "
    "kept: run the same command again, with fewer --workers if memory is short."
)

_SECONDS = 1.0
_PREFIX = "worker-"


def sign_on(folder: Path) -> Path:
    """Note that this process works in a folder; returns the file to remove."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / f"{_PREFIX}{os.getpid()}"
    mark.touch()
    return mark


def killed_workers(folder: Path) -> list[int]:
    """The processes that signed on and are gone without having signed off."""
    numbers = (int(mark.name[len(_PREFIX) :]) for mark in folder.glob(f"{_PREFIX}*"))
    return [number for number in numbers if not _is_alive(number)]


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

    Attributes:
        killed: Whether that is why the main thread was interrupted.
    """

    def __init__(self, folder: Path) -> None:
        self.killed = False
        self._folder = folder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(_SECONDS):
            if killed_workers(self._folder):
                self.killed = True
                # A real signal, for the main thread waits in a system call.
                main = threading.main_thread().ident or 0
                signal.pthread_kill(main, signal.SIGINT)
                return

    def __enter__(self) -> Self:
        # Marks of an earlier job that was killed as a whole.
        for mark in self._folder.glob(f"{_PREFIX}*"):
            mark.unlink(missing_ok=True)
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
