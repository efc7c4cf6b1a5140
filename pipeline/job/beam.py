"""Beam: the chain of a job, here and on a cluster, how it is run and what a failure means.

One linear chain without side inputs, tagged outputs or Beam's own file readers behaves
the same on every runner. On one machine Beam's in-process runner carries it and opens
no port; what has work for many cores is handed to worker processes, all elements of a
step at once. On a cluster the same functions compute where the engine calls them.

In this process an error has its type. An engine hands over text: Python's traceback
within Java's, of which the first cause is what matters.
"""

import contextlib
import dataclasses
import logging
import re
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, as_completed
from typing import Any, SupportsIndex
from weakref import WeakValueDictionary

import apache_beam as beam
import grpc
from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
)
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineResult, PipelineRunner
from apache_beam.transforms.window import GlobalWindows

from pipeline.dataset.manifest import NothingToTrainOn
from pipeline.dataset.shard import tool_versions
from pipeline.job import repeats
from pipeline.job.cluster_worker import worker_pool
from pipeline.job.plan import Job
from pipeline.job.resume import ENDED, mark_at, marked_output, nothing_left_of_nothing, write_mark
from pipeline.job.runners import (
    Runner,
    engine_address,
    engine_of,
    environment_of,
    heap_option,
    pool_address,
)
from schemas.config import SHARD_BYTES
from schemas.errors import AlbertError, SettingError
from schemas.readable import counted, prefixed

# What a step does with an element, and what has a worker process do that.
Compute = Callable[[Any, Job], Iterable[Any]]
Submit = Callable[[Compute, Any], Future[list[Any]]]


def run_here(
    job: Job, submit: Submit | None, *, read: Compute, items: Compute, do: Compute
) -> list[Any]:
    """Read all chunks, list what is to be done and do it; what each gives."""
    results: list[Any] = []

    def keep(result: tuple[None, Any], _: Job) -> Iterable[Any]:
        results.append(result[1])
        return ()

    def each(compute: Compute) -> beam.PTransform:
        return compute.__name__ >> beam.ParDo(LocalStep(compute, job, submit))

    def of_all(compute: Compute) -> beam.PTransform:
        step = beam.GroupByKey() | beam.ParDo(LocalStep(compute, job)) | beam.Reshuffle()
        return compute.__name__ >> step

    chain = "Chunks" >> beam.Create(job.chunks) | "Spread" >> beam.Reshuffle()
    if job.dataset.config.max_line_repeats:
        chain |= each(repeats.write_lines) | of_all(repeats.find_repeated)
    chain |= each(read) | of_all(items) | each(do) | "Keep" >> beam.ParDo(LocalStep(keep, job))
    run_chain(chain, job)
    return results


def run_chain(chain: beam.PTransform, job: Job) -> None:
    """Run a chain in this process until it ends; an interrupt is raised as what it is."""
    with explained_errors(job):
        # Never the DirectRunner, which would first download another from the network.
        pipeline_of(chain, FnApiRunner(), PipelineOptions([])).run()


class LocalStep(beam.DoFn):
    """A step on this machine, which computes at once or in worker processes."""

    def __init__(self, compute: Compute, job: Job, submit: Submit | None = None) -> None:
        self._compute, self._job, self._submit = compute, job, submit

    def __reduce_ex__(self, _: SupportsIndex) -> Any:
        """By its name, for all is done here: what Beam pickles it packs tightly."""
        _steps_here[id(self)] = self
        return _step_here, (id(self),)

    def start_bundle(self) -> None:
        """In this process all elements are one bundle; here is what workers do."""
        self._begun: list[Future[list[Any]]] = []

    def process(self, element: Any) -> Iterable[Any]:
        """What the step makes of an element, unless workers do it."""
        if self._submit is None:
            return self._compute(element, self._job)
        self._begun.append(self._submit(self._compute, element))
        return ()

    def finish_bundle(self) -> Iterator[Any]:
        """What the workers make of all elements."""
        for done in as_completed(self._begun):
            yield from map(GlobalWindows.windowed_value, done.result())


_steps_here: "WeakValueDictionary[int, LocalStep]" = WeakValueDictionary()


def _step_here(name: int) -> LocalStep:
    return _steps_here[name]


def chain_for_engine(
    job: Job, *, read: Compute, by_item: Compute, do: Compute, finish: Compute
) -> beam.PTransform:
    """The job for an engine: chunks -> documents by shard -> files -> manifest."""
    # A graph has each step's job several times: packing its model takes time, and
    # Dataflow takes a graph of up to 10 MB.
    small = dataclasses.replace(job, chunks=())
    bare = dataclasses.replace(small, model=b"")

    def each(compute: Compute, told: Job = bare) -> beam.PTransform:
        return compute.__name__ >> beam.ParDo(ClusterStep(compute, told))

    chain = "Chunks" >> beam.Create(job.chunks) | "Spread" >> beam.Reshuffle()
    if job.dataset.config.max_line_repeats:
        modelless = dataclasses.replace(job, model=b"")
        chain = chain | each(repeats.lines_for_engine) | "ByLine" >> beam.GroupByKey()
        chain = chain | each(repeats.repeated_line) | "AllLines" >> beam.GroupByKey()
        chain = chain | each(repeats.keep_repeated, modelless) | "SpreadAgain" >> beam.Reshuffle()
    chain |= each(read)
    chain |= "AddGone" >> AddGone(each, by_item) if job.near_duplicates else each(by_item)
    chain = chain | "ByItem" >> beam.GroupByKey() | each(do, small)
    return chain | "AllItems" >> beam.GroupByKey() | each(finish)


class ClusterStep(beam.DoFn):
    """A step wherever an engine has it computed, which refuses what is not its command's."""

    def __init__(self, compute: Compute, job: Job) -> None:
        self._compute, self._job = compute, job
        self._has_tools = False

    def start_bundle(self) -> None:
        """Refuse to work with tools that may give other bytes for the same text.

        Not when a worker is set up: Beam's Java would wait for minutes.
        """
        self._marked = marked_output(self._job.output, self._job.mark)
        if self._has_tools:
            return
        here = tool_versions(self._job.dataset.config, tells_languages=True)
        for tool, version in self._job.versions.items():
            if here.get(tool) != version:
                found = f"{tool} {here[tool]}" if tool in here else f"no {tool}"
                raise AlbertError(
                    f"A worker has {found}, but the job was made with {version}; "
                    "build the workers' image from the same version of this "
                    "program, with the same extras."
                )
        self._has_tools = True

    def process(self, element: Any) -> Iterator[Any]:
        """What the step makes of an element, for as long as the job is wanted."""
        self._marked.check()
        for result in self._compute(element, self._job):
            yield result
            self._marked.check()


@beam.ptransform_fn
def AddGone(
    found: beam.PCollection, each: Callable[[Compute], beam.PTransform], by_item: Compute
) -> Any:
    """What was read by item, and one that waits until it is known which documents go.

    Ids are grouped by band, then each is brought together with those it meets.
    """
    signed = found | each(repeats.signed_documents)
    bands = signed | each(repeats.bands_of)
    met = bands | "ByBand" >> beam.GroupByKey() | each(repeats.pairs_of_band)
    for name, compute in (("First", repeats.meetings), ("Second", repeats.near_copies)):
        met = (signed, met) | f"With{name}" >> beam.Flatten()
        met = met | f"By{name}" >> beam.GroupByKey() | each(compute)
    known = (met, found | each(repeats.chunks_read)) | "AndChunks" >> beam.Flatten()
    known = known | "AllCopies" >> beam.GroupByKey() | each(repeats.keep_gone)
    return (found | each(by_item), known) | "AndGone" >> beam.Flatten()


def submit(
    transform: beam.PTransform, job: Job, runner: Runner, engine: PipelineRunner
) -> PipelineResult:
    """Hand a job to a cluster."""
    cloud = runner.options.view_as(GoogleCloudOptions)
    # Dataflow refuses a second job with the name of a running one, so that a job that
    # nobody waits for any more is not started twice.
    cloud.job_name = cloud.job_name or f"albert-make-data-{job.fingerprint[:12]}"
    with explained_errors(job, runner):
        return pipeline_of(transform, engine, runner.options).run()


def pipeline_of(
    transform: beam.PTransform, engine: PipelineRunner, options: PipelineOptions
) -> beam.Pipeline:
    """A pipeline that leaves nothing on this machine if it is killed."""
    pipeline = beam.Pipeline(runner=engine, options=options)
    # Only transforms in other languages use it.
    shutil.rmtree(pipeline.local_tempdir, ignore_errors=True)
    _ = pipeline | "MakeData" >> transform
    return pipeline


def run_there(transform: beam.PTransform, job: Job, runner: Runner) -> None:
    """Run a job on a cluster and wait for its end, or end it at Ctrl-C."""
    before = threading.excepthook

    def hook(failure: threading.ExceptHookArgs) -> None:
        if not issubclass(failure.exc_type, grpc.RpcError):
            before(failure)

    if not logging.getLogger().isEnabledFor(logging.WARNING):
        # No traceback of Beam's threads that listen to a job server which ends: whoever
        # waits for the job is told the same, perhaps before them.
        threading.excepthook = hook
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


def end_job(output: str, mark: str, runner: Runner) -> str:
    """Tell workers to do no more; gives what to say of that to whoever interrupted.

    Those of a command that was run meanwhile, which has another mark, go on.
    """
    unable = ""
    if not runner.goes_on_alone:
        try:
            if mark_at(output) == mark:
                write_mark(output, ENDED)
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


# The types that a caller tells apart, as they stand in what an engine says of a step.
_TYPES = {kind.__name__: kind for kind in (NothingToTrainOn, SettingError, AlbertError)}
_IN_TEXT = re.compile(rf"\b({'|'.join(_TYPES)}): (.+?)(?: \[while running|\\n|$)", re.M)
_OF_PYTHON = re.compile(r"^([\w.]+: .+?) \[while running", re.M)
# Spark has the second where it gives up a task that failed on every executor.
_OF_JAVA = re.compile(r"^\s*(?:Caused by: |Most recent failure:\n)(.+)$", re.M)
_NAMED = re.compile(r"((?:[\w$]+\.)+\w*(?:Exception|Error)\b.*)$", re.M)
_STATE = re.compile(r"^Pipeline \S+ failed in state \w+: ")
# What the gRPC of Java, and what Prism says of a worker that is gone.
_LOST_WORKER = re.compile("StatusRuntimeException: CANCELLED|SDK worker disconnected")
# Flink has waited for free slots.
_NO_ROOM = re.compile(r"NoResourceAvailableException|Timeout has occurred: \d+ ms")
# An executor of Spark's ends with 52.
_OUT_OF_MEMORY = re.compile(r"OutOfMemoryError|GC overhead limit|exited with code 52\b")
# Flink has joined what it read of one shard, and cannot sort it among the rest.
_SORT_BUFFER = re.compile("maximum size of a sort buffer|fresh sort buffer")


@contextlib.contextmanager
def explained_errors(job: Job, runner: Runner | None = None) -> Iterator[None]:
    """Raise errors of Beam as what they stand for."""
    try:
        yield
    except Exception as error:
        raise explain(error, job, runner) from error


def explain(
    error: BaseException, job: Job | None = None, runner: Runner | None = None
) -> BaseException:
    r"""What to raise for an error that came out of Beam.

    In this process that is the step's own error or an interrupt, to which Beam adds one
    that names the step.

    >>> explain(RuntimeError("Traceback ...\nschemas.errors.SettingError: x is empty. "
    ...                      "[while running 'ReadChunk']"))
    SettingError('x is empty.')
    """
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    for cause in causes:
        is_own = isinstance(cause, (AlbertError, MemoryError))
        is_own |= not isinstance(cause, Exception)
        if is_own and "[while running" not in str(cause):
            return cause
    if found := _IN_TEXT.findall(str(error)):
        name, sentence = found[-1]
        return _TYPES[name](sentence)
    if job and runner and (sentence := _of_an_engine(str(error), job, runner)):
        return AlbertError(sentence)
    if runner and (sentence := _of_a_server(causes, runner)):
        return AlbertError(sentence)
    return AlbertError(f"The job failed: {first_cause(str(error)) or repr(error)}")


def first_cause(said: str) -> str:
    r"""The first cause in what an engine says, as it stands there.

    >>> first_cause("Pipeline x failed in state FAILED: java.io.IOException: no space")
    'java.io.IOException: no space'
    >>> first_cause("a.RestClientException: [Internal server error., <Exception on "
    ...     "server side:\nb.SubmitException: refused\n\tat b.c\nCaused by: "
    ...     "d.ConnectException: localhost:9\n\nEnd of exception on server side>]")
    'd.ConnectException: localhost:9'
    >>> first_cause("b.SparkException: Job aborted due to stage failure: \nAborting TaskSet 0.0 "
    ...     "because task 0 (partition 0)\ncannot run anywhere due to node and executor "
    ...     "excludeOnFailure.\nMost recent failure:\nLost task 0.1: d.IOException: localhost:9\n")
    'Lost task 0.1: d.IOException: localhost:9'
    """
    if found := [*_OF_PYTHON.findall(said)] or [*_OF_JAVA.findall(said)]:
        return str(found[-1]).strip()
    text = _STATE.sub("", said.strip())
    lines = [line for line in text.splitlines() if any(map(str.isalnum, line))]
    named = [match[0] for line in lines if (match := _NAMED.search(line))]
    # The server's own exception stands below the client's that reports it.
    if named and "Exception on server side" in text:
        return named[min(1, len(named) - 1)].strip()
    return next(iter(named or lines[-1:]), "").strip()


def _of_an_engine(said: str, job: Job, runner: Runner) -> str | None:
    """What to say of an engine that lacks memory or slots."""
    more = max(2 * job.shards.train_shards, -(-job.text_bytes // SHARD_BYTES))
    if _SORT_BUFFER.search(said):
        return (
            "A buffer in which Flink sorts is too small for what a TaskManager has "
            f"read of one shard; give --num-shards {more} and --overwrite, or more of "
            "taskmanager.memory.managed.size in Flink's config.yaml."
        )
    if _OUT_OF_MEMORY.search(said):
        return _of_memory(job, runner, more=more)
    if _NO_ROOM.search(said):
        return (
            "The engine has fewer free slots than the job asks for; give a smaller "
            "--parallelism after --, or start more TaskManagers, and run the same "
            "command again."
        )
    return None


def _of_memory(job: Job, runner: Runner, *, more: int) -> str:
    """What to say of an engine that cannot hold a shard; more of them may do."""
    shards = job.shards.train_shards
    each = f" in each of {counted(shards, 'shard')}" if shards > 1 else ""
    tasks = ""
    if runner.name == "SparkRunner":
        tasks = (
            " A task of Spark holds all that it makes too, less if there are more: "
            f"--job_server_jvm_properties=-Dspark.default.parallelism={more}."
        )
    return (
        "The engine ran out of memory. It holds the text of a whole shard, here "
        f"{prefixed(job.text_bytes / shards, 'B')}{each}; give --num-shards {more} and "
        f"--overwrite, or more memory by {heap_option(runner)}.{tasks}"
    )


def _of_a_server(causes: list[BaseException], runner: Runner) -> str | None:
    """What to say of workers or a job server that do not start, answer or go on."""
    said = str(causes[0])
    where = engine_address(runner) or f"of {runner.name}"
    pool = pool_address(runner)
    # An engine says the port, or that its gRPC, which connects to pools only, failed.
    if pool and re.search(
        rf"finishConnect\(\.\.\) failed: Connection refused"
        rf"|Connection refused: .*:{pool.rpartition(':')[2]}\b",
        said,
    ):
        return (
            f"No workers answer at {pool}; start albert worker --address {pool} on "
            "every machine of the cluster and run the same command again."
        )
    if _LOST_WORKER.search(said):
        return (
            "A worker ended in the middle of its work: it was killed, or its machine "
            "had too little memory. What is finished is kept: run the same command "
            "again."
        )
    for cause in causes:
        if isinstance(cause, FileNotFoundError) and cause.filename == "java":
            return (
                f"--runner: {runner.name} needs Java, which is not installed here; "
                "install Java 11 or 17."
            )
        if isinstance(cause, grpc.FutureTimeoutError):
            return f"No job server answers at {where}; start it, or correct its address."
        if "Service failed to start" in str(cause):
            return "The job server ended as it started; --debug shows what it said."
        if isinstance(cause, grpc.RpcError) and "UNAVAILABLE" in str(cause):
            return (
                f"The job server {where} has ended or cannot be reached; what is "
                "finished is kept: run the same command again."
            )
    return None
