"""Beam: the chain of a job on this machine and on a cluster, and how each is run.

One linear chain without side inputs, tagged outputs or Beam's own file readers behaves
the same on every runner. On one machine Beam's in-process runner carries it and opens
no port; what has work for many cores is handed to worker processes, all elements of a
step at once. On a cluster the same functions compute where the engine calls them.
"""

import contextlib
import dataclasses
import logging
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

from pipeline.dataset.shard import tool_versions
from pipeline.job import repeats
from pipeline.job.cluster_worker import worker_pool
from pipeline.job.plan import Job
from pipeline.job.resume import ENDED, mark_at, marked_output, nothing_left_of_nothing, write_mark
from pipeline.job.runners import Runner, engine_of, environment_of, explained_errors
from schemas.errors import AlbertError

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
