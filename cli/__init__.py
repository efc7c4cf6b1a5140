"""The command line: parse, call one function, print one summary."""

import os
import signal
import sys
import time
from typing import NoReturn

# When the command was entered, as nearly as Python can tell.
STARTED = time.monotonic()


def _interrupted(number: int, frame: object) -> NoReturn:
    os.write(2, b"Error: Interrupted; run the same command again.\n")
    os._exit(130)


# While modules are imported nothing has begun; then `main` takes over. What a shell runs
# in the background hears no Ctrl-C.
if os.path.basename(sys.argv[0]) == "albert" and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
    signal.signal(signal.SIGINT, _interrupted)
