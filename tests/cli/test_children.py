"""The processes and folders that commands make: what they run, and when they end."""

import itertools
import os
import signal
import subprocess
import sys
import time

import pytest

from pipeline.job import estimate
from schemas.files import scratch_folder
from schemas.layout import LOCK
from tests.commands import run
from tests.processes import await_end_of, children_of, ended, needs_proc, wait_until


@pytest.fixture
def albert(tmp_path):
    """Starts a command as the installed program does, in a folder of its own.

    With `before`, some lines run first.
    """
    for name in ("bin", "current", "scratch"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / "albert"

    def start(*arguments, before=""):
        program.write_text(
            f"{before}from cli.main import cli\nif __name__ == '__main__':\n    cli()\n"
        )
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", program, *map(str, arguments)],
            cwd=tmp_path / "current",
            env=os.environ | {"TMPDIR": str(tmp_path / "scratch")},
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def vocab(small, output, *options):
    given = ("--text", small / "text", "--vocab-size", 400)
    return "vocab", *given, *options, "--output", output


def make_data(small, output, *options):
    given = ("--text", small / "text", "--vocab", small / "vocab", "--max-seq-length", 32)
    return "make-data", *given, *options, "--output", output


# Training that is never done, so that it is killed in its middle.
ENDLESS = """
import time
import sentencepiece
def train(**settings):
    open("training", "w").close()
    time.sleep(600)
sentencepiece.SentencePieceTrainer.Train = train
"""


@needs_proc
def test_a_killed_vocab_leaves_neither_process_nor_folder(albert, small, tmp_path, monkeypatch):
    scratch, output = tmp_path / "scratch", tmp_path / "d"
    # Python imports it as it starts, in a worker too.
    (tmp_path / "sitecustomize.py").write_text(ENDLESS)
    paths = filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        command = albert(*vocab(small, output))
    wait_until(lambda: command.poll() is not None or [*scratch.glob("*/training")])
    assert command.poll() is None
    children = children_of(command)
    command.kill()
    ended(command)
    assert children
    await_end_of(children)
    assert len(list(scratch.iterdir())) == 1
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    run(*vocab(small, output, "--workers", 1))
    assert list(scratch.iterdir()) == []
    assert (output / "spiece.model").read_bytes() == (small / "vocab" / "spiece.model").read_bytes()


@needs_proc
def test_a_killed_plan_leaves_nothing_to_the_next(albert, small, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    command = albert(*make_data(small, tmp_path / "d", "--plan"))
    while command.poll() is None and not list(scratch.glob(f"*/{LOCK}")):
        time.sleep(0.001)
    command.send_signal(signal.SIGKILL)
    ended(command)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setattr(estimate, "_start_seconds", lambda: 1.0)
    run(*make_data(small, tmp_path / "d", "--plan"))
    assert list(scratch.iterdir()) == []


def test_a_scratch_folder_in_use_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder("vocab") as first:
        (first / "sentences.txt").write_text("")
        with scratch_folder("vocab") as second:
            assert {first, second} == set(tmp_path.iterdir())
        assert list(tmp_path.iterdir()) == [first]
    assert list(tmp_path.iterdir()) == []


def test_of_what_is_named_as_scratch_folders_only_an_old_one_goes(tmp_path, monkeypatch):
    """Another process may be about to lock a new one, and a link may lead anywhere."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    new, old, link = (tmp_path / f"tmp/albert-vocab-{name}" for name in ("new", "old", "link"))
    kept = tmp_path / "kept"
    for each in (new, old, kept):
        each.mkdir(parents=True)
    for each in (old, kept):
        os.utime(each, (1, 1))
    link.symlink_to(kept)
    with scratch_folder("vocab"):
        assert new.exists()
        assert not old.exists()
        assert link.is_symlink()
        assert kept.is_dir()


COMMANDS = {"vocab": (vocab, 2), "make-data": (make_data, 1), "two workers": (make_data, 2)}

ADDRESS_SPACE = (
    "import resource\nresource.setrlimit(resource.RLIMIT_AS, ({0}, resource.RLIM_INFINITY))\n"
)
THREADS = (
    "import _thread, itertools, threading\n"
    "start, count = _thread.start_new_thread, itertools.count()\n"
    "def limited(*arguments):\n"
    "    if next(count) >= {0}:\n"
    '        raise RuntimeError("can\'t start new thread")\n'
    "    return start(*arguments)\n"
    "if __name__ == '__main__':\n"
    "    threading._start_new_thread = limited\n"
)


LIMITS = {
    "300 MiB": ADDRESS_SPACE.format(300 << 20),
    "470 MiB": ADDRESS_SPACE.format(470 << 20),
    "2 threads": THREADS.format(2),
}
# The others are tried with the slow tests.
OFTEN = {("300 MiB", "vocab"), ("2 threads", "two workers")}


@pytest.mark.parametrize(
    ("limit", "name"),
    [
        pytest.param(*case, marks=() if case in OFTEN else pytest.mark.slow)
        for case in itertools.product(LIMITS, COMMANDS)
    ],
)
def test_a_limit_of_memory_or_threads_ends_a_command(albert, small, tmp_path, limit, name):
    """With one sentence and 1, neither never nor in a crash."""
    arguments, workers = COMMANDS[name]
    given = arguments(small, tmp_path / "d", "--workers", workers)
    command = albert(*given, before=LIMITS[limit])
    said = ended(command)
    if command.returncode == 0:
        # Some limits are enough for some commands.
        return
    assert command.returncode == 1, said
    assert [line[:7] for line in said.splitlines()].count("Error: ") == 1
