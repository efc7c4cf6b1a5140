"""Worker processes on this machine, which speak through pipes.

Each is a Python of its own that imports nothing from the current folder. It reads one
request after the other from its standard input, and writes each answer to its standard
output; no port is opened. It ends with its parent, however that ends. Nothing waits for
one that ends by itself: its end is that of the pipe.
"""

import contextlib
import ctypes
import logging
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Self, TypeVar

from schemas.errors import AlbertError

# -P: what lies in the current folder must not stand in for our modules.
_COMMAND = ("-P", "-m", "pipeline.core.worker_processes")

Process = subprocess.Popen[bytes]
Result = TypeVar("Result")


class WorkerProcesses:
    """Some worker processes, which end with the block that uses them.

    Args:
        begin: Called in each before all else, with what is given.
        remedy: What to do where one ended by itself.
        if_killed: What to do besides where one was killed.
    """

    def __init__(
        self,
        count: int,
        begin: Callable[..., object] = int,
        *given: Any,
        remedy: str = "run the same command again",
        if_killed: str = "",
    ) -> None:
        self._remedy, self._if_killed = remedy, if_killed
        self._processes = [
            subprocess.Popen(
                [sys.executable, *_COMMAND, str(os.getpid())],
                env=os.environ | {"PYTHONSAFEPATH": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for _ in range(count)
        ]
        self._idle: SimpleQueue[Process] = SimpleQueue()
        # As many answers are waited for at a time.
        self._threads = ThreadPoolExecutor(count)
        self._begun = {
            process.pid: self._threads.submit(self._ask, process, begin, given, {})
            for process in self._processes
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """End them at once, whatever they do."""
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.communicate()

    def submit(self, compute: Callable[..., Result], *given: Any, **how: Any) -> Future[Result]:
        """Have the next that is idle compute something; its errors are raised by the result."""
        return self._threads.submit(self._ask_idle, compute, given, how)

    def _ask_idle(self, *request: Any) -> Any:
        process = self._idle.get()
        if error := self._begun[process.pid].exception():
            self._idle.put(process)
            raise error
        return self._ask(process, *request)

    def _ask(self, process: Process, *request: Any) -> Any:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(pickle.dumps(request))
            process.stdin.flush()
            result, error = pickle.load(process.stdout)
        # Where it has ended, also before an earlier request: that one has closed the pipes.
        except (BrokenPipeError, EOFError, ValueError, pickle.UnpicklingError):
            raise self._ended_early(process) from None
        finally:
            self._idle.put(process)
        if error is not None:
            raise error
        return result

    def _ended_early(self, process: Process) -> AlbertError:
        """What to say of a worker that ended before its time."""
        _, said = process.communicate()
        if process.returncode < 0:
            what, remedy = "was killed, perhaps for want of memory", self._remedy + self._if_killed
        else:
            lines = said.decode(errors="replace").strip().splitlines()
            reason = f" ({lines[-1]})" if lines else ""
            what, remedy = f"ended with code {process.returncode}{reason}", self._remedy
        return AlbertError(f"A worker process {what}; {remedy}.")


def _work() -> None:
    """Answer requests until there are no more."""
    # The parent speaks to the person, and is told of errors in answers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)
    _end_with_parent(int(sys.argv.pop()))
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a library prints must not get among the answers, nor fill a pipe.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nowhere, stream)
    with contextlib.suppress(EOFError):
        while True:
            compute, given, how = pickle.load(requests)
            # That it cannot begin, the parent hears.
            os.dup2(nowhere, 2)
            pickle.dump(_computed(compute, given, how), answers)
            answers.flush()


# Of prctl: the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


def _end_with_parent(parent: int) -> None:
    """Have the system end this process with its parent; now if that has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _computed(
    compute: Callable[..., Any], given: tuple[Any, ...], how: dict[str, Any]
) -> tuple[Any, BaseException | None]:
    """The result, or the error if there is one, in a form that can be pickled."""
    try:
        return compute(*given, **how), None
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return None, RuntimeError(f"{type(error).__name__}: {error}")
        return None, error


if __name__ == "__main__":
    _work()
