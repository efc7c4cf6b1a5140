"""The command line as tests call it, in this process."""

import contextlib
import io
import os
import pydoc_data.topics
import select
import sys
import threading
from pathlib import Path
from typing import TextIO
from unittest import mock

from cli.main import cli

VOCAB = ("--vocab-size", 400, "--workers", 1)

# A model that is trained in a second.
LITTLE_MODEL = (
    *("--model", "tiny", "--set", "num_hidden_layers=1"),
    *("--set", "hidden_size=32", "--set", "intermediate_size=64"),
)


def write_topics(folder: Path, *, count: int) -> None:
    """The first topics of Python's language reference, one a file."""
    folder.mkdir()
    for name, text in sorted(pydoc_data.topics.topics.items())[:count]:
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")


# With more the first evaluation of a run would read only some of the examples.
EVAL_FRACTION = 0.15


def make_small(folder: Path) -> None:
    """A folder with texts, a vocabulary and a data set, made by the commands."""
    folder.mkdir(exist_ok=True)
    write_topics(folder / "text", count=24)
    run("vocab", "--text", folder / "text", *VOCAB, "--output", folder / "vocab")
    make_data(folder, "--eval-fraction", EVAL_FRACTION, output=folder / "data")


def make_data(small: Path, *arguments, output: Path, text: Path | str | None = None) -> str:
    """Make data from the texts of a folder, or others, with its vocabulary; what is said."""
    copies = () if "on-the-fly" in arguments else ("--dupe-factor", 2)
    return run(
        *("make-data", "--text", text or small / "text", "--vocab", small / "vocab"),
        *("--max-seq-length", 32, "--workers", 1, *copies),
        *("--output", output),
        *arguments,
    )


def run(*arguments) -> str:
    """What a command says, once it has succeeded."""
    code, said = attempt(*arguments)
    assert code == 0, said
    return said


def refused(*arguments, code: int = 2) -> str:
    """What a command says that ends with an exit code: 2 for what was typed or set."""
    found, said = attempt(*arguments)
    assert found == code, said
    return said


def attempt(*arguments, stdout: TextIO | None = None) -> tuple[int, str]:
    """The exit code of a command in this process, and what it says, but for another `stdout`."""
    said = io.StringIO()
    argv = sys.argv
    sys.argv = ["albert", *map(str, arguments)]
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(stdout or said):
            cli(sys.argv[1:])
    except SystemExit as end:
        return int(end.code or 0), said.getvalue()
    finally:
        sys.argv = argv
    raise AssertionError("a command always exits")


def dialogue(texts, *arguments) -> list[str]:
    """A command's answers to a program that sends a line, and the next once it has the answer."""
    answers: list[str] = []
    (lines, to_command), (from_command, said) = os.pipe(), os.pipe()

    def ask() -> None:
        with open(to_command, "w") as sending, open(from_command) as receiving:
            for text in texts:
                sending.write(f"{text}\n")
                sending.flush()
                if not select.select([receiving], [], [], 60)[0]:
                    return
                answers.append(receiving.readline())

    asking = threading.Thread(target=ask)
    # A command takes the buffer out of it.
    stdout = open(said, "w", closefd=False)  # noqa: SIM115
    with open(lines) as stdin, mock.patch.object(sys, "stdin", stdin):
        asking.start()
        code, errors = attempt(*arguments, stdout=stdout)
        asking.join()
    os.close(said)
    assert code == 0, errors
    return answers


def contents(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
