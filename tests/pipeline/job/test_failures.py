"""What is said of a job that an engine could not finish."""

from types import SimpleNamespace

import grpc
import pytest

from pipeline.job.beam import explain
from pipeline.job.runners import choose_runner
from schemas.errors import AlbertError

JOB = SimpleNamespace(text_bytes=295_000_000, shards=SimpleNamespace(train_shards=1))
FLINK, SPARK = "FlinkRunner", "SparkRunner"
SERVER = "PortableRunner --job_endpoint=localhost:8099"
HEAP = "Pipeline x_1 failed in state FAILED: java.lang.OutOfMemoryError: Java heap space"
REFUSED = """Pipeline x_1 failed in state FAILED: \
org.apache.flink.runtime.rest.util.RestClientException: [Internal server error., \
<Exception on server side:
org.apache.flink.runtime.client.JobSubmissionException: Failed to submit job.
\tat org.apache.flink.runtime.dispatcher.Dispatcher.lambda$submit(Dispatcher.java:1)
Caused by: java.net.ConnectException: Connection refused: jobmanager/10.0.0.1:6124
\t... 3 more

End of exception on server side>]
]"""


class Lost(grpc.RpcError):
    def __str__(self):
        return "<RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n>"


MEMORY = (
    "The engine ran out of memory. It holds the text of a whole shard, here 295 MB; "
    "give --num-shards 9 and --overwrite, or more memory by "
)
XMX = f"{MEMORY}--job_server_jvm_properties=-Xmx4g after --."
TASKS = (
    " A task of Spark holds all that it makes too, less if there are more: "
    "--job_server_jvm_properties=-Dspark.default.parallelism=9."
)
LOST_WORKER = (
    "A worker ended in the middle of its work: it was killed, or its machine had too "
    "little memory. What is finished is kept: run the same command again."
)
NO_ROOM = (
    "java.lang.RuntimeException: x\nCaused by: java.util.concurrent.TimeoutException: "
    "Timeout has occurred: 20000 ms"
)
OF_PYTHON = (
    "java.lang.RuntimeException: Error received from SDK harness: Traceback (most "
    "recent call last):\n  File x\nOSError: [Errno 28] No space left on device "
    "[while running 'MakeData/BuildGroup']\n\n\tat org.apache.beam.x"
)
POOL = f"{FLINK} --environment_type=EXTERNAL --environment_config=localhost:50000"
NO_POOL = (
    "No workers answer at localhost:50000; start albert worker --address "
    "localhost:50000 on every machine of the cluster and run the same command again."
)


@pytest.mark.parametrize(
    ("error", "runner", "said"),
    [
        (HEAP, FLINK, XMX),
        (HEAP, SPARK, f"{XMX}{TASKS}"),
        (
            *(HEAP, f"{SPARK} --spark_master_url=spark://node7:7077"),
            f"{MEMORY}--job_server_jvm_properties=-Dspark.executor.memory=4g after --.{TASKS}",
        ),
        (
            *(HEAP, f"{FLINK} --flink_master=node7:8081"),
            f"{MEMORY}taskmanager.memory.task.heap.size of Flink, spark.executor.memory of Spark, "
            "or -Xmx of the job server where the engine is in it.",
        ),
        (f"{HEAP}\nCaused by: io.grpc.StatusRuntimeException: CANCELLED: x", FLINK, XMX),
        (
            *(REFUSED, FLINK),
            "The job failed: java.net.ConnectException: Connection refused: "
            "jobmanager/10.0.0.1:6124",
        ),
        (
            *(NO_ROOM, FLINK),
            "The engine has fewer free slots than the job asks for; give a smaller --parallelism "
            "after --, or start more TaskManagers, and run the same command again.",
        ),
        (
            "x\nCaused by: org.apache.beam.vendor.grpc.v1p60p1.io.grpc."
            "StatusRuntimeException: CANCELLED: client cancelled",
            *(SPARK, LOST_WORKER),
        ),
        (
            "bundle inst022 stage-024 failed:SDK worker disconnected: worker[job-001"
            "[job]_ref_Environment_default_environment_1], 2 active instructions, "
            "error: context canceled",
            *("PrismRunner", LOST_WORKER),
        ),
        (
            "x\nCaused by: java.io.IOException: The record exceeds the maximum size of "
            "a sort buffer (current maximum: 5505024 bytes).",
            FLINK,
            "A buffer in which Flink sorts is too small for what a TaskManager has "
            "read of one shard; give --num-shards 9 and --overwrite, or more of "
            "taskmanager.memory.managed.size in Flink's config.yaml.",
        ),
        ("java.net.ConnectException: finishConnect(..) failed: Connection refused", POOL, NO_POOL),
        (
            "x\nCaused by: java.net.ConnectException: Connection refused: /127.0.0.1:50000",
            *(POOL, NO_POOL),
        ),
        (OF_PYTHON, FLINK, "The job failed: OSError: [Errno 28] No space left on device"),
        (
            *(Lost(), SERVER),
            "The job server localhost:8099 has ended or cannot be reached; what is "
            "finished is kept: run the same command again.",
        ),
        (
            *(grpc.FutureTimeoutError(), SERVER),
            "No job server answers at localhost:8099; start it, or correct its address.",
        ),
        (
            *(FileNotFoundError(2, "No such file or directory", "java"), SERVER),
            "--runner: PortableRunner needs Java, which is not installed here; "
            "install Java 11 or 17.",
        ),
        (
            *("Service failed to start up with error 1", SERVER),
            "The job server ended as it started; --debug shows what it said.",
        ),
    ],
)
def test_what_an_engine_could_not_do_is_one_sentence(error, runner, said):
    error = RuntimeError(error) if isinstance(error, str) else error
    name, *flags = runner.split()
    explained = explain(error, JOB, choose_runner(name, flags))
    assert isinstance(explained, AlbertError)
    assert str(explained) == said
