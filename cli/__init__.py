"""The command line: parse, call one function, print one summary."""

import os
import signal
import sys
import time
from typing import NoReturn

from schemas.errors import ENDING

# When the command was entered, as nearly as Python can tell.
STARTED = time.monotonic()


def _stopped(number: int, frame: object) -> NoReturn:
    code, word = (130, b"Interrupted") if number == signal.SIGINT else (143, b"Terminated")
    os.write(2, b"Error: %s; run the same command again.\n" % word)
    os._exit(code)


# While modules are imported nothing has begun; then `main` takes over. What a shell runs
# in the background hears no Ctrl-C, and of a command's processes only the first speaks.
if "--multiprocessing-fork" in sys.orig_argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
elif os.path.basename(sys.argv[0]) == "albert":
    for number in (signal.SIGINT, *ENDING):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stopped)
