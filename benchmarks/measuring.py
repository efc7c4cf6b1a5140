"""Programs in processes of their own: watched, asked, timed.

A question is JSON after --worker, answered on the last line of the process.
"""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

# How often memory is looked at.
SAMPLE_SECONDS = 0.1


class Run(NamedTuple):
    """What a program took.

    Attributes:
        processor: User and system time of all its processes.
        megabytes: Most of the sum of their proportional shares of memory (PSS).
    """

    seconds: float
    processor: float
    megabytes: float


def run_albert(*arguments: str, root: int | None = None) -> Run:
    """Run a command of albert to its end; memory as `run_watched` has it.

    Raises:
        SystemExit: It failed; with what it said.
    """
    return run_watched(albert(*arguments), root=root)


def albert(*arguments: str) -> list[str]:
    """A command of albert, of the code in this folder."""
    return [sys.executable, "-c", "from cli.main import cli; cli()", *arguments]


def run_watched(command: Sequence[str], *, root: int | None = None) -> Run:
    """Run a program to its end.

    Args:
        root: A process whose memory, with that of all below it, is watched in place of
            the program's.

    Raises:
        SystemExit: It failed; with what it said.
    """
    before, start = _processor_seconds(), time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        memory = _PeakMemory(root or process.pid)
        memory.start()
        said, _ = process.communicate()
        seconds = time.perf_counter() - start
        memory.stop()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{said}")
    return Run(seconds, _processor_seconds() - before, memory.peak / 1e6)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class _PeakMemory(threading.Thread):
    """Sums the memory of a process and all below it, again and again.

    Attributes:
        peak: The largest sum so far, in bytes.
    """

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._process = process
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(SAMPLE_SECONDS):
            total = sum(map(proportional_bytes, process_tree(self._process)))
            self.peak = max(self.peak, total)

    def stop(self) -> None:
        """Stop looking."""
        self._stopped.set()
        self.join()


def process_tree(root: int) -> Iterator[int]:
    """A process and all that descend from it."""
    parents = {
        int(name): parent
        for name in os.listdir("/proc")
        if name.isdigit() and (parent := _parent(int(name)))
    }
    found = [root]
    while found:
        process = found.pop()
        yield process
        found += [child for child, parent in parents.items() if parent == process]


def _parent(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    # Behind the name, which may hold anything: state, parent.
    return int(status.rpartition(")")[2].split()[1])


def proportional_bytes(process: int) -> int:
    """The share of memory of a process, pages divided by who shares them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def ask(module: str, question: Any, **how: Any) -> Any:
    """What a program of this folder answers in a process of its own.

    Args:
        question: The value of its --worker, anything that JSON has.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    with start(module, question, **how) as process:
        return answer_of(process)


def start(
    module: str,
    question: Any,
    *,
    environment: Mapping[str, str] = MappingProxyType({}),
    **pipes: int,
) -> "subprocess.Popen[str]":
    """Have a program of this folder begin to answer.

    Args:
        environment: Variables that it has beside those of this process.
        pipes: `stdin` and `stderr`, unless they are those of this process.
    """
    return subprocess.Popen(
        [sys.executable, "-m", module, "--worker", json.dumps(question)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        text=True,
        **pipes,
    )


def answer_of(process: "subprocess.Popen[str]") -> Any:
    """The answer of a program that was started.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    said, complaint = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(
            process.returncode, process.args, output=said, stderr=complaint
        )
    return json.loads(said.splitlines()[-1])


def seconds(work: Callable[[], Any], *, clock: Callable[[], float] = time.perf_counter) -> float:
    """The time that some work takes, by a clock."""
    start = clock()
    work()
    return clock() - start
