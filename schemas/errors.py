"""Errors a person can act on: one sentence with the place, the rule and the remedy."""


class AlbertError(Exception):
    """The work failed; the message is the one sentence shown at the terminal."""

    exit_code = 1


class SettingError(AlbertError, ValueError):
    """A flag, a setting or a path given on the command line is wrong."""

    exit_code = 2
