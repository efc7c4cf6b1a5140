"""Lines where there is no terminal, a bar where there is, nothing when quiet."""

import io

import pytest

from albert_tf import progress
from albert_tf.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, *, quiet=False):
    monkeypatch.setattr(progress.sys, "stderr", stream)
    with Progress(quiet=quiet) as bar:
        bar.say("hello")
        bar.start(total=4, done=2)
        bar.show("step 1", is_last=False)
        bar.advance(1)
        bar.show("step 2", is_last=False)
        bar.show("step 3", is_last=True)
    return stream.getvalue()


def test_without_a_terminal_lines_are_shown_now_and_then_and_the_last(monkeypatch):
    assert shown(monkeypatch, io.StringIO()) == "hello\nstep 1\nstep 3\n"


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_quiet_shows_nothing(monkeypatch, stream):
    assert shown(monkeypatch, stream(), quiet=True) == ""


def test_at_a_terminal_there_is_a_bar(monkeypatch):
    text = shown(monkeypatch, Terminal())
    assert "3/4" in text
    assert "step 3" in text
