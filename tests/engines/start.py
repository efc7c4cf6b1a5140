"""Engines on free ports of this machine; each ends with the block that uses it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tests.engines.install import FLINK, OPENED, PRISM, SERVERS, SPARK, jar_of
from tests.servers import HERE, free_port

PYTHON = (sys.executable, "-W", "ignore")
ALBERT = "from cli.main import cli; cli()"
# What a server has to start, on a machine that does much else too.
SECONDS = 300

# A JVM of the tests lives for seconds: it compiles quickly rather than well.
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
_OPEN = tuple(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED)
_JAVA = ("java", *_QUICK, *_OPEN)
# Megabytes of heap for the tasks of a TaskManager and for an executor.
TASK_HEAP, EXECUTOR_HEAP = 256, 512
_QUICK_SERVER = tuple(f"--job_server_jvm_properties={option}" for option in _QUICK)
_LOOPBACK = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(SPARK)}
# Else Spark looks for folders of its own sources to find it out.
_LOOPBACK["SPARK_SCALA_VERSION"] = "2.12"


@contextlib.contextmanager
def running(*command, log, environment=()):
    """A process of a session of its own, which ends with all that it started."""
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [*map(str, command)],
            cwd=HERE,
            env=os.environ | dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def await_port(port, process, log):
    wait_until(lambda: can_connect(port), process, log)


def can_connect(port, host="localhost"):
    with contextlib.suppress(OSError), socket.create_connection((host, port)):
        return True
    return False


def wait_until(holds, process, log, *, ended=False):
    """Wait for a server; what it wrote is said if it ends or takes too long."""
    end = time.monotonic() + SECONDS
    while not holds():
        if (not ended and process.poll() is not None) or time.monotonic() > end:
            raise AssertionError(f"{log} ends in:\n{log.read_text()[-2000:]}")
        time.sleep(0.2)


def answers(url, wanted):
    """Whether a server's answer has a text."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
        return wanted in answer.read().decode()
    return False


@contextlib.contextmanager
def pool_process(folder, *, before=(), environment=()):
    """`albert worker`; gives the options that name it, and its process.

    Args:
        folder: For its log.
        before: A program that runs it.
        environment: More of it.
    """
    port, log = free_port(), folder / "pool.log"
    command = (*PYTHON, "-c", ALBERT, "worker", "--address", f"localhost:{port}")
    with running(*before, *command, log=log, environment=environment) as process:
        await_port(port, process, log)
        options = ("--environment_type=EXTERNAL", f"--environment_config=localhost:{port}")
        yield options, process


def started_workers(folder):
    """A program that starts a worker; gives the options that name it."""
    boot = folder / "boot"
    boot.write_text(f"#!/bin/sh\nexec {' '.join(PYTHON)} -c '{ALBERT}' worker \"$@\"\n")
    boot.chmod(0o755)
    return ("--environment_type=PROCESS", f'--environment_config={{"command":"{boot}"}}')


# Workers of the command that submits the job.
OWN_WORKERS = ("--environment_type=LOOPBACK",)


@contextlib.contextmanager
def job_server(folder, server, *arguments, properties=(), job_options=()):
    """A job server for a cluster; gives the options that name it, and more."""
    port, log = free_port(), folder / "jobs.log"
    command = (
        *(*_JAVA, "-Xmx512m", *properties, "-cp", jar_of(server), SERVERS[server]),
        *(f"--job-port={port}", "--artifact-port=0", "--expansion-port=0"),
        f"--artifacts-dir={folder / 'artifacts'}",
        *arguments,
    )
    with running(*command, log=log, environment=_LOOPBACK) as process:
        await_port(port, process, log)
        yield (
            *("--runner", "PortableRunner", "--", f"--job_endpoint=localhost:{port}"),
            *job_options,
        )


def flink_settings(folder, *, heap=TASK_HEAP):
    """Of a TaskManager of one slot and its JobManager, on free ports."""
    return {
        "jobmanager.rpc.address": "localhost",
        "jobmanager.rpc.port": free_port(),
        "jobmanager.bind-host": "localhost",
        "rest.address": "localhost",
        "rest.bind-address": "localhost",
        "rest.port": free_port(),
        "taskmanager.host": "localhost",
        "taskmanager.bind-host": "localhost",
        "taskmanager.numberOfTaskSlots": 1,
        "io.tmp.dirs": folder,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 3,
        "restart-strategy.fixed-delay.delay": "1 s",
        # A TaskManager that starts before its JobManager asks again soon.
        "cluster.registration.error-delay": 1000,
        "heartbeat.interval": 1000,
        "heartbeat.timeout": 15000,
        "slot.request.timeout": 30000,
        # What Flink's own scripts would work out.
        "taskmanager.cpu.cores": 1.0,
        "taskmanager.memory.framework.heap.size": "128m",
        "taskmanager.memory.framework.off-heap.size": "128m",
        "taskmanager.memory.jvm-metaspace.size": "256m",
        "taskmanager.memory.jvm-overhead.min": "64m",
        "taskmanager.memory.jvm-overhead.max": "64m",
        "taskmanager.memory.task.heap.size": f"{heap}m",
        "taskmanager.memory.task.off-heap.size": "0m",
        "taskmanager.memory.managed.size": "64m",
        "taskmanager.memory.network.min": "128m",
        "taskmanager.memory.network.max": "128m",
    }


def write_settings(folder, settings):
    lines = [f"{name}: {value}\n" for name, value in settings.items()]
    (folder / "config.yaml").write_text("".join(lines))


@contextlib.contextmanager
def flink_cluster(folder, task_managers=2, *, heap=TASK_HEAP):
    """A JobManager and TaskManagers of a slot each."""
    settings = flink_settings(folder, heap=heap)
    write_settings(folder, settings)
    log = folder / "manager.log"
    with contextlib.ExitStack() as held:
        manager = held.enter_context(job_manager(folder, log=log))
        for number in range(task_managers):
            held.enter_context(task_manager(folder, number, heap=heap))
        rest = settings["rest.port"]
        url, found = (f"http://localhost:{rest}/overview", f'"taskmanagers":{task_managers}')
        wait_until(lambda: answers(url, found), manager, log)
        master = f"--flink-master=localhost:{rest}"
        # Not what the cluster says, for it is the job server that plans the job.
        options = (f"--parallelism={task_managers}",)
        yield held.enter_context(job_server(folder, "flink-1.19", master, job_options=options))


def job_manager(folder, *, log, before=()):
    main = "entrypoint.StandaloneSessionClusterEntrypoint"
    return part_of_flink(folder, main, log=log, before=before)


def task_manager(folder, number, *, before=(), heap=TASK_HEAP):
    """One more TaskManager of the cluster that the settings in a folder name."""
    main, log = "taskexecutor.TaskManagerRunner", folder / f"tasks{number}.log"
    return part_of_flink(folder, main, log=log, before=before, heap=heap)


def part_of_flink(folder, main, *, log, before=(), heap=TASK_HEAP):
    names = ("-cp", f"{FLINK}/lib/*", f"org.apache.flink.runtime.{main}")
    # Each job brings its classes, which stay for a while. Flink itself has 128 MB.
    options = (f"-Xmx{128 + heap}m", "-XX:MaxMetaspaceSize=512m")
    return running(*before, *_JAVA, *options, *names, "--configDir", folder, log=log)


@contextlib.contextmanager
def spark_cluster(folder, workers=2, *, heap=EXECUTOR_HEAP, tasks=2):
    """A master and workers of a core each; a stage has so many tasks."""
    port, web = free_port(), free_port()
    log, url = folder / "master.log", f"spark://localhost:{port}"
    java = (*_JAVA, "-Xmx256m", "-cp", f"{SPARK}/jars/*")

    def part(name, *arguments, log):
        main = f"org.apache.spark.deploy.{name}"
        return running(*java, main, *arguments, log=log, environment=_LOOPBACK)

    with contextlib.ExitStack() as held:
        where = ("--host", "localhost", "--port", port, "--webui-port", web)
        master = held.enter_context(part("master.Master", *where, log=log))
        await_port(port, master, log)
        for number in range(workers):
            given = ("--cores", 1, "--memory", f"{heap + 88}m")
            given += ("--webui-port", free_port())
            given += ("--host", "localhost", "--work-dir", folder / f"work{number}")
            log_of_worker = folder / f"worker{number}.log"
            held.enter_context(part("worker.Worker", *given, url, log=log_of_worker))
        found = f'"aliveworkers" : {workers}'
        wait_until(lambda: answers(f"http://localhost:{web}/json/", found), master, log)
        properties = (
            *("-Dspark.driver.host=localhost", "-Dspark.driver.bindAddress=127.0.0.1"),
            *(f"-Dspark.executor.memory={heap}m", "-Dspark.ui.enabled=false"),
            f"-Dspark.default.parallelism={tasks}",
            # An executor that has lost its worker asks the same one for a while.
            "-Dspark.excludeOnFailure.enabled=true",
            # Tried once by each of two executors of one machine, a task would be given up.
            "-Dspark.excludeOnFailure.task.maxTaskAttemptsPerExecutor=2",
            "-Dspark.excludeOnFailure.task.maxTaskAttemptsPerNode=3",
            # Two minutes else, where no executor is left.
            "-Dspark.scheduler.excludeOnFailure.unschedulableTaskSetTimeout=15s",
            f"-Dspark.executor.extraJavaOptions={' '.join(_QUICK)}",
        )
        # Executors have Spark's own jars.
        options = (f"--files_to_stage={jar_of('spark-3')}",)
        master = f"--spark-master-url={url}"
        yield held.enter_context(
            job_server(*(folder, "spark-3", master), properties=properties, job_options=options)
        )


# The options of engines that albert starts; Flink and Spark are within their job servers.
EMBEDDED = {
    "flink": (
        *("--runner", "FlinkRunner", "--"),
        f"--flink_job_server_jar={jar_of('flink-1.19')}",
        *("--flink_version=1.19", "--parallelism=2", *_QUICK_SERVER),
    ),
    "spark": (
        *("--runner", "SparkRunner", "--"),
        f"--spark_job_server_jar={jar_of('spark-3')}",
        *("--spark_master_url=local[2]", *_QUICK_SERVER),
    ),
    "prism": ("--runner", "PrismRunner", "--", f"--prism_location={PRISM}"),
}


@contextlib.contextmanager
def short_folder():
    """A folder with a short path, since sockets have at most 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="engine"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
