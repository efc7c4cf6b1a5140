"""Programs that tests start and talk to over a port of this machine."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).parent.parent


def free_port():
    """A port for a server that is yet to start.

    It is below those that Linux gives to whoever asks for any, as tests do that run meanwhile.
    """
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as server, contextlib.suppress(OSError):
            server.bind(("localhost", port))
            return port


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
