"""Beam's portable runner: a job server and a pool of workers, each of its own process.

What Flink and Spark use, without them. A job goes over the network as a graph, and its
documents through the engine's own shuffle.
"""

import contextlib
import subprocess
import sys
import time

import pytest

from pipeline.storage import files, remote
from tests.commands import contents, make_data
from tests.processes import ALBERT, children_of, needs_proc
from tests.servers import HERE, free_port, serving
from tests.storage_emulators import emulated

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def clustered():
    """The options that lead to a job server and a pool, and the pool's process."""
    jobs, workers = free_port(), free_port()
    pool = (*ALBERT, "worker", "--address", f"localhost:{workers}")
    with (
        serving(sys.executable, "-m", "tests.job_server", jobs, 2, port=jobs),
        serving(*pool, port=workers) as process,
    ):
        options = (
            f"--job_endpoint=localhost:{jobs}",
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{workers}",
        )
        yield options, process


@pytest.fixture(scope="module")
def cluster():
    """One for several jobs, one after the other."""
    with clustered() as options_and_pool:
        yield options_and_pool


@needs_proc
def test_several_processes_of_a_pool_write_the_bytes_of_one(small, tmp_path, cluster):
    options, pool = cluster
    here, there = tmp_path / "here", tmp_path / "there"
    make_data(small, output=here)
    job = start_there(small, there, options)
    most = 0
    while job.poll() is None:
        most = max(most, len(children_of(pool)))
        time.sleep(0.02)
    said = job.communicate()[1]
    assert job.returncode == 0, said
    assert most >= 2
    names = [name for name in contents(here) if name != "config.json"]
    assert [name for name in contents(there) if name != "config.json"] == names
    for name in names:
        assert (there / name).read_bytes() == (here / name).read_bytes(), name


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_writes_the_same_records_from_and_to_storage(small, tmp_path):
    here, there = tmp_path / "here", "s3://bucket/data"
    make_data(small, output=here)
    with emulated("s3"), clustered() as (options, _):
        remote._connected.cache_clear()
        remote._client(there)[0].mkdir("bucket")
        for path in (small / "text").iterdir():
            with files.new_file(f"s3://bucket/text/{path.name}") as file:
                file.write(path.read_bytes())
        code, said = run_there(small, there, options, text="s3://bucket/text/")
        assert code == 0, said
        records = contents_of_records(here)
        for name in records:
            there_data = files.read_whole(f"{there}/{name}")
            assert there_data == (here / name).read_bytes(), name
        found = files.find_below(there, "**/*.tfrecord")
        assert [path.removeprefix(f"{there}/") for path in found] == records
        assert ".work" not in str(files.sizes_below(there))
    remote._connected.cache_clear()


def contents_of_records(folder):
    return [name for name in contents(folder) if name.endswith(".tfrecord")]


def test_a_failure_in_a_worker_arrives_as_one_sentence(small, tmp_path, cluster):
    options, _ = cluster
    text = tmp_path / "text.txt"
    text.write_text("word\n")
    code, said = run_there(small, tmp_path / "d", options, text=text)
    assert code == 1
    assert said.splitlines()[-1].startswith(
        "Error: The inputs give no document to train on (left out: 1 x document of "
    )


def arguments(small, output, options, *, text=None):
    return [
        *("make-data", "--text", text or small / "text", "--vocab", small / "vocab"),
        *("--max-seq-length", 32, "--dupe-factor", 2, "--output", output),
        *("--runner", "PortableRunner", "--", *options),
    ]


def start_there(*given, **changed):
    return subprocess.Popen(
        [*ALBERT, *map(str, arguments(*given, **changed))],
        cwd=HERE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_there(*given, **changed):
    job = start_there(*given, **changed)
    said = job.communicate(timeout=300)[1]
    return job.returncode, said
