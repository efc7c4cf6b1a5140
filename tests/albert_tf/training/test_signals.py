"""Signals and deadlines become requests; handlers are put back."""

import os
import signal
import threading

import pytest

from albert_tf.training import signals
from albert_tf.training.signals import StopRequest, stop_requests


@pytest.fixture
def hangup():
    """SIGHUP as in a terminal; where nohup began the tests it is ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2]
)
def test_a_signal_is_noted_and_told_at_once_and_the_next_ends_the_process(number, hangup, capfd):
    before = signal.getsignal(number)
    with stop_requests(60.0) as stop:
        assert stop.reason is None
        os.kill(os.getpid(), number)
        assert stop.reason == ("interrupted" if number == signal.SIGINT else "terminated")
        assert signal.getsignal(number) is signal.SIG_DFL
    assert signal.getsignal(number) is before
    assert capfd.readouterr().err == "Stopping; what is done is saved ...\n"


def test_a_limit_of_processor_time_may_warn_again_and_again():
    with stop_requests() as stop:
        os.kill(os.getpid(), signal.SIGXCPU)
        os.kill(os.getpid(), signal.SIGXCPU)
        assert stop.reason == "terminated"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_what_nohup_or_a_shell_lets_a_job_ignore_ends_nothing(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with stop_requests() as stop:
            os.kill(os.getpid(), number)
            assert stop.reason is None
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(
    ("passed", "needed", "reason"),
    [(60.0, 0.0, None), (60.1, 0.0, "max-time"), (10.0, 50.0, None), (10.0, 50.1, "max-time")],
)
def test_time_runs_out_also_for_what_takes_longer_than_is_left(monkeypatch, passed, needed, reason):
    now = [100.0]
    monkeypatch.setattr(signals.time, "monotonic", lambda: now[0])
    stop = StopRequest(60.0)
    now[0] += passed
    assert stop.reason is None
    stop.has_progress = True
    stop.need(needed)
    assert stop.reason == reason


def test_outside_the_main_thread_only_the_time_counts():
    before = signal.getsignal(signal.SIGINT)
    reasons = []

    def work():
        with stop_requests(0.0) as stop:
            stop.has_progress = True
            reasons.append(stop.reason)
            reasons.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert reasons == ["max-time", True]
