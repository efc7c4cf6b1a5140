"""Worker processes of a job on this machine, which speak through pipes.

Each is a Python of its own that imports neither Beam nor gRPC, and nothing from the
current folder. It reads the job and then one request after the other from its standard
input, and writes each answer to its standard output; no port is opened. It ends with
its parent, however that ends. One that ends by itself ends the job: there is nothing to
wait for, because workers leave nothing half-written under a final name.
"""

import importlib
import logging
import os
import pickle
import selectors
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from pipeline.core.machine import end_with_parent
from schemas.errors import AlbertError

# -P: what lies in the current folder must not stand in for our modules.
_COMMAND = ("-P", "-m", "pipeline.job.worker_processes")
# What workers compute; it imports this module.
_WORK = "pipeline.job.make_data"

Process = subprocess.Popen[bytes]
# What a worker calls: with an element and the job, for the results.
Compute = Callable[[Any, Any], Iterable[Any]]


class WorkerProcesses:
    """The worker processes of one job, which end with the block that uses them."""

    def __init__(self, count: int) -> None:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.communicate()

    def tell(self, job: Any) -> None:
        """Hand every worker what all its requests share."""
        message = pickle.dumps(job)
        for process in self._processes:
            _send(process, message)

    def map(self, compute: Compute, elements: Iterable[Any]) -> Iterator[Any]:
        """The results for all elements, as they come; errors are raised here."""
        waiting = deque(elements)
        with selectors.DefaultSelector() as busy:
            for process in self._processes[: len(waiting)]:
                _send(process, pickle.dumps((compute, waiting.popleft())))
                assert process.stdout is not None
                busy.register(process.stdout, selectors.EVENT_READ, process)
            while busy.get_map():
                for key, _ in busy.select():
                    try:
                        results, error = pickle.load(key.data.stdout)
                    except (EOFError, pickle.UnpicklingError):
                        raise _ended_early(key.data) from None
                    if error is not None:
                        raise error
                    if waiting:
                        _send(key.data, pickle.dumps((compute, waiting.popleft())))
                    else:
                        busy.unregister(key.fileobj)
                    yield from results


def _send(process: Process, message: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(message)
        process.stdin.flush()
    except BrokenPipeError:
        raise _ended_early(process) from None


def _ended_early(process: Process) -> AlbertError:
    """What to say of a worker that ended before its time."""
    _, said = process.communicate()
    if process.returncode < 0:
        return AlbertError(
            "A worker process was killed, perhaps for want of memory; what is finished "
            "is kept: run the same command again, with fewer --workers if memory is "
            "short."
        )
    lines = said.decode(errors="replace").strip().splitlines()
    reason = f" ({lines[-1]})" if lines else ""
    return AlbertError(
        f"A worker process ended with code {process.returncode}{reason}; what is "
        "finished is kept: run the same command again."
    )


def _work() -> None:
    """Answer requests until there are no more."""
    # The parent speaks to the person, and is told of errors in answers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)
    end_with_parent(int(sys.argv.pop()))
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a library prints must not get among the answers, nor fill a pipe.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nowhere, stream)
    # Imported here rather than with the first request, while the parent imports Beam.
    importlib.import_module(_WORK)

    try:
        job = pickle.load(requests)
        os.dup2(nowhere, 2)
        while True:
            compute, element = pickle.load(requests)
            pickle.dump(_computed(compute, element, job), answers)
            answers.flush()
    except EOFError:
        return


def _computed(compute: Compute, element: Any, job: Any) -> tuple[list[Any], BaseException | None]:
    """The results, or the error if there is one, in a form that can be pickled."""
    try:
        return list(compute(element, job)), None
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return [], RuntimeError(f"{type(error).__name__}: {error}")
        return [], error


if __name__ == "__main__":
    _work()
