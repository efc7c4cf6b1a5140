"""What goes wrong on a cluster: the same bytes in the end, or a sentence that helps."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest

from tests.engines import start
from tests.engines.conftest import arguments, cluster, processes
from tests.engines.test_engines import assert_same, is_of_beam
from tests.processes import children_of, wait_until
from tests.servers import HERE, free_port

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]

# For a machine that does much else.
SECONDS = 400
# A command that is interrupted ends in one or two.
SECONDS_TO_END = 30


class Job:
    """A command at work, and what it says."""

    def __init__(self, texts, folder, options, *, output=None):
        self.output, self._log = output or folder / "data", folder / "said"
        command = [*start.PYTHON, "-c", start.ALBERT, *arguments(texts, self.output)]
        command = [*map(str, (*command, *options))]
        with self._log.open("w") as file:
            self.process = subprocess.Popen(command, cwd=HERE, stderr=file)

    def await_shard(self):
        """Wait until the first shard is finished."""
        self.await_that(lambda: list(self.output.glob("shards/*.json")))

    def await_that(self, holds):
        """Wait for something that happens while the command runs."""

        def holds_while_it_runs():
            assert self.process.poll() is None, self._log.read_text()
            return holds()

        wait_until(holds_while_it_runs, seconds=SECONDS)

    def end(self, seconds=2 * SECONDS):
        """The exit code, and the last line of what was said."""
        code = self.process.wait(timeout=seconds)
        lines = self._log.read_text().splitlines()
        assert not [line for line in lines if is_of_beam(line)]
        return code, lines[-1]


@pytest.fixture
def start_job(longer, tmp_path):
    """Starts jobs, which end with the test."""
    with contextlib.ExitStack() as held:

        def begin(options, given=longer):
            job = Job(given, tmp_path, options)
            held.callback(job.process.wait)
            held.callback(job.process.kill)
            return job

        yield begin


@pytest.fixture
def makes_the_bytes(made):
    """Checks that a job succeeds, with what the default runner makes."""

    def check(job):
        code, said = job.end()
        assert code == 0, said
        assert_same(job.output, made)

    return check


def refusal_of(job):
    """What is said of a job that ends with the exit code 1."""
    code, said = job.end()
    assert code == 1, said
    return said


@contextlib.contextmanager
def stopped(process):
    """Let a process and those that it has started do nothing for a while."""
    process.send_signal(signal.SIGSTOP)
    below = children_of(process)
    for each in below:
        os.kill(each, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in (*below, process.pid):
            os.kill(each, signal.SIGCONT)


def is_at_work(engine, folder):
    """Whether a cluster works for any job."""
    if engine == "spark_cluster":
        return bool(processes("CoarseGrainedExecutorBackend", folder))
    port = re.search(r"^rest.port: (\d+)", (folder / "config.yaml").read_text(), re.M)[1]
    with urllib.request.urlopen(f"http://localhost:{port}/jobs/overview") as answer:
        jobs = json.load(answer)["jobs"]
    return any(job["state"] not in ("FAILED", "CANCELED", "FINISHED") for job in jobs)


@pytest.mark.parametrize("engine", ["flink_cluster", "spark_cluster"])
def test_a_worker_that_is_killed_costs_no_byte(
    request, start_job, tmp_path, makes_the_bytes, engine
):
    options = request.getfixturevalue(engine).options
    with start.pool_process(tmp_path) as (there, pool):
        job = start_job((*options, *there))
        job.await_shard()
        os.kill(children_of(pool)[-1], signal.SIGKILL)
        makes_the_bytes(job)


def test_a_killed_worker_of_an_engine_that_tries_once_is_named(flink_server, start_job, tmp_path):
    with start.pool_process(tmp_path) as (there, pool):
        job = start_job((*flink_server, *there))
        job.await_shard()
        os.kill(children_of(pool)[-1], signal.SIGKILL)
        assert job.end() == (
            1,
            "Error: A worker ended in the middle of its work: it was killed, or its machine had "
            "too little memory. What is finished is kept: run the same command again.",
        )


def test_a_task_manager_that_is_killed_costs_no_byte(start_job, pool, makes_the_bytes):
    with cluster(start.flink_cluster) as (folder, options):
        job = start_job((*options, *pool))
        job.await_shard()
        os.kill(processes("TaskManagerRunner", folder)[-1], signal.SIGKILL)
        # As whoever watches over a cluster starts another.
        with start.task_manager(folder, "-new"):
            makes_the_bytes(job)


def test_an_executor_that_is_killed_costs_no_byte(spark_cluster, start_job, pool, makes_the_bytes):
    # Executors are of one job: the cluster stays whole.
    folder, options = spark_cluster
    wait_until(lambda: not is_at_work("spark_cluster", folder), seconds=SECONDS)
    job = start_job((*options, *pool))
    job.await_shard()
    os.kill(processes("CoarseGrainedExecutorBackend", folder)[-1], signal.SIGKILL)
    makes_the_bytes(job)


@pytest.mark.parametrize(
    ("engine", "number", "code"),
    [("flink_cluster", signal.SIGINT, 130), ("spark_cluster", signal.SIGTERM, 143)],
)
def test_a_job_ends_with_its_command(
    request, start_job, tmp_path, makes_the_bytes, engine, number, code
):
    folder, options = request.getfixturevalue(engine)
    with start.pool_process(tmp_path) as (there, pool):
        job = start_job((*options, *there))
        job.await_that(lambda: children_of(pool))
        # So that the job cannot end before its command, whatever happens when.
        with stopped(pool):
            job.process.send_signal(number)
            assert job.end(seconds=SECONDS_TO_END) == (
                code,
                "Error: The job was told to end; it does so as soon as its workers have finished "
                "what they are at. Run the same command again: what is finished is kept.",
            )
        wait_until(lambda: not is_at_work(engine, folder), seconds=SECONDS)
        assert not (job.output / "manifest.json").exists()
        makes_the_bytes(start_job((*options, *there)))


def test_a_pool_that_is_killed_is_named(flink_cluster, start_job, tmp_path):
    with start.pool_process(tmp_path) as (there, pool):
        job = start_job((*flink_cluster.options, *there))
        job.await_shard()
        os.killpg(pool.pid, signal.SIGKILL)
        assert refusal_of(job).startswith("Error: No workers answer at localhost:")


def test_a_worker_with_tools_of_another_version_is_refused(flink_server, start_job, tmp_path):
    other = tmp_path / "sentencepiece-9.9.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nVersion: 9.9\n")
    elsewhere = {"PYTHONPATH": f"{tmp_path}"}
    with start.pool_process(tmp_path, environment=elsewhere) as (there, _):
        said = refusal_of(start_job((*flink_server, *there)))
    assert said.startswith("Error: A worker has sentencepiece 9.9, but the job was made")


def other_place(options, folder):
    """A program that gives another a place of its own at a folder."""
    if os.getuid() != 0 or not shutil.which("unshare"):
        pytest.skip("only root may mount")
    folder.mkdir()
    mounted = f'mount -t tmpfs -o {options} none {folder} && exec "$@"'
    return ("unshare", "--mount", "sh", "-c", mounted, "sh")


def test_a_worker_that_does_not_see_the_output_is_refused(flink_server, start_job, tmp_path):
    before = other_place("size=9m", tmp_path / "data")
    with start.pool_process(tmp_path, before=before) as (there, _):
        said = refusal_of(start_job((*flink_server, *there)))
    assert re.fullmatch(
        rf"Error: A worker on \S+ does not see the {tmp_path}/data of this command .*; "
        "give an output that every machine sees, such as s3://bucket/folder/, .*",
        said,
    )


def test_a_full_disk_at_a_worker_is_named(flink_server, start_job, tmp_path):
    # What the command itself writes there is little.
    limit = ("prlimit", "--fsize=70000")
    with start.pool_process(tmp_path, before=limit) as (there, _):
        job = start_job((*flink_server, *there))
        said = refusal_of(job)
    assert re.fullmatch(rf"Error: {job.output}/\S+ cannot be written: .*\.", said)


def test_a_job_server_that_is_killed_is_named(start_job, pool, tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    master = "--flink-master=[local]"
    with start.job_server(folder, "flink-1.19", master) as options:
        job = start_job((*options, *pool))
        job.await_shard()
        (server,) = processes("FlinkJobServerDriver", folder)
        os.kill(server, signal.SIGKILL)
        said = refusal_of(job)
    assert re.fullmatch(
        r"Error: The job server localhost:\d+ has ended or cannot be reached; what is "
        "finished is kept: run the same command again.",
        said,
    )


def test_a_pool_that_is_not_there_is_named(flink_server, start_job, tmp_path):
    address = f"localhost:{free_port()}"
    there = ("--environment_type=EXTERNAL", f"--environment_config={address}")
    said = refusal_of(start_job((*flink_server, *there)))
    assert said.startswith(f"Error: No workers answer at {address}; start albert ")


def test_an_engine_without_memory_for_a_shard_names_shards_and_heap(small, start_job, tmp_path):
    path = tmp_path / "long.jsonl"
    sentences = "It was late when he came home, and nobody was there any more. " * 120
    with path.open("w") as file:
        for number in range(4000):
            file.write(json.dumps({"text": f"Page {number}. {sentences}"}) + "\n")
    one_group = ("--num-shards", 1, "--eval-fraction", 0, "--near-duplicates", "keep")
    # Nothing but the heap is small.
    heap = ("-Xmx100m", "-XX:MaxDirectMemorySize=512m")
    options = (*one_group, *start.EMBEDDED["flink"])
    options += tuple(f"--job_server_jvm_properties={option}" for option in heap)
    code, said = start_job(options, given=(path, small / "vocab")).end(seconds=SECONDS)
    assert (code, said) == (
        1,
        "Error: The engine ran out of memory. It holds the text of a whole shard, here "
        "29.9 MB; give --num-shards 2 and --overwrite, or more memory by "
        "--job_server_jvm_properties=-Xmx4g after --.",
    )
