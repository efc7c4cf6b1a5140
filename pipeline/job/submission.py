"""A job is handed to a cluster, which makes it while its mark stands in the output.

By the mark workers know an output as theirs, and their job as still wanted. A job
server that is asked to cancel a job only stops waiting for it: Flink and Spark go on to
the end (Beam 2.77). So whoever submitted a job ends it by its mark in the output, which
workers see wherever they are; those that find another mark do no more.
"""

import contextlib
import functools
import logging
import secrets
import socket
import threading
import time
from collections.abc import Iterator

import apache_beam as beam
import grpc
from apache_beam.options.pipeline_options import GoogleCloudOptions, PortableOptions
from apache_beam.runners.runner import PipelineResult, PipelineRunner

from pipeline.dataset.manifest import NothingToTrainOn
from pipeline.job import spill
from pipeline.job.cluster_worker import worker_pool
from pipeline.job.failures import explained_errors
from pipeline.job.plan import Job
from pipeline.job.runners import DATAFLOW, Runner, engine_of, environment_of
from pipeline.storage.files import exists, is_remote, join, read_whole, remove, write_whole
from schemas.errors import AlbertError
from schemas.layout import EVAL, SIDECARS, SUBMITTED, TRAIN

# How often a worker looks: on storage each look is a request.
LOOK_SECONDS = 5.0

# In place of the mark of a job that is to end.
_ENDED = "ended"


def submit(
    transform: beam.PTransform, job: Job, runner: Runner, engine: PipelineRunner
) -> PipelineResult:
    """Hand a job to a cluster."""
    cloud = runner.options.view_as(GoogleCloudOptions)
    # Dataflow refuses a second job with the name of a running one, so that a job that
    # nobody waits for any more is not started twice.
    cloud.job_name = cloud.job_name or f"albert-make-data-{job.fingerprint[:12]}"
    with explained_errors(job, runner):
        pipeline = beam.Pipeline(runner=engine, options=runner.options)
        _ = pipeline | "MakeData" >> transform
        return pipeline.run()


def run_there(transform: beam.PTransform, job: Job, runner: Runner) -> None:
    """Run a job on a cluster and wait for its end, or end it at Ctrl-C."""
    silence_threads()
    with own_workers(runner), engine_of(runner) as engine:
        try:
            with nothing_left_of_nothing(job):
                result = submit(transform, job, runner, engine)
                with explained_errors(job, runner):
                    result.wait_until_finish()
        # Beam ends at options that it cannot read.
        except (Exception, SystemExit):
            end_job(job.output, job.mark, runner)
            raise
        except BaseException as error:
            # An interrupt, or a signal to end.
            raise type(error)(end_job(job.output, job.mark, runner)) from None


def silence_threads() -> None:
    """Print no traceback of Beam's threads that listen to a job server which ends.

    Whoever waits for the job is told the same, perhaps before them.
    """
    if logging.getLogger().isEnabledFor(logging.WARNING):
        return
    before = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not issubclass(failure.exc_type, grpc.RpcError):
            before(failure)

    threading.excepthook = hook


@contextlib.contextmanager
def own_workers(runner: Runner) -> Iterator[None]:
    """Workers of this command, where LOOPBACK asks for them.

    Beam's own are threads of this process, which share one core, and any machine of the
    network can start them.
    """
    if environment_of(runner) != "LOOPBACK":
        yield
        return
    debug = logging.getLogger().isEnabledFor(logging.WARNING)
    with worker_pool("localhost:0", debug=debug) as address:
        portable = runner.options.view_as(PortableOptions)
        portable.environment_type = "EXTERNAL"
        portable.environment_config = address
        yield


def mark_of(job: Job, runner: Runner) -> str:
    """The mark of a command, by which its workers are told from those of others.

    A job of Dataflow goes on without its command: a command that is run again, and
    refused, has the mark of the first and so ends nothing.
    """
    if runner.name == DATAFLOW:
        with contextlib.suppress(AlbertError, OSError):
            found = read_whole(join(job.output, SUBMITTED)).decode()
            if found.startswith(job.fingerprint):
                return found
    return f"{job.fingerprint} {secrets.token_hex(8)}"


def write_mark(output: str, mark: str) -> None:
    """Tell workers that an output is theirs."""
    write_whole(join(output, SUBMITTED), mark)


def is_own(job: Job) -> bool:
    """Whether no command was run meanwhile that took the output of a job."""
    if not job.mark:
        return True
    with contextlib.suppress(AlbertError, OSError):
        return read_whole(join(job.output, SUBMITTED)).decode() == job.mark
    return False


@contextlib.contextmanager
def nothing_left_of_nothing(job: Job) -> Iterator[None]:
    """Remove the files of a data set without a document to train on."""
    try:
        yield
    except NothingToTrainOn:
        if is_own(job):
            spill.forget_work(job.output, is_here=not job.mark)
            for name in (TRAIN, EVAL, SIDECARS):
                remove(join(job.output, name))
        raise


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
