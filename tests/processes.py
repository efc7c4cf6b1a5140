"""Commands in processes of their own: what they start, and when that has ended."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from schemas.layout import LOCK

# What a machine may take that does other things beside.
LONG = 120

ALBERT = (sys.executable, "-W", "ignore", "-c", "from cli.main import cli; cli()")

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")


def albert(*arguments, **settings):
    """A command that has ended, with all that it and its workers wrote."""
    return run_python("from cli.main import cli; cli()", *arguments, **settings)


def run_python(program, *arguments, warn="ignore", **settings):
    """A program that has ended, with all that it wrote."""
    command = (sys.executable, "-W", warn, "-c", program, *map(str, arguments))
    settings = {"capture_output": True, "text": True, "check": False, **settings}
    return subprocess.run(command, **settings)


def ended(process):
    """What a process said, once it has ended; it does not outlive the test."""
    try:
        return process.communicate(timeout=LONG)[1]
    finally:
        process.kill()
        process.wait()


def children_of(process):
    """The processes that any thread of one has started, as long as it runs."""
    found = []
    for children in Path(f"/proc/{process.pid}/task").glob("*/children"):
        try:
            found += map(int, children.read_text().split())
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
    return found


def left_in(scratch):
    """What processes that have ended left in a folder for temporary files.

    A process that is killed before it locks its folder, or while it removes it, leaves
    one without a lock, which goes when it is old.
    """
    return [
        path
        for path in scratch.iterdir()
        if (path / LOCK).exists() or not path.name.startswith("albert-")
    ]


def session_with(number):
    """The session of a process that still runs, or nothing."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[3]) if fields[0] != "Z" else None


def session_of(leader):
    """The processes of a session that still run."""
    numbers = (int(process.name) for process in Path("/proc").glob("[0-9]*"))
    return [number for number in numbers if session_with(number) == leader]


def wait_until(holds, *, seconds=LONG):
    """Wait for something that takes others a moment."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def await_end_of(numbers):
    """Wait for processes that end with another."""
    wait_until(lambda: all(session_with(number) is None for number in numbers))
