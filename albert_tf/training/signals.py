"""Ctrl-C, signals to end, the time allowed: requests to stop a training, which loses nothing.

None of these interrupts anything. Each is noted, and the loop looks for it between
micro-batches; on several hosts between steps, since all have to stop after the same.
"""

import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from albert_tf.hosts import ONE_HOST, Hosts
from schemas.errors import ENDING

Reason = Literal["interrupted", "terminated", "max-time"]

# In the order in which they win where hosts have different ones.
REASONS: tuple[Reason | None, ...] = (None, "max-time", "interrupted", "terminated")

# The signal that stands for a reason.
SIGNALS: dict[Reason, signal.Signals] = {"interrupted": signal.SIGINT, "terminated": signal.SIGTERM}

_REASONS: dict[int, Reason] = {signal.SIGINT: "interrupted", **dict.fromkeys(ENDING, "terminated")}


class StopRequest:
    """Why to stop, once there is a reason; on several hosts, once all know it.

    Args:
        max_seconds: How long the run may take from now on; None for no limit.
        hosts: Those that stop together.

    Attributes:
        has_progress: Set once a step is done. Before that the time allowed ends
            nothing, so that a run which is continued again and again gets on.
    """

    def __init__(self, max_seconds: float | None = None, hosts: Hosts = ONE_HOST) -> None:
        self.has_progress = False
        self._hosts = hosts
        self._reason: Reason | None = None
        self._agreed: Reason | None = None
        self._deadline = math.inf
        if max_seconds is not None:
            self._deadline = time.monotonic() + max_seconds

    @property
    def reason(self) -> Reason | None:
        """Why to stop, None to go on."""
        self.need(0.0)
        return self._reason if self._hosts.number == 1 else self._agreed

    def agree(self) -> Reason | None:
        """The `reason` after all hosts have shared theirs; all have to ask together."""
        if self._hosts.number > 1:
            self.need(0.0)
            told = self._hosts.gather(np.array([REASONS.index(self._reason)]))
            self._agreed = REASONS[int(told.max())]
        return self.reason

    def need(self, seconds: float) -> None:
        """Make it a reason to stop if less than this many seconds are left."""
        is_over = time.monotonic() + seconds > self._deadline
        if is_over and self.has_progress and self._reason is None:
            self._reason = "max-time"

    def receive(self, number: int, frame: Any = None) -> None:
        """Note a signal; the next one of its kind ends the process at once."""
        self._reason = _REASONS[number]
        # In a log too: the micro-batch may take a while. Nobody may be there to read it.
        with contextlib.suppress(OSError):
            after = b"\n" if os.isatty(2) else b""
            os.write(2, after + b"Stopping; what is done is saved ...\n")
        # A limit of processor time sends its signal every second until the hard limit.
        is_repeated = number == signal.SIGXCPU
        signal.signal(number, signal.SIG_IGN if is_repeated else signal.SIG_DFL)


@contextlib.contextmanager
def stop_requests(
    max_seconds: float | None = None, hosts: Hosts = ONE_HOST
) -> Iterator[StopRequest]:
    """Turn signals into a request while the block runs.

    Python delivers signals to the main thread only; in any other, only the time counts.
    What is ignored stays ignored: so `nohup` asks for it, and a shell for what it runs in the
    background.
    """
    request = StopRequest(max_seconds, hosts)
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    heard = [each for each in _REASONS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, request.receive) for number in heard}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
