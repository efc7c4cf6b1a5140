"""A worker of a job on this machine: Beam's, silent, and ending with its parent.

Run by the local runner as `python -m pipeline.local_worker FOLDER PARENT`.
"""

import ctypes
import logging
import os
import signal
import sys
from pathlib import Path

from pipeline.worker_watch import sign_on

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Have the system end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(0)


def main() -> None:
    """Serve the runner until it has no more work."""
    end_with_parent(int(sys.argv.pop()))
    mark = sign_on(Path(sys.argv.pop()))
    # The parent speaks to the person, and is told of errors by the runner.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)
    # Only now, since importing Beam logs a warning.
    from apache_beam.runners.worker import sdk_worker_main

    try:
        sdk_worker_main.main(sys.argv)
    finally:
        mark.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
