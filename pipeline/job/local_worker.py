"""A worker of a job on this machine: Beam's, silent, and ending with its parent.

Run by `pipeline.job.local_runner` as `python -m pipeline.job.local_worker PARENT`.
"""

import ctypes
import logging
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Have the system end this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(0)


def main() -> None:
    """Serve the runner until it has no more work."""
    # The parent speaks to the person, and is told of errors by the runner.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)
    end_with_parent(int(sys.argv.pop()))
    # Only here, since importing Beam logs a warning.
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
