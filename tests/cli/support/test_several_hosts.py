"""Several hosts, as a command meets them."""

import contextlib

import pytest

from albert_tf.hosts import HostSetting
from cli.support.several_hosts import together


def test_what_is_said_last_does_nothing_to_a_terminal(monkeypatch, capsys):
    pytest.importorskip("jax")
    from albert_tf import hosts

    def lost(place, *, say_last):
        say_last(f"{place.coordinator} was lost.")
        return contextlib.nullcontext()

    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr(hosts, "joined", lost)
    with together(HostSetting("host\x1b[2J:1234", 2, 0), debug=True):
        pass
    assert capsys.readouterr().err == "Error: host\\u001b[2J:1234 was lost.\n"
