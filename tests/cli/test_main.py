"""How every command ends when it is told to."""

import errno
import os
import signal

import pytest

from cli.main import ENDING, AlbertGroup


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
def test_a_signal_ends_a_command_in_a_sentence(ended, capsys, number):
    assert ended(number) == 143
    assert capsys.readouterr().err == "Error: Terminated; run the same command again.\n"


def test_a_closed_terminal_does_not_end_what_nohup_began(ended):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert ended(signal.SIGHUP) == 0


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EFBIG, errno.ENOSPC])
def test_a_limit_is_told_where_no_file_is_named(number, capsys):
    def refused():
        raise OSError(number, os.strerror(number))

    group = AlbertGroup()
    group.command("work")(refused)
    with pytest.raises(SystemExit) as end:
        group.main(["work"])
    assert end.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("Error: A limit or a full disk is in the way: ")
    assert os.strerror(number) in said
