"""Programs that tests start and talk to over a port of this machine."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).parent.parent


def free_port():
    with socket.socket() as server:
        server.bind(("localhost", 0))
        return server.getsockname()[1]


@contextlib.contextmanager
def serving(*command, port, environment=()):
    """A server that answers on a port; with what it starts, it ends after the test."""
    server = subprocess.Popen(
        [*map(str, command)],
        cwd=HERE,
        env=os.environ | dict(environment),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 300
        while server.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("localhost", port)):
                break
            time.sleep(0.1)
        yield server
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
