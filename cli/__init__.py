"""The command line: parse, call one function, print one summary."""

import os
import signal
import sys
import time
from typing import NoReturn

from schemas.errors import ENDING

# When the command was entered, as nearly as Python can tell.
STARTED = time.monotonic()


def ended_by(number: int) -> tuple[str, int]:
    """What is said of a command that a signal has ended, and its exit code."""
    word, code = ("Interrupted", 130) if number == signal.SIGINT else ("Terminated", 143)
    return f"{word}; run the same command again.", code


def _stopped(number: int, frame: object) -> NoReturn:
    sentence, code = ended_by(number)
    os.write(2, f"Error: {sentence}\n".encode())
    os._exit(code)


# While modules are imported nothing has begun; then `main` takes over. What a shell runs
# in the background hears no Ctrl-C, and of a command's processes only the first speaks.
if "--multiprocessing-fork" in sys.orig_argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
elif os.path.basename(sys.argv[0]) == "albert":
    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stopped)
