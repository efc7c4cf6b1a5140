"""No command listens on a port, and none runs what lies in the current folder."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commands import LITTLE_MODEL
from tests.exported_runs import SMALL_RUN, write_run

PROGRAM = "import sys; from cli.main import cli; cli(sys.argv[1:])"
LISTENS = "0A"

# Modules that children of a command import by name.
MODULES = (
    *("pipeline", "schemas", "multiprocessing", "random", "numpy", "tensorflow"),
    *("apache_beam", "sentencepiece", "keras", "socket", "sitecustomize"),
)

COMMANDS = {
    "vocab": (
        *("vocab", "--text", "text", "--vocab-size", 400, "--workers", 2),
        *("--output", "out-vocab"),
    ),
    "make-data": (
        *("make-data", "--text", "text", "--vocab", "vocab"),
        *("--output", "out-data"),
        *("--max-seq-length", 32, "--workers", 2),
    ),
    "make-data --plan": (
        *("make-data", "--text", "text", "--vocab", "vocab", "--plan"),
    ),
    "pretrain": (
        *("pretrain", "--data", "data", "--output", "out-run", *LITTLE_MODEL),
        *("--steps", 1, "--batch-size", 2, "--eval-examples", 2),
    ),
    "evaluate": ("evaluate", "run", "--data", "data", "--eval-examples", 2),
    "fill-mask": ("fill-mask", "run", "The [MASK] is here."),
    "export": ("export", "run", "--to", "hf", "--output", "out-hf"),
    "inspect": ("inspect", "data", "--verify"),
}


@pytest.fixture(scope="module")
def folder(small, tmp_path_factory):
    """A folder with inputs, and a program in the place of each module."""
    folder = tmp_path_factory.mktemp("doors")
    for name in ("text", "vocab", "data"):
        (folder / name).symlink_to(small / name)
    write_run(folder / "run", SMALL_RUN, small)
    for name in MODULES:
        program = f"open({str(folder / 'ran')!r}, 'a').write({name!r})\n"
        (folder / f"{name}.py").write_text(program, encoding="utf-8")
    return folder


def sockets_of(session):
    """What listens of the processes of a session."""
    opened = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(process.name)) == session:
                opened |= {os.readlink(path) for path in (process / "fd").iterdir()}
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [
        line[1]
        for line in lines
        if line[3] == LISTENS and f"socket:[{line[9]}]" in opened
    ]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="Linux tells it there")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_opens_no_port_and_runs_nothing_of_the_folder(folder, name):
    command = subprocess.Popen(
        [
            *(sys.executable, "-P", "-W", "ignore", "-c", PROGRAM),
            *map(str, COMMANDS[name]),
        ],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    found = []
    while command.poll() is None:
        found += sockets_of(command.pid)
        time.sleep(0.05)
    assert command.returncode == 0
    assert found == []
    assert not (folder / "ran").exists(), (folder / "ran").read_text("utf-8")
    assert sockets_of(command.pid) == []
