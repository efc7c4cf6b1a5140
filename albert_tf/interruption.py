"""What ends a run before its last step: Ctrl-C, SIGTERM or the time allowed.

Nothing is interrupted here: the request is noted, and the loop asks for it between
micro-batches.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, Literal

Reason = Literal["interrupted", "terminated", "max-time"]

_REASONS: dict[int, Reason] = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
}


class StopRequest:
    """Why to stop, once there is a reason.

    Args:
        max_seconds: How long the run may take from now on; None for no limit.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        self._signalled: Reason | None = None
        self._deadline = None
        if max_seconds is not None:
            self._deadline = time.monotonic() + max_seconds

    @property
    def reason(self) -> Reason | None:
        """Why to stop, None to go on."""
        if self._signalled is None and self._deadline is not None:
            return "max-time" if time.monotonic() >= self._deadline else None
        return self._signalled

    def receive(self, number: int, frame: Any = None) -> None:
        """Note a signal; the next one of its kind ends the process at once."""
        self._signalled = _REASONS[number]
        signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def stop_requests(max_seconds: float | None = None) -> Iterator[StopRequest]:
    """Turn signals into a request while the block runs.

    Outside the main thread Python receives no signals, so there only the time counts.
    """
    request = StopRequest(max_seconds)
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request.receive) for number in _REASONS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
