"""The mark by which workers know an output as theirs, and their job as still wanted.

A job server that is asked to cancel a job only stops waiting for it: Flink and Spark go
on to the end (Beam 2.62). So whoever submitted a job ends it by its mark in the output,
which workers see wherever they are; those that find another mark do no more.
"""

import secrets
import socket
import time

from pipeline.job.runners import DATAFLOW, Runner
from pipeline.storage.files import join, read_whole, write_whole
from schemas.errors import AlbertError
from schemas.layout import SUBMITTED

# How often a worker looks: on storage each look is a request.
LOOK_SECONDS = 5.0

# In place of the mark of a job that is to end.
_ENDED = "ended"


def new_mark(runner: Runner, *, fingerprint: str) -> str:
    """What a job writes to its output.

    On Dataflow, where a job goes on without its command, that is the same for the same
    job: a command that is run again, and refused, ends nothing.
    """
    return fingerprint if runner.name == DATAFLOW else secrets.token_hex(8)


def write_mark(output: str, mark: str) -> None:
    """Tell workers that an output is theirs."""
    write_whole(join(output, SUBMITTED), mark)


def end_job(output: str, runner: Runner) -> str:
    """Tell workers to do no more; gives what to say of that to whoever interrupted."""
    again = "Run the same command again"
    if runner.name != DATAFLOW:
        try:
            write_mark(output, _ENDED)
        except (AlbertError, OSError) as error:
            again = f"its workers cannot be told to stop ({error}). {again}"
        else:
            return (
                "The job was told to end; it does so as soon as its workers have "
                f"finished what they are at. {again}: what is finished is kept."
            )
    return (
        f"A job that {runner.name} runs elsewhere goes on; to end it, stop it there. "
        f"{again} when it has ended."
    )


class MarkedOutput:
    """The output of a job, as one of its workers sees it.

    Args:
        output: The data set.
        mark: Of the job; empty for one that needs none.
    """

    def __init__(self, output: str, mark: str) -> None:
        self._output, self._mark = output, mark
        self._is_seen, self._next_look = False, 0.0

    def check(self) -> None:
        """Refuse to work at another output than that of the command, or no longer.

        A path of this machine may be there on another too, and its files would be lost.
        """
        if not self._mark or time.monotonic() < self._next_look:
            return
        try:
            found, reason = read_whole(join(self._output, SUBMITTED)).decode(), ""
        except (AlbertError, OSError) as error:
            # Storage that cannot be reached for a while ends nothing.
            found, reason = self._mark * self._is_seen, str(error).rstrip(".")
        if found == _ENDED or (self._is_seen and found != self._mark):
            raise AlbertError(
                f"The job that makes {self._output} was told to end, or its command "
                "was run a second time."
            )
        if found != self._mark:
            raise AlbertError(
                f"A worker on {socket.gethostname()} does not see the {self._output} "
                f"of this command ({reason or 'another folder'}); give an output that "
                "every machine sees, such as s3://bucket/folder/, and its keys to the "
                "workers."
            )
        self._is_seen, self._next_look = True, time.monotonic() + LOOK_SECONDS
