"""The Beam chain: chunks -> documents by shard -> shards -> manifest.

One linear chain without side inputs, tagged outputs or Beam's own file readers behaves
the same on every runner. On one machine Beam's in-process runner carries it and opens
no port; what has work for many cores is handed to worker processes, all elements of a
step at once. On a cluster the same steps compute where the engine calls them.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any, SupportsIndex
from weakref import WeakValueDictionary

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineResult
from apache_beam.transforms.window import GlobalWindows

from pipeline.dataset.shard import tool_versions
from pipeline.job import repeats, spill, steps
from pipeline.job.plan import Job
from pipeline.job.runners import (
    Runner,
    engine_of,
    explained_errors,
    is_own,
    mark_of,
    marked_output,
    nothing_left_of_nothing,
    run_there,
    submit,
    write_mark,
)
from pipeline.job.worker_processes import WorkerProcesses
from pipeline.storage import files as storage
from schemas.errors import AlbertError
from schemas.files import TEMPORARY
from schemas.layout import REMOVED_FILES, SPM_MODEL, SUBMITTED, WORK


def make_dataset(
    job: Job,
    *,
    workers: WorkerProcesses | None = None,
    runner: Runner | None = None,
    shown: contextlib.AbstractContextManager[None] | None = None,
) -> None:
    """Make a data set, or finish one that was interrupted: what is finished is kept.

    Of one without a document to train on (`NothingToTrainOn`) nothing is left.

    Args:
        workers: Processes of this machine; None to do all in this one, or on a cluster.
        runner: The cluster, whose engine shuffles; None for this machine.
        shown: What shows how far the job is, once what is of no use to it is gone.
    """
    if runner:
        job = dataclasses.replace(job, shuffle="engine", mark=mark_of(job, runner))
    transform = chain(job, workers)
    forget_useless(job)
    with storage.new_file(storage.join(job.output, SPM_MODEL)) as file:
        file.write(job.model)
    with shown or contextlib.nullcontext():
        if runner:
            write_mark(job.output, job.mark)
            run_there(transform, job, runner)
        else:
            run_here(transform, job, workers)
    # The files of a command that was run meanwhile are not for this one to remove.
    if is_own(job):
        spill.forget_work(job.output, is_here=not job.mark)
        # What killed workers were writing.
        for path in storage.find_below(job.output, f"**/*{TEMPORARY}*"):
            storage.remove(path)


def dry_run(job: Job, runner: Runner) -> PipelineResult:
    """Have Beam check a job for a cluster, which does not get it."""
    job = dataclasses.replace(job, shuffle="engine")
    with engine_of(runner) as engine:
        return submit(chain(job), job, runner, engine)


def forget_useless(job: Job) -> None:
    """Remove what others left that is of no use to a job, and would count as done."""
    spill.forget_incomplete(job.output, fingerprint=job.fingerprint)
    # Of a job that Dataflow still runs, and refuses again, nothing is taken away.
    if job.mark and is_own(job):
        return
    if job.removed:
        for pattern in (REMOVED_FILES, f"{REMOVED_FILES}{TEMPORARY}*"):
            for path in storage.find_below(job.removed, pattern):
                storage.remove(path)
    work = storage.join(job.output, WORK)
    if job.shuffle == "engine" or storage.is_remote(job.output):
        storage.remove(work)
    else:
        # Workers that a cluster may still have end without its mark.
        storage.remove(storage.join(job.output, SUBMITTED))
    if job.shuffle == "files":
        fingerprints = {chunk.number: job.fingerprint_of(chunk) for chunk in job.chunks}
        spill.forget_unfinished(fingerprints, output=job.waiting_folder)


def chain(job: Job, workers: WorkerProcesses | None = None) -> beam.PTransform:
    """The whole job: chunks -> documents by shard -> files -> manifest."""
    start = "Chunks" >> beam.Create(job.chunks) | "Spread" >> beam.Reshuffle()
    # A graph has each step's job several times: packing its model takes time, and
    # Dataflow takes a graph of up to 10 MB.
    small = dataclasses.replace(job, chunks=())
    modelless = dataclasses.replace(job, model=b"")
    bare = dataclasses.replace(modelless, chunks=())
    if job.dataset.config.max_line_repeats:
        start |= "DropRepeated" >> find_repeated_lines(modelless, workers)
    if job.shuffle == "files":
        sidecars = (
            start
            | "SpillChunk" >> beam.ParDo(Step(steps.spill_chunk, bare, workers))
            | "AllChunks" >> beam.GroupByKey()
            | "ListShards" >> beam.ParDo(Step(steps.list_shards, modelless))
            | "SpreadShards" >> beam.Reshuffle()
            | "BuildShard" >> beam.ParDo(Step(steps.build_shard, job, workers))
        )
    else:
        elements = start | "ReadChunk" >> beam.ParDo(Step(steps.read_for_engine, bare))
        if job.near_duplicates:
            elements |= "AddGone" >> AddGone(bare)
        sidecars = (
            elements
            | "ByShard" >> beam.GroupByKey()
            | "BuildGroup" >> beam.ParDo(Step(steps.build_group, small))
        )
    return (
        sidecars
        | "AllShards" >> beam.GroupByKey()
        | "WriteManifest" >> beam.ParDo(Step(steps.write_manifest, bare))
    )


class Step(beam.DoFn):
    """A step of the job, which computes at once or in worker processes."""

    def __init__(
        self,
        compute: Callable[[Any, Job], Iterable[Any]],
        job: Job,
        workers: WorkerProcesses | None = None,
    ) -> None:
        self._compute, self._job, self._workers = compute, job, workers
        self._has_tools = False

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """By its name where all is done here: what Beam pickles it packs tightly."""
        if self._job.shuffle == "engine":
            return super().__reduce_ex__(protocol)
        _steps_here[id(self)] = self
        return _step_here, (id(self),)

    def start_bundle(self) -> None:
        """Refuse to work with tools that may give other bytes for the same text.

        Not when a worker is set up: Beam's Java would wait for minutes.
        """
        self._marked = marked_output(self._job.output, self._job.mark)
        if not self._has_tools:
            config = self._job.dataset.config
            here = tool_versions(config, tells_languages=True)
            for tool, version in self._job.versions.items():
                if here.get(tool) != version:
                    found = f"{tool} {here[tool]}" if tool in here else f"no {tool}"
                    raise AlbertError(
                        f"A worker has {found}, but the job was made with {version}; "
                        "build the workers' image from the same version of this "
                        "program, with the same extras."
                    )
            self._has_tools = True
        # What the workers are to do.
        self._elements: list[Any] = []

    def process(self, element: Any) -> Iterator[Any]:
        """What the step makes of an element, unless workers do it."""
        if self._workers is not None:
            self._elements.append(element)
            return
        self._marked.check()
        for result in self._compute(element, self._job):
            yield result
            self._marked.check()

    def finish_bundle(self) -> Iterator[Any]:
        """What the workers make of all elements; in process they are one bundle."""
        if self._workers is not None:
            results = self._workers.map(self._compute, self._elements)
            yield from map(GlobalWindows.windowed_value, results)


_steps_here: "WeakValueDictionary[int, Step]" = WeakValueDictionary()


def _step_here(name: int) -> Step:
    return _steps_here[name]


def run_here(transform: beam.PTransform, job: Job, workers: WorkerProcesses | None) -> None:
    """Run a job on this machine until it ends; an interrupt is raised as what it is."""
    with nothing_left_of_nothing(job), explained_errors(job):
        if workers is not None:
            workers.tell(job)
        # Never the DirectRunner, which would first download another from the network.
        pipeline = beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([]))
        _ = pipeline | "MakeData" >> transform
        pipeline.run()


def find_repeated_lines(job: Job, workers: WorkerProcesses | None) -> beam.PTransform:
    """Chunks -> chunks, once it is known which lines stand in too many documents."""
    if job.shuffle == "files":
        counted = "CountLines" >> beam.ParDo(Step(repeats.write_lines, job, workers))
        find = repeats.find_repeated
    else:
        bare = dataclasses.replace(job, chunks=())
        counted = (
            "CountLines" >> beam.ParDo(Step(repeats.lines_for_engine, bare))
            | "ByLine" >> beam.GroupByKey()
            | "Repeated" >> beam.ParDo(Step(repeats.repeated_line, bare))
        )
        find = repeats.keep_repeated
    return (
        counted
        | "AllLines" >> beam.GroupByKey()
        | "KeepRepeated" >> beam.ParDo(Step(find, job))
        | "SpreadAgain" >> beam.Reshuffle()
    )


@beam.ptransform_fn
def AddGone(elements: beam.PCollection, job: Job) -> beam.PCollection:
    """Documents and counts as they were read, once it is known which documents go.

    Ids are grouped by band, then each is brought together with those it meets.
    """

    def step(compute: Callable[[Any, Job], Iterable[Any]]) -> beam.PTransform:
        return compute.__name__ >> beam.ParDo(Step(compute, job))

    signed = elements | step(repeats.signed_documents)
    met = (
        signed
        | step(repeats.bands_of)
        | "ByBand" >> beam.GroupByKey()
        | step(repeats.pairs_of_band)
    )
    for name, compute in (("First", repeats.meetings), ("Second", repeats.near_copies)):
        met = (
            (signed, met)
            | f"With{name}" >> beam.Flatten()
            | f"By{name}" >> beam.GroupByKey()
            | step(compute)
        )
    known = (
        (met, elements | step(repeats.no_near_copies))
        | "AndNone" >> beam.Flatten()
        | "AllCopies" >> beam.GroupByKey()
        | step(repeats.keep_gone)
    )
    read = elements | step(repeats.all_but_signed)
    return (read, known) | "AndGone" >> beam.Flatten()
