"""Clusters that run a job: the options that Beam and their engines know.

Engines ignore an option that they do not know, and write a path of this machine on each
of theirs. Both are refused here before anything is read.
"""

import contextlib
import importlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from apache_beam.options.pipeline_options import (
    DebugOptions,
    FlinkRunnerOptions,
    PipelineOptions,
    PortableOptions,
    SetupOptions,
    SparkRunnerOptions,
    StandardOptions,
    TestOptions,
    WorkerOptions,
)
from apache_beam.portability.api import beam_job_api_pb2
from apache_beam.runners.portability.portable_runner import JobServiceHandle, PortableRunner
from apache_beam.runners.runner import PipelineRunner, create_runner

from pipeline.job.cluster_worker import THIS_MACHINE
from pipeline.storage.files import is_remote
from schemas.errors import SettingError

DATAFLOW = "DataflowRunner"

# The option of Beam's that says how many workers a cluster starts.
WORKERS_OPTION = {
    DATAFLOW: "--max_num_workers",
    "FlinkRunner": "--parallelism",
    "SparkRunner": "--sdk_worker_parallelism",
    "PortableRunner": "--sdk_worker_parallelism",
    "PrismRunner": "--sdk_worker_parallelism",
}

# How long workers wait for the next stage of their job. Without it Spark starts one for
# each stage and task, which takes longer than all the work on a small text.
KEEP_WORKERS_MS = 20_000

# An engine without an address is started for one command.
_HERE = {"", *THIS_MACHINE}
# Masters that are started for one command, inside its job server.
_EMBEDDED = re.compile(r"|local(\[.+\])?|\[(auto|local|collection)\]")


class Runner(NamedTuple):
    """A cluster, and options of Beam's, each of which Beam knows."""

    name: str
    options: PipelineOptions

    @property
    def is_dry(self) -> bool:
        """Whether the job is only made and shown, never submitted."""
        return bool(self.options.view_as(TestOptions).dry_run)

    @property
    def goes_on_alone(self) -> bool:
        """Whether a job goes on when its command ends."""
        return self.name == DATAFLOW


def choose_runner(name: str, flags: Sequence[str]) -> Runner:
    """The cluster of this name, with the options of Beam's given after `--`."""
    with _one_sentence():
        options = PipelineOptions(list(flags))
        known = options.get_all_options()
        given = options.get_all_options(retain_unknown_options=True)
    if _is_known_here(name, options):
        _refuse_unknown(set(given) - set(known), name)
    if any(flag.split("=")[0] == "--runner" for flag in flags):
        raise SettingError("--runner belongs before the --, not after it.")
    options.view_as(StandardOptions).runner = name
    # The steps need only this package, nothing of __main__.
    options.view_as(SetupOptions).save_main_session = False
    runner = Runner(name, options)
    portable = options.view_as(PortableOptions)
    if name == DATAFLOW:
        _check_dataflow(options)
    else:
        if runner.is_dry:
            raise SettingError(
                f"--dry_run: only {DATAFLOW} can check a job without running it, and "
                f"{name} would run it; leave it out."
            )
        # Else it lists the packages that are installed here, and nobody reads the list.
        debug = options.view_as(DebugOptions)
        debug.add_experiment("disable_logging_submission_environment")
        # Left to itself Beam takes LOOPBACK for some, with workers of its own.
        portable.environment_type = environment_of(runner)
        portable.environment_cache_millis = portable.environment_cache_millis or KEEP_WORKERS_MS
    if portable.output_executable_path:
        raise SettingError(
            "--output_executable_path writes a job to a file and does not run it, so "
            "that no data set is made; leave it out."
        )
    if name == "PortableRunner" and not portable.job_endpoint:
        raise SettingError(
            "--runner: PortableRunner needs a job server; give --job_endpoint=HOST:PORT after --."
        )
    if name == "SparkRunner" and options.view_as(SparkRunnerOptions).spark_submit_uber_jar:
        raise SettingError(
            "--spark_submit_uber_jar leaves the job's jar on this machine, and a "
            "cluster does not find it; leave it out, and give "
            "--spark_master_url=spark://HOST:7077."
        )
    return runner


@contextlib.contextmanager
def _one_sentence() -> Iterator[None]:
    """Say what argparse finds wrong with Beam's options, without its usage."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            yield
    except SystemExit:
        reason = said.getvalue().strip().rpartition("error: ")[2]
        raise SettingError(f"Beam's options after --: {reason}.") from None


def _is_known_here(name: str, options: PipelineOptions) -> bool:
    """Whether no job server knows options of its own."""
    flink = options.view_as(FlinkRunnerOptions)
    return name == DATAFLOW or bool(flink.flink_submit_uber_jar)


def _refuse_unknown(names: Iterable[str], runner: str) -> None:
    for name in sorted(names):
        raise SettingError(
            f"--{name} is not an option that Beam knows for {runner}; albert's "
            "own flags come before the --, Beam's after it."
        )


class CheckedJob(JobServiceHandle):
    """A job that is submitted only with options that its server knows."""

    def get_pipeline_options(self) -> Any:
        """The options as Beam encodes them.

        Beam itself drops those that nobody knows, and exits for a wrong type.
        """
        request = beam_job_api_pb2.DescribePipelineOptionsRequest()
        answer = self.job_service.DescribePipelineOptions(request, timeout=self.timeout)
        known = {option.name for option in answer.options}
        known |= self.options.get_all_options().keys()
        given = self.options.get_all_options(retain_unknown_options=True)
        _refuse_unknown(given.keys() - known, "this engine")
        with _one_sentence():
            return super().get_pipeline_options()


@contextlib.contextmanager
def engine_of(runner: Runner) -> Iterator[PipelineRunner]:
    """Beam's runner, which asks the job server about options.

    A server that it starts ends with the block; Beam does not end it at every error.
    """
    engine = create_runner(runner.name)
    with contextlib.ExitStack() as held:
        if isinstance(engine, PortableRunner):
            if not _is_known_here(*runner):
                engine.create_job_service_handle = CheckedJob
            start = engine.default_job_server

            def start_until_the_end(options: PipelineOptions) -> Any:
                server = start(options)
                held.callback(server.stop)
                return server

            engine.default_job_server = start_until_the_end
        yield engine


def _check_dataflow(options: PipelineOptions) -> None:
    try:
        importlib.import_module("apache_beam.runners.dataflow.internal.apiclient")
    except ImportError:
        raise SettingError(
            f"--runner: {DATAFLOW} needs another part of Beam; install albert-pretraining[gcp]."
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
    """Refuse paths and settings that mean nothing to the workers of a cluster."""
    if workers is not None:
        raise SettingError(
            f"--workers counts processes on this machine; {runner.name} takes "
            f"{WORKERS_OPTION[runner.name]} after --."
        )
    if runner.is_dry or has_workers_here(runner):
        return
    for flag, path in [("--output", output), *(("inputs", path) for path in inputs)]:
        if not is_remote(path):
            raise SettingError(
                f"{flag}: {path} is on this machine, where the workers of "
                f"{runner.name} cannot see it; give one such as gs://bucket/folder/."
            )


def has_workers_here(runner: Runner) -> bool:
    """Whether the workers of a job share this machine's files."""
    if runner.name == DATAFLOW:
        return False
    engine, kind = _host(engine_address(runner)), environment_of(runner)
    if kind == "EXTERNAL":
        pool = _host(pool_address(runner))
        return {engine, pool} <= _HERE
    # Workers of LOOPBACK are of this process, wherever the engine is.
    return kind == "LOOPBACK" or (kind == "PROCESS" and engine in _HERE)


def environment_of(runner: Runner) -> str:
    """What kind of workers a job has: Beam's own choice where none is given."""
    given = runner.options.view_as(PortableOptions).environment_type
    is_elsewhere = runner.name == DATAFLOW or _host(engine_address(runner))
    return given or ("DOCKER" if is_elsewhere else "LOOPBACK")


def heap_option(runner: Runner) -> str:
    """What gives an engine more memory."""
    if runner.name == "PrismRunner":
        return "another runner, for Prism keeps all text in memory"
    if not _host(engine_address(runner)):
        return "--job_server_jvm_properties=-Xmx4g after --"
    if runner.name == "SparkRunner":
        return "--job_server_jvm_properties=-Dspark.executor.memory=4g after --"
    return (
        "taskmanager.memory.task.heap.size of Flink, spark.executor.memory of Spark, "
        "or -Xmx of the job server where the engine is in it"
    )


def engine_address(runner: Runner) -> str:
    """Where the engine is; empty if it is started for this command."""
    if endpoint := runner.options.view_as(PortableOptions).job_endpoint:
        return str(endpoint)
    if runner.name == "FlinkRunner":
        return str(runner.options.view_as(FlinkRunnerOptions).flink_master)
    if runner.name == "SparkRunner":
        return str(runner.options.view_as(SparkRunnerOptions).spark_master_url or "")
    return ""


def pool_address(runner: Runner) -> str:
    """Where the pool of EXTERNAL is, given as `host:port` or JSON; empty for others."""
    if environment_of(runner) != "EXTERNAL":
        return ""
    config = runner.options.view_as(PortableOptions).environment_config or ""
    try:
        return str(json.loads(config)["url"])
    except (ValueError, TypeError, KeyError):
        return str(config)


def _host(address: str) -> str:
    """The machine of an address, empty for an engine started for one command.

    >>> _host("http://node7:8081"), _host("[::1]:9"), _host("local[2]")
    ('node7', '::1', '')
    """
    if _EMBEDDED.fullmatch(address):
        return ""
    return urlsplit(address if "://" in address else f"//{address}").hostname or ""
