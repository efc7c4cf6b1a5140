"""Clusters that run a job: Beam's options for them, and what a failure means.

Engines ignore an option that they do not know, and write a path of this machine on each
of theirs. Both are refused here before anything is read.

In this process an error has its type. An engine hands over text: Python's traceback
within Java's, of which the first cause is what matters.
"""

import contextlib
import importlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import grpc
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

from pipeline.dataset.manifest import NothingToTrainOn
from pipeline.job.cluster_worker import THIS_MACHINE
from pipeline.job.plan import Job
from pipeline.storage.files import is_remote
from schemas.config import SHARD_BYTES
from schemas.errors import AlbertError, SettingError
from schemas.readable import counted, prefixed

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


# The types that a caller tells apart, as they stand in what an engine says of a step.
_TYPES = {kind.__name__: kind for kind in (NothingToTrainOn, SettingError, AlbertError)}
_IN_TEXT = re.compile(rf"\b({'|'.join(_TYPES)}): (.+?)(?: \[while running|\\n|$)", re.M)
_OF_PYTHON = re.compile(r"^([\w.]+: .+?) \[while running", re.M)
_OF_JAVA = re.compile(r"^\s*Caused by: (.+)$", re.M)
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
