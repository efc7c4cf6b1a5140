"""Hosts on one machine: network namespaces on a bridge, with a storage that all see."""

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.engines import start
from tests.servers import free_port
from tests.storage_emulators import EMULATORS, program_of

# Of each host, where its own workers are asked for.
POOL = "localhost:50000"
_NETWORK = "10.213.87"
BRIDGE = f"{_NETWORK}.1"
# A host that is cut off is given up soon, before TCP waits long to try again, and one
# that comes back is soon taken in. One that is only slow may be given up as well, so
# that more is tried again.
_SOON = {
    "heartbeat.timeout": 10000,
    "restart-strategy.fixed-delay.attempts": 10,
    "cluster.registration.max-timeout": 2000,
}


def ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True, capture_output=True)


class Host:
    """A namespace with an address on the bridge."""

    def __init__(self, number):
        self.address = f"{_NETWORK}.{10 + number}"
        # The names of devices have at most 15 letters.
        self.name = f"al{os.getpid()}-{number}"

    @property
    def before(self):
        """What runs a program there."""
        return ("ip", "netns", "exec", self.name)

    def link(self, state):
        """Connect the host (`up`), or cut it off (`down`)."""
        ip("link", "set", self.name, state)


@contextlib.contextmanager
def hosts(count):
    """Hosts on a bridge; a test that may not make them is skipped with a line."""
    if os.getuid() != 0 or not shutil.which("ip"):
        pytest.skip("only root may make network namespaces, with the program ip")
    bridge = f"al{os.getpid()}"
    made = [Host(number) for number in range(count)]
    with contextlib.ExitStack() as held:
        try:
            ip("link", "add", bridge, "type", "bridge")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network of its own here: {error.stderr.decode()}")
        held.callback(ip, "link", "del", bridge)
        ip("addr", "add", f"{BRIDGE}/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for host in made:
            ip("netns", "add", host.name)
            held.callback(ip, "netns", "del", host.name)
            inner = ("-n", host.name)
            ends = ("type", "veth", "peer", "name", "eth0", "netns", host.name)
            ip("link", "add", host.name, *ends)
            ip("link", "set", host.name, "master", bridge)
            ip("link", "set", host.name, "up")
            ip(*inner, "addr", "add", f"{host.address}/24", "dev", "eth0")
            ip(*inner, "link", "set", "eth0", "up")
            ip(*inner, "link", "set", "lo", "up")
        yield made


@contextlib.contextmanager
def storage(folder):
    """An S3 on the bridge: the environment that leads there, and its log."""
    pytest.importorskip("s3fs")
    if not (program := program_of(EMULATORS["s3"])):
        pytest.skip("moto_server is not installed")
    port, log = free_port(), folder / "storage.log"
    environment = EMULATORS["s3"].places(port)
    environment["AWS_ENDPOINT_URL"] = f"http://{BRIDGE}:{port}"
    with start.running(program, "-H", BRIDGE, "-p", port, log=log) as process:
        start.wait_until(lambda: start.can_connect(port, host=BRIDGE), process, log)
        yield environment, log


def shards_by_host(log, made, *, output):
    """How many files of records each host has written."""
    said = Path(log).read_text()
    written = rf"(\S+) - - .* \"P(?:UT|OST) /{output}/(\S+?\.tfrecord)\b"
    found = set(re.findall(written, said))
    return [sum(address == host.address for address, _ in found) for host in made]


@contextlib.contextmanager
def flink_on(made, folder, environment):
    """Flink: its JobManager on the first host, a TaskManager and a pool on the others.

    Gives the options that lead to it, and whether so many TaskManagers are there.
    """
    manager_host, *made = made
    own = dict.fromkeys(("jobmanager.rpc.address", "rest.address"), manager_host.address)
    # Its server of jars answers nowhere else.
    own |= dict.fromkeys(("jobmanager.bind-host", "rest.bind-address"), "0.0.0.0")
    shared = start.flink_settings(folder) | own | _SOON
    start.write_settings(folder, shared)
    with contextlib.ExitStack() as held:
        log = folder / "manager.log"
        before = manager_host.before
        manager = held.enter_context(start.job_manager(folder, log=log, before=before))
        for host in made:
            place = folder / host.name
            place.mkdir()
            names = ("taskmanager.host", "taskmanager.bind-host")
            start.write_settings(place, shared | dict.fromkeys(names, host.address))
            held.enter_context(start.task_manager(place, 0, before=host.before))
            worker = (*start.PYTHON, "-c", start.ALBERT, "worker", "--address", POOL)
            held.enter_context(
                start.running(
                    *(*host.before, *worker), log=place / "pool.log", environment=environment
                )
            )
        address = f"{manager_host.address}:{shared['rest.port']}"

        def has_task_managers(count):
            wanted = f'"taskmanagers":{count},'
            return start.answers(f"http://{address}/overview", wanted)

        start.wait_until(lambda: has_task_managers(len(made)), manager, log)
        options = (
            f"--parallelism={len(made)}",
            "--environment_type=EXTERNAL",
            f"--environment_config={POOL}",
        )
        master = f"--flink-master={address}"
        server = start.job_server(folder, "flink-1.19", master, job_options=options)
        yield held.enter_context(server), has_task_managers
