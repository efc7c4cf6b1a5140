"""What the failure of a job means, in one sentence.

In this process an error has its type. An engine hands over text: Python's traceback
within Java's, of which the first cause is what matters.
"""

import contextlib
import re
from collections.abc import Iterator

import grpc

from pipeline.dataset.manifest import NothingToTrainOn
from pipeline.job.plan import Job
from pipeline.job.runners import Runner, engine_address, heap_option, pool_address
from schemas.config import SHARD_BYTES
from schemas.errors import AlbertError, SettingError
from schemas.readable import counted, prefixed

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
