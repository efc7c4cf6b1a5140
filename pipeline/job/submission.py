"""The mark by which workers know an output as theirs, and their job as still wanted.

A job server that is asked to cancel a job only stops waiting for it: Flink and Spark go
on to the end (Beam 2.77). So whoever submitted a job ends it by its mark in the output,
which workers see wherever they are; those that find another mark do no more.
"""

import contextlib
import functools
import socket
import time

from pipeline.job.runners import DATAFLOW, Runner
from pipeline.storage.files import exists, is_remote, join, read_whole, write_whole
from schemas.errors import AlbertError
from schemas.layout import SUBMITTED

# How often a worker looks: on storage each look is a request.
LOOK_SECONDS = 5.0

# In place of the mark of a job that is to end.
_ENDED = "ended"


def write_mark(output: str, mark: str) -> None:
    """Tell workers that an output is theirs."""
    write_whole(join(output, SUBMITTED), mark)


def is_marked(output: str, mark: str) -> bool:
    """Whether workers with a mark know an output as theirs."""
    with contextlib.suppress(AlbertError, OSError):
        return read_whole(join(output, SUBMITTED)).decode() == mark
    return False


def end_job(output: str, mark: str, runner: Runner) -> str:
    """Tell workers to do no more; gives what to say of that to whoever interrupted.

    Those of a command that was run meanwhile, which has another mark, go on.
    """
    unable = ""
    if runner.name != DATAFLOW:
        try:
            if read_whole(join(output, SUBMITTED)).decode() == mark:
                write_mark(output, _ENDED)
        except (AlbertError, OSError) as error:
            unable = f" Its workers cannot be told to stop: {str(error).rstrip('.')}."
        else:
            return (
                "The job was told to end; it does so as soon as its workers have "
                "finished what they are at. Run the same command again: what is "
                "finished is kept."
            )
    return (
        f"A job that {runner.name} runs elsewhere goes on; to end it, stop it there."
        f"{unable} Run the same command again when it has ended."
    )


class MarkedOutput:
    """The output of a job, as its workers see it; a local job has no mark."""

    def __init__(self, output: str, mark: str) -> None:
        self._output, self._mark = output, mark
        self._is_seen, self._next_look = False, 0.0

    def check(self) -> None:
        """Refuse to work at another output than that of the command, or no longer.

        A path of this machine may be there on another too; its files would be lost.
        """
        if not self._mark or time.monotonic() < self._next_look:
            return
        path, reason = join(self._output, SUBMITTED), "another folder"
        try:
            found = read_whole(path).decode()
        except (AlbertError, OSError) as error:
            found, reason = self._found_instead(path), str(error).rstrip(".")
        if found == _ENDED or (self._is_seen and found != self._mark):
            raise AlbertError(
                f"The job that makes {self._output} was told to end, or its command "
                "was run a second time."
            )
        if found != self._mark:
            raise AlbertError(
                f"A worker on {socket.gethostname()} does not see the {self._output} "
                f"of this command ({reason}, or the command was run a second time); "
                "give an output that every machine sees, such as s3://bucket/folder/, "
                "and its keys to the workers."
            )
        self._is_seen, self._next_look = True, time.monotonic() + LOOK_SECONDS

    def _found_instead(self, path: str) -> str:
        """The mark to go by where none can be read.

        Storage out of reach for a while ends nothing; a mark that was removed ends a
        job, since somebody makes the output anew.
        """
        if not self._is_seen:
            return ""
        is_there = is_remote(self._output) or exists(self._output)
        with contextlib.suppress(AlbertError, OSError):
            return _ENDED if is_there and not exists(path) else self._mark
        return self._mark


# All steps in a process see an output together.
marked_output = functools.cache(MarkedOutput)
