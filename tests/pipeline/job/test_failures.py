"""What is said of a job that an engine could not finish."""

from types import SimpleNamespace

import grpc
import pytest

from pipeline.job.failures import explain
from pipeline.job.runners import choose_runner
from schemas.errors import AlbertError

JOB = SimpleNamespace(text_bytes=295_000_000, shards=SimpleNamespace(train_shards=1))
SERVER = "--job_endpoint=localhost:8099"
HEAP = (
    "Pipeline x_1 failed in state FAILED: java.lang.OutOfMemoryError: Java heap space"
)
REFUSED = """Pipeline x_1 failed in state FAILED: \
org.apache.flink.runtime.rest.util.RestClientException: [Internal server error., \
<Exception on server side:
org.apache.flink.runtime.client.JobSubmissionException: Failed to submit job.
\tat org.apache.flink.runtime.dispatcher.Dispatcher.lambda$submit(Dispatcher.java:1)
Caused by: java.net.ConnectException: Connection refused: jobmanager/10.0.0.1:6124
\t... 3 more

End of exception on server side>]
]"""


def sentence(said, name="FlinkRunner", *flags):
    error = said if isinstance(said, Exception) else RuntimeError(said)
    explained = explain(error, JOB, choose_runner(name, flags))
    assert isinstance(explained, AlbertError)
    return str(explained)


@pytest.mark.parametrize(
    ("name", "flags", "heap"),
    [
        ("FlinkRunner", [], "--job_server_jvm_properties=-Xmx4g after --."),
        ("SparkRunner", [], "--job_server_jvm_properties=-Xmx4g after --."),
        (
            "SparkRunner",
            ["--spark_master_url=spark://node7:7077"],
            "--job_server_jvm_properties=-Dspark.executor.memory=4g after --.",
        ),
    ],
)
def test_out_of_memory_names_a_number_of_shards_and_the_option_of_the_heap(
    name, flags, heap
):
    said = sentence(HEAP, name, *flags)
    assert said == (
        "The engine ran out of memory. It holds the text of a whole shard, here 295 "
        f"MB; give --num-shards 9 and --overwrite, or more memory by {heap}"
    )


def test_a_cluster_that_runs_out_of_memory_names_its_own_option():
    said = sentence(HEAP, "FlinkRunner", "--flink_master=node7:8081")
    assert "taskmanager.memory.task.heap.size" in said


def test_a_refused_job_is_told_with_the_engines_first_cause():
    assert sentence(REFUSED) == (
        "The job failed: java.net.ConnectException: Connection refused: "
        "jobmanager/10.0.0.1:6124"
    )


def test_a_job_without_room_is_told_what_to_do():
    said = (
        "java.lang.RuntimeException: x\nCaused by: java.util.concurrent."
        "TimeoutException: Timeout has occurred: 20000 ms"
    )
    assert sentence(said).startswith("The engine has fewer free slots than the job ")


@pytest.mark.parametrize(
    "said",
    [
        "java.net.ConnectException: finishConnect(..) failed: Connection refused",
        "x\nCaused by: java.net.ConnectException: Connection refused: /127.0.0.1:50000",
    ],
)
def test_workers_that_do_not_answer_are_named(said):
    pool = ("--environment_type=EXTERNAL", "--environment_config=localhost:50000")
    assert sentence(said, "FlinkRunner", *pool) == (
        "No workers answer at localhost:50000; start albert worker --address "
        "localhost:50000 on every machine of the cluster and run the same command "
        "again."
    )


def test_an_error_of_python_in_a_worker_is_told_without_javas():
    said = (
        "java.lang.RuntimeException: Error received from SDK harness: "
        "Traceback (most recent call last):\n  File x\nOSError: [Errno 28] No space "
        "left on device [while running 'MakeData/BuildGroup']\n\n\tat org.apache.beam.x"
    )
    assert sentence(said) == (
        "The job failed: OSError: [Errno 28] No space left on device"
    )


class Lost(grpc.RpcError):
    def __str__(self):
        return "<RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n>"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Lost(), "The job server localhost:8099 has ended or cannot be reached; what "),
        (grpc.FutureTimeoutError(), "No job server answers at localhost:8099; start "),
        (
            FileNotFoundError(2, "No such file or directory", "java"),
            "--runner: PortableRunner needs Java, of which there is none here; ",
        ),
        (
            RuntimeError("Service failed to start up with error 1"),
            "The job server ended as it started; --debug shows what it said.",
        ),
    ],
)
def test_a_job_server_that_is_not_there_is_one_sentence(error, said):
    assert sentence(error, "PortableRunner", SERVER).startswith(said)
