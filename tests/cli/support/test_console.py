"""Lines where there is no terminal, a bar where there is, nothing when quiet."""

import io

import pytest

from cli.support import console
from cli.support.console import Console


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """The time in seconds, moved by hand."""
    now = [100.0]
    monkeypatch.setattr(console, "LINE_SECONDS", 10.0)
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    return now


def trained(monkeypatch, clock, stream, *, quiet=False):
    monkeypatch.setattr(console.sys, "stderr", stream)
    with Console(quiet=quiet) as progress:
        progress.say("hello")
        progress.start("", total=4, done=2)
        for number in (1, 2, 3):
            progress.advance(1)
            progress.show(f"step {number}")
            clock[0] += 6
        progress.show("step 4", is_last=True)
    return stream.getvalue()


class Closed(io.StringIO):
    """What nobody reads any more."""

    def write(self, text):
        raise BrokenPipeError


def test_without_a_terminal_there_is_a_line_now_and_then_and_the_last(monkeypatch, clock):
    said = trained(monkeypatch, clock, io.StringIO())
    assert said == "hello\nstep 3\nstep 4\n"
    assert trained(monkeypatch, clock, Closed()) == ""
    for stream in (io.StringIO, Terminal):
        assert trained(monkeypatch, clock, stream(), quiet=True) == ""


def test_at_a_terminal_there_is_a_bar_below_what_is_said_with_the_status(monkeypatch, clock):
    monkeypatch.setattr(console, "DELAY_SECONDS", 0)
    assert trained(monkeypatch, clock, Terminal()).rstrip().endswith("| step 4")
    stream = Terminal()
    monkeypatch.setattr(console.sys, "stderr", stream)
    with Console(quiet=False) as progress:
        progress.start("evaluating", total=2)
        progress.advance(1)
        progress.say("a word")
    assert "\ra word\n" in stream.getvalue().replace(" ", "").replace("aword", "a word")


def test_a_stage_says_its_share_rate_and_time_left_but_for_what_it_compiled(clock, capsys):
    with Console(quiet=False).start("reading", total=4_000_000, unit="B") as bar:
        clock[0] += 10
        bar.to(1_000_000, note="12 documents")
    assert capsys.readouterr().err == "reading: 25.0%, 100 kB/s, 30 s left, 12 documents\n"
    with Console(quiet=False).start("evaluating", total=101) as bar:
        clock[0] += 20
        for _ in range(51):
            clock[0] += 1
            bar.advance(1)
    assert capsys.readouterr().err.splitlines()[-1] == "evaluating: 50.5%, 50 s left"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Error: a.txt is empty.", "\x1b[31m\x1b[1mError:\x1b[0m a.txt is empty."),
        ("Next:  albert report run", "\x1b[32m\x1b[1mNext:\x1b[0m  albert report run"),
        ("next: albert pretrain", "\x1b[32m\x1b[1mnext:\x1b[0m albert pretrain"),
        ("a: \x1b[31mred", "a: \\u001b[31mred"),
    ],
)
@pytest.mark.parametrize("plain", [None, "NO_COLOR", "TERM", "pipe"])
def test_errors_and_what_to_type_next_have_a_colour_where_any_is(monkeypatch, line, shown, plain):
    for name, value in (("NO_COLOR", ""), ("TERM", "xterm")):
        monkeypatch.setenv(name, "dumb" if name == plain else value)
    stream = io.StringIO() if plain == "pipe" else Terminal()
    monkeypatch.setattr(console.sys, "stderr", stream)
    console.tell(line)
    assert stream.getvalue() == (console.click.unstyle(shown) if plain else shown) + "\n"
