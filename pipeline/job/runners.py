"""Where a job runs, on this machine or on a cluster, and Beam's options for it.

Beam ignores options that it does not know, and starts jobs that are bound to fail. Both
are refused here before anything is read.
"""

import contextlib
import importlib
import io
from collections.abc import Iterable
from typing import NamedTuple

from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    StandardOptions,
    TestOptions,
    WorkerOptions,
)

from pipeline.job.java_options import check_unknown
from pipeline.job.places import has_workers_here
from pipeline.storage.files import is_remote
from pipeline.storage.remote import scheme_of
from schemas.errors import SettingError

LOCAL_RUNNER = "FnApiRunner"
DATAFLOW = "DataflowRunner"

# The option of Beam's that says how many workers a cluster starts.
WORKERS_OPTION = {
    DATAFLOW: "--max_num_workers",
    "FlinkRunner": "--parallelism",
    "SparkRunner": "--sdk_worker_parallelism",
    "PortableRunner": "--sdk_worker_parallelism",
    "PrismRunner": "--sdk_worker_parallelism",
}
RUNNERS = (LOCAL_RUNNER, *WORKERS_OPTION)


class Runner(NamedTuple):
    """What runs a job.

    Attributes:
        name: One of `RUNNERS`.
        options: Beam's own, each of which Beam knows.
    """

    name: str
    options: PipelineOptions

    @property
    def is_local(self) -> bool:
        """Whether processes started by this one do the work."""
        return self.name == LOCAL_RUNNER

    @property
    def is_dry(self) -> bool:
        """Whether the job is only made and shown, never submitted."""
        return bool(self.options.view_as(TestOptions).dry_run)


def choose_runner(name: str, flags: Iterable[str]) -> Runner:
    """The runner of this name with these options of Beam's.

    Args:
        name: As given by --runner.
        flags: As given after `--`.

    Raises:
        SettingError: There is no such runner, Beam does not know an option or the
            runner would not follow it, or something that the runner needs is missing.
    """
    if name in ("DirectRunner", "SwitchingDirectRunner"):
        raise SettingError(
            f"--runner: {name} first downloads a program from the network; give "
            f"{LOCAL_RUNNER}, which is the default."
        )
    if name not in RUNNERS:
        raise SettingError(f"--runner must be one of {', '.join(RUNNERS)}, not {name}.")
    options = parse_options(name, list(flags))
    options.view_as(StandardOptions).runner = name
    # The steps need only this package, nothing of __main__.
    options.view_as(SetupOptions).save_main_session = False
    runner = Runner(name, options)
    _check_options(runner)
    return runner


def _check_options(runner: Runner) -> None:
    """Refuse options that a runner would not follow, and the lack of those it needs.

    Raises:
        SettingError: Names the option.
    """
    name, options = runner
    portable = options.view_as(PortableOptions)
    if runner.is_local and options.view_as(DirectOptions).direct_num_workers != 1:
        raise SettingError(
            f"--direct_num_workers: {LOCAL_RUNNER} takes --workers, before the --."
        )
    if name == DATAFLOW:
        _check_dataflow(options)
    elif runner.is_dry:
        raise SettingError(
            f"--dry_run: only {DATAFLOW} can check a job without running it, and "
            f"{name} would run it; leave it out."
        )
    if portable.output_executable_path:
        raise SettingError(
            "--output_executable_path writes a job to a file and does not run it, so "
            "that no data set is made; leave it out."
        )
    if name == "PortableRunner" and not portable.job_endpoint:
        raise SettingError(
            "--runner: PortableRunner needs a job server; give "
            "--job_endpoint=HOST:PORT after --."
        )


def parse_options(name: str, flags: list[str]) -> PipelineOptions:
    """Options of Beam's, each of which Beam knows for a runner.

    Raises:
        SettingError: Beam does not know an option, or its value has the wrong type.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            options = PipelineOptions(flags)
            known = options.get_all_options()
            given = options.get_all_options(retain_unknown_options=True)
    except SystemExit:
        reason = said.getvalue().strip().rpartition("error: ")[2]
        raise SettingError(f"Beam's options after --: {reason}.") from None
    check_unknown(name, flags, unknown=set(given) - set(known))
    if any(flag.split("=")[0] == "--runner" for flag in flags):
        raise SettingError("--runner belongs before the --, not after it.")
    return options


def _check_dataflow(options: PipelineOptions) -> None:
    try:
        importlib.import_module("apache_beam.runners.dataflow.internal.apiclient")
    except ImportError:
        raise SettingError(
            f"--runner: {DATAFLOW} needs another part of Beam; install "
            "albert-pretraining[gcp]."
        ) from None
    setup = options.view_as(SetupOptions)
    image = options.view_as(WorkerOptions).sdk_container_image
    if not (image or setup.setup_file or setup.extra_packages):
        raise SettingError(
            f"--runner: the workers of {DATAFLOW} need this program; give "
            "--sdk_container_image after -- (docs/dataflow.md says how to make one)."
        )


def check_places(
    runner: Runner, *, output: str, inputs: Iterable[str], workers: int | None
) -> None:
    """Refuse paths and settings that mean nothing to the workers of a runner.

    Args:
        runner: As chosen.
        output: The data set.
        inputs: Every path given.
        workers: As given by --workers; None if it was not given.

    Raises:
        SettingError: The workers are elsewhere and a path is on this machine, the
            output can only be read, or --workers was given for a cluster.
    """
    if is_remote(output) and not scheme_of(output).can_write:
        raise SettingError(
            f"--output: {output} can only be read; give a folder here or one such as "
            "s3://bucket/folder."
        )
    if runner.is_local:
        return
    if workers is not None:
        raise SettingError(
            f"--workers counts processes on this machine; {runner.name} takes "
            f"{WORKERS_OPTION[runner.name]} after --."
        )
    if runner.is_dry or has_workers_here(runner.name, runner.options):
        return
    for flag, path in [("--output", output), *(("inputs", path) for path in inputs)]:
        if not is_remote(path):
            raise SettingError(
                f"{flag}: {path} is on this machine, where the workers of "
                f"{runner.name} cannot see it; give one such as gs://bucket/folder/."
            )
