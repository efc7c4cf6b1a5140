"""The command line: parse, call one function, print one summary."""

import time

# When the command was entered, as nearly as Python can tell.
STARTED = time.monotonic()
