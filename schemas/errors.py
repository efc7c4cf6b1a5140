"""Errors a person can act on: one sentence with the place, the rule and the remedy.

And the signals that end a command.
"""

import signal

# What ends a command, which first saves what is done. A terminal that closes sends
# SIGHUP; Slurm, Grid Engine and LSF warn of a limit with the last three.
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU)


# What stands between a sentence and the rows of a file that would be read, a line each.
FORM = "; the form that is read:"


class AlbertError(Exception):
    """The work failed; the message is the one sentence shown at the terminal.

    The rows of a form that is read may follow it.
    """

    exit_code = 1


class SettingError(AlbertError, ValueError):
    """A flag, a setting or a path given on the command line is wrong."""

    exit_code = 2
