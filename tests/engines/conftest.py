"""Engines that several tests use: each is started once, and stays whole.

A test that kills a part of a cluster which outlives a job starts one of its own.
"""

import contextlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.commands import run, write_topics
from tests.engines import start
from tests.engines.install import PRISM, missing_tools


@pytest.fixture(scope="session")
def installed():
    """Where engines are missing the tests are left out, unless they must not be."""
    missing = missing_tools() if PRISM.exists() else ["engines"]
    if missing:
        line = f"no {', no '.join(missing)} here; Flink, Spark and Prism are left out"
        if os.environ.get("ALBERT_ENGINES_REQUIRED"):
            pytest.fail(line)
        pytest.skip(line)


def processes(word, folder):
    """The numbers of processes of a program that work in a folder or name it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (path / "cmdline").read_bytes().decode(errors="replace")
            place = os.readlink(path / "cwd")
            if word in line and (f"{folder}" in line or place.startswith(f"{folder}")):
                found.append(int(path.name))
    return sorted(found)


class Cluster(NamedTuple):
    """A cluster at work.

    Attributes:
        folder: Where its parts work.
        options: What leads to it.
    """

    folder: Any
    options: tuple[str, ...]


@contextlib.contextmanager
def cluster(start_it):
    with start.short_folder() as folder, start_it(folder) as options:
        yield Cluster(folder, options)


@pytest.fixture(scope="session")
def flink_cluster(installed):
    with cluster(start.flink_cluster) as there:
        yield there


@pytest.fixture(scope="session")
def spark_cluster(installed):
    with cluster(start.spark_cluster) as there:
        yield there


@pytest.fixture(scope="session")
def flink_server(installed):
    """The options that lead to a job server with a Flink in it."""
    parallelism = ("--parallelism=2",)
    with (
        start.short_folder() as folder,
        start.job_server(
            folder, "flink-1.19", "--flink-master=[local]", job_options=parallelism
        ) as options,
    ):
        yield options


@pytest.fixture(scope="session")
def longer(small, tmp_path_factory):
    """Enough text that a job is still at work when something is killed, and its vocabulary."""
    folder = tmp_path_factory.mktemp("longer") / "text"
    write_topics(folder, count=40)
    return folder, small / "vocab"


def arguments(texts, output):
    """The command that makes data of texts with a vocabulary."""
    text, vocab = texts
    settings = ("--max-seq-length", 64, "--dupe-factor", 4, "--num-shards", 12)
    return ("make-data", "--text", text, "--vocab", vocab, "--output", output, *settings)


@pytest.fixture(scope="session")
def made(longer, tmp_path_factory):
    """What the default runner makes of it."""
    folder = tmp_path_factory.mktemp("wanted") / "data"
    run(*arguments(longer, folder), "--workers", 1)
    return folder


@pytest.fixture(scope="session")
def pool():
    """The options that name a pool of workers."""
    with start.short_folder() as folder, start.pool_process(folder) as (options, _):
        yield options
