"""The Beam chain: chunks -> documents by shard -> shards -> manifest.

One linear chain without side inputs, tagged outputs or Beam's own file readers behaves
the same on every runner. On one machine Beam's in-process runner carries it and opens
no port; what has work for many cores is handed to worker processes, all elements of a
step at once. On a cluster the same steps compute where the engine calls them.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineResult
from apache_beam.transforms.window import GlobalWindows

from pipeline.dataset.plan import tool_versions
from pipeline.job import repeats, spill, steps
from pipeline.job.failures import explained_errors
from pipeline.job.plan import Job
from pipeline.job.runners import Runner, engine_of
from pipeline.job.submission import (
    is_marked,
    mark_of,
    marked_output,
    run_there,
    submit,
    write_mark,
)
from pipeline.job.worker_processes import WorkerProcesses
from pipeline.storage import files as storage
from schemas.errors import AlbertError
from schemas.files import TEMPORARY
from schemas.layout import SPM_MODEL, SUBMITTED

Shuffle = Literal["files", "engine"]


def make_dataset(
    job: Job,
    *,
    workers: WorkerProcesses | None = None,
    runner: Runner | None = None,
    shuffle: Shuffle | None = None,
) -> PipelineResult:
    """Make a data set, or finish one that was interrupted: what is finished is kept.

    Of one without a document to train on (`NothingToTrainOn`) nothing is left.

    Args:
        workers: Processes of this machine; None to do all in this one, or on a cluster.
        runner: The cluster; None for this machine.
        shuffle: Whether documents wait in files or in the engine; the bytes are the
            same, but only files keep memory constant here and survive an interruption.
    """
    shuffle = shuffle or ("engine" if runner else "files")
    if runner and not runner.is_dry:
        job = dataclasses.replace(job, mark=mark_of(job, runner))
    transform = chain(job, shuffle=shuffle, workers=workers)
    if runner and runner.is_dry:
        with engine_of(runner) as engine:
            return submit(transform, job, runner, engine)
    spill.forget_incomplete(job.output)
    # Of a job that Dataflow still runs, and refuses again, nothing is taken away.
    if shuffle == "engine" and not (runner and is_marked(job.output, job.mark)):
        spill.forget_chunks(job.output)
    with storage.new_file(storage.join(job.output, SPM_MODEL)) as file:
        file.write(job.model)
    if runner:
        write_mark(job.output, job.mark)
        result = run_there(transform, job, runner)
    else:
        # Workers that a cluster may still have end without it.
        storage.remove(storage.join(job.output, SUBMITTED))
        result = run_here(transform, job, workers)
    # The files of a command that was run meanwhile are not for this one to remove.
    if not runner or is_marked(job.output, job.mark):
        spill.forget_chunks(job.output)
        # What killed workers were writing.
        for path in storage.find_below(job.output, f"**/*{TEMPORARY}*"):
            storage.remove(path)
    return result


def chain(
    job: Job, *, shuffle: Shuffle, workers: WorkerProcesses | None
) -> beam.PTransform:
    """The whole job: chunks -> documents by shard -> files -> manifest."""
    start = "Chunks" >> beam.Create(job.chunks) | "Spread" >> beam.Reshuffle()
    # A graph has each step's job several times: packing its model takes time, and
    # Dataflow takes a graph of up to 10 MB.
    small = dataclasses.replace(job, chunks=())
    modelless = dataclasses.replace(job, model=b"")
    bare = dataclasses.replace(modelless, chunks=())
    if job.dataset.config.max_line_repeats:
        start |= "DropRepeated" >> find_repeated_lines(
            modelless, workers, shuffle=shuffle
        )
    if shuffle == "files":
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


def run_here(
    transform: beam.PTransform, job: Job, workers: WorkerProcesses | None
) -> PipelineResult:
    """Run a job on this machine until it ends; an interrupt is raised as what it is."""
    with explained_errors(job):
        if workers is not None:
            workers.tell(job)
        # Never the DirectRunner, which would first download another from the network.
        pipeline = beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([]))
        _ = pipeline | "MakeData" >> transform
        return pipeline.run()


def find_repeated_lines(
    job: Job, workers: WorkerProcesses | None, *, shuffle: Shuffle
) -> beam.PTransform:
    """Chunks -> chunks, once it is known which lines stand in too many documents."""
    if shuffle == "files":
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
    for name, compute in (
        ("First", repeats.meetings),
        ("Second", repeats.near_copies),
    ):
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
