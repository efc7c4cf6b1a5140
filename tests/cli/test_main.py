"""How every command ends: at a signal, at a limit, and where its streams lead."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from cli.main import AlbertGroup
from schemas.errors import ENDING
from tests.commands import attempt
from tests.processes import ALBERT


@pytest.fixture
def ended():
    """Runs a command that gets a signal; its exit code. Handlers are put back."""
    # Where nohup began the tests, SIGHUP is ignored.
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING}

    def run(number):
        group = AlbertGroup()
        group.command("wait")(lambda: os.kill(os.getpid(), number))
        with pytest.raises(SystemExit) as end:
            group.main(["wait"])
        return end.value.code

    yield run
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_a_command_but_no_closed_terminal_what_nohup_began(ended, capsys, number):
    assert ended(number) == 143
    assert capsys.readouterr().err == "Error: Terminated; run the same command again.\n"
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert ended(signal.SIGHUP) == 0


LIMIT = (
    "A limit or a full disk is in the way: {0.strerror}; raise the limit (ulimit -a "
    "shows it), or make room, and run the same command again."
)
NO_MEMORY = (
    "There is not enough memory, or not enough threads are allowed; give the command "
    "more, or fewer --workers (vocab, make-data) or a smaller --micro-batch-size."
)
OF_SYSTEM = {
    "files": (OSError(errno.EMFILE, "Too many"), LIMIT),
    "size": (OSError(errno.EFBIG, "Too large"), LIMIT),
    "disk": (OSError(errno.ENOSPC, "No space"), LIMIT),
    "disk of a file": (OSError(errno.ENOSPC, "No space", "a/b"), "a/b cannot be used: No space."),
    "memory": (OSError(errno.ENOMEM, "No memory"), NO_MEMORY),
    "memory of Python": (MemoryError(), NO_MEMORY),
    "memory of a GPU": (RuntimeError("RESOURCE_EXHAUSTED: Out of memory\n8 GiB"), NO_MEMORY),
    "cuDNN": (
        NotImplementedError("cuDNN is not detected."),
        "cuDNN failed (cuDNN is not detected); --precision float32 does without its attention.",
    ),
}


@pytest.mark.parametrize(("error", "sentence"), OF_SYSTEM.values(), ids=OF_SYSTEM)
def test_what_the_system_refuses_is_one_sentence(error, sentence, capsys):
    def refused():
        raise error

    group = AlbertGroup()
    group.command("work")(refused)
    with pytest.raises(SystemExit) as end:
        group.main(["work"])
    assert end.value.code == 1
    assert capsys.readouterr().err == f"Error: {sentence.format(error)}\n"


SIGNALLED_AT = """
import os, sys
sys.argv[0] = "albert"
class Signal:
    def __del__(self):
        os.kill(os.getpid(), NUMBER)
class Finder:
    def find_spec(self, name, *_):
        if name != "MODULE":
            return
        sys.meta_path.remove(self)
        if HOW == "lost":
            Signal()
            return
        try:
            os.kill(os.getpid(), NUMBER)
        except BaseException:
            if HOW == "hidden":
                raise ImportError("half a library")
            raise
sys.meta_path.insert(0, Finder())
from cli.main import cli
cli()
"""
SENTENCES = {signal.SIGINT: (130, "Interrupted"), signal.SIGTERM: (143, "Terminated")}


@pytest.mark.parametrize(
    ("number", "module", "how"),
    [
        (signal.SIGINT, "click", "raised"),
        (signal.SIGTERM, "click", "raised"),
        (signal.SIGINT, "cli.commands.report", "raised"),
        (signal.SIGTERM, "keras", "raised"),
        (signal.SIGTERM, "keras", "hidden"),
        (signal.SIGINT, "keras", "hidden"),
        (signal.SIGINT, "keras", "lost"),
    ],
)
def test_a_signal_while_modules_are_imported_is_a_sentence(number, module, how):
    code, word = SENTENCES[number]
    program = SIGNALLED_AT.replace("NUMBER", str(int(number))).replace("MODULE", module)
    program = program.replace("HOW", repr(how))
    command = [sys.executable, "-W", "ignore", "-c", program, *PLAN, "--measure"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # click begins a new line after ^C.
    said = (done.returncode, done.stdout, done.stderr.lstrip())
    assert said == (code, "", f"Error: {word}; run the same command again.\n")


@pytest.mark.parametrize("typed", ["plan --set", "plan --model", "plan --steps", "inspect", ""])
@pytest.mark.parametrize("value", [9999 * "x", 9999 * "x "], ids=["a word", "words"])
def test_an_error_shows_at_most_a_line_of_a_value(typed, value):
    code, said = attempt(*typed.split(), value)
    assert code
    assert len(said) < 1500


def test_a_text_does_nothing_to_a_terminal(tmp_path):
    (tmp_path / "a.txt").write_text("He \x9b2Jcame\u202e.\n", "utf-8")
    _, shown, said = albert("inspect", "--text", tmp_path / "a.txt", "--input-format", "lines")
    assert "He \\u009b2Jcame\\u202e." in shown
    assert not set(shown + said) & {"\u202e", "\x9b"}


# Standard output and standard error that are full, closed or of another encoding.

PLAN = ("plan", "--model", "tiny")


def albert(*arguments, streams="", environment=()):
    """How a command ends whose streams a shell has redirected."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {streams}', "sh", *ALBERT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **dict(environment)},
    )
    return done.returncode, done.stdout, done.stderr


def test_an_output_that_cannot_be_written_or_lacks_its_characters_is_one_sentence(small):
    code, _, said = albert(*PLAN, streams="> /dev/full")
    assert code == 1
    assert said == "Error: The output cannot be written: No space left on device.\n"
    environment = {"PYTHONIOENCODING": "iso8859-5"}
    code, _, said = albert("inspect", small / "data", environment=environment)
    assert code == 1
    *_, sentence = said.splitlines()
    assert sentence.startswith(r"Error: '\x")
    assert sentence.endswith("of the output; set PYTHONIOENCODING=utf-8.")


@pytest.mark.parametrize("streams", ["<&- 2>&-", "2> /dev/full"])
def test_a_command_works_where_nobody_hears_it(small, tmp_path, streams):
    output = tmp_path / "v"
    given = ("--text", small / "text", "--vocab-size", 400, "--workers", 1, "--output", output)
    code, _, _ = albert("vocab", *given, streams=streams)
    assert code == 0
    model = (output / "spiece.model").read_bytes()
    assert model == (small / "vocab/spiece.model").read_bytes()


def test_an_error_that_nobody_hears_keeps_its_exit_code(tmp_path):
    code, said, _ = albert("inspect", tmp_path / "none", streams="2>&- >&-")
    assert (code, said) == (2, "")
