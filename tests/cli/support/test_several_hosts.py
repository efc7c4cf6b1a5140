"""Several hosts, as a command meets them."""

import contextlib

from albert_tf.hosts.host_setting import HostSetting
from albert_tf.training import backends
from cli.support.several_hosts import joined


def test_what_is_said_last_does_nothing_to_a_terminal(monkeypatch, capsys):
    def lost(place, *, say_last):
        say_last(f"{place.coordinator} was lost.")
        return contextlib.nullcontext()

    monkeypatch.setattr(backends, "joined_hosts", lost)
    with joined(HostSetting("host\x1b[2J:1234", 2, 0), debug=True):
        pass
    assert capsys.readouterr().err == "Error: host\\x1b[2J:1234 was lost.\n"
