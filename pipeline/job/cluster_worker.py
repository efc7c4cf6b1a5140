"""Workers of a cluster without Beam's image: a pool of them, and the start of one.

An engine asks the pool for workers, or starts them itself with the arguments that Beam
gives to the start of a container. Beam's own pool takes whatever Python is called
`python`, tells its workers neither the options of the job nor their own name, lets one
hang that prints more than anybody reads, and ends the worker of another engine of the
same machine that bears the same name.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
from apache_beam.portability.api import (
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
    beam_provision_api_pb2,
    beam_provision_api_pb2_grpc,
    endpoints_pb2,
)
from apache_beam.utils import thread_pool_executor
from google.protobuf import json_format

from schemas.errors import AlbertError, SettingError

# Addresses that no other machine reaches.
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")

_DEBUG = "--debug"
# Sent by engines, and those of no use: albert has no files to fetch.
_USED = ("id", "provision_endpoint", "control_endpoint", "logging_endpoint")
_UNUSED = ("artifact_endpoint", "semi_persist_dir", "status_endpoint")

# The connections of this machine, with the user of each.
_CONNECTIONS = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED = "01"


class WorkerPool(beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolServicer):
    """Starts a worker for each request of an engine, and ends it on request.

    Args:
        port: Where it is asked; other users of this machine are refused there, unless
            it is None.
        debug: Let workers write to stderr.
    """

    def __init__(self, *, port: int | None = None, debug: bool = False) -> None:
        self._debug = debug
        self.port = port
        # By the connection too: each TaskManager and executor calls its first worker
        # 1-1, and those of one machine share its pool.
        self.processes: dict[tuple[str, str], subprocess.Popen[bytes]] = {}

    def StartWorker(self, start_worker_request: Any, context: Any) -> Any:
        """Start a worker."""
        self._refuse_others(context)
        for key, ended in list(self.processes.items()):
            if ended.poll() is not None:
                self.processes.pop(key, None)
        # -P: what lies in the current folder must not stand in for our modules.
        command = [sys.executable, "-P", "-m", "pipeline.job.cluster_worker"]
        command.append(f"--id={start_worker_request.worker_id}")
        for name in ("provision", "control", "logging"):
            endpoint = getattr(start_worker_request, f"{name}_endpoint")
            command.append(f"--{name}_endpoint={endpoint.url}")
        try:
            process = subprocess.Popen(
                command + [_DEBUG] * self._debug,
                stdin=subprocess.DEVNULL,
                stderr=None if self._debug else subprocess.DEVNULL,
            )
        except OSError as error:
            return beam_fn_api_pb2.StartWorkerResponse(error=str(error))
        self.processes[context.peer(), start_worker_request.worker_id] = process
        return beam_fn_api_pb2.StartWorkerResponse()

    def StopWorker(self, stop_worker_request: Any, context: Any) -> Any:
        """End a worker, if it has not ended with what the engine told it."""
        self._refuse_others(context)
        key = context.peer(), stop_worker_request.worker_id
        if process := self.processes.pop(key, None):
            process.kill()
            process.wait()
        return beam_fn_api_pb2.StopWorkerResponse()

    def _refuse_others(self, context: Any) -> None:
        """End a request of another user: it could run any program as this one."""
        if self.port is None or not Path(_CONNECTIONS[0]).exists():
            return
        users = users_of(context.peer(), port=self.port)
        # Root may run what it likes anyway.
        if not users or users - {os.getuid(), 0}:
            context.abort(
                grpc.StatusCode.PERMISSION_DENIED,
                "Workers of albert serve engines of their own user only; where the "
                "engine is another's, start albert worker with --open.",
            )


def users_of(peer: str, *, port: int) -> set[int]:
    """The users who have a connection to a port open from a peer on this machine.

    gRPC tells a peer as `ipv4:127.0.0.1:40312`.
    """
    asks, found = int(peer.rpartition(":")[2]), set()
    for path in _CONNECTIONS:
        with contextlib.suppress(FileNotFoundError), open(path) as file:
            next(file)
            for line in file:
                _, here, there, state, _, _, _, user, *_ = line.split()
                ports = tuple(int(end.rpartition(":")[2], 16) for end in (here, there))
                # A connection that is being closed has lost its user: it seems root's.
                if ports == (asks, port) and state == _ESTABLISHED:
                    found.add(int(user))
    return found


@contextlib.contextmanager
def worker_pool(address: str, *, is_open: bool = False, debug: bool = False) -> Iterator[str]:
    """Start workers for whoever asks at `host:port` until the block ends.

    Port 0 is one that is free; yields the address with its port. An open pool works for
    other users too; with `debug` workers write to stderr.
    """
    options = [("grpc.so_reuseport", 0)]
    server = grpc.server(thread_pool_executor.shared_unbounded_instance(), options=options)
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        raise AlbertError(
            f"--address: nothing can listen at {address}: its port is taken, or it is "
            "not an address of this machine; give another."
        ) from None
    pool = WorkerPool(port=None if is_open else port, debug=debug)
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    server.start()
    try:
        yield f"{address.rpartition(':')[0]}:{port}"
    finally:
        server.stop(None)
        for process in list(pool.processes.values()):
            process.kill()
            process.wait()


def check_address(address: str, *, is_open: bool) -> None:
    """Refuse an address that other machines reach, unless that is wanted.

    >>> check_address("0.0.0.0:50000", is_open=False)
    Traceback (most recent call last):
    schemas.errors.SettingError: --address: 0.0.0.0:50000 may be reached from other \
machines, and whoever reaches it can run programs here; give localhost:50000, or add \
--open where a firewall lets only the cluster in.
    """
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()):
        raise SettingError(
            f"--address: {address} is no HOST:PORT; give one such as localhost:50000."
        )
    if host.strip("[]") not in THIS_MACHINE and not is_open:
        raise SettingError(
            f"--address: {address} may be reached from other machines, and whoever "
            f"reaches it can run programs here; give localhost:{port}, or add --open "
            "where a firewall lets only the cluster in."
        )


def start_of(arguments: Sequence[str]) -> dict[str, str]:
    """What an engine says to start a worker, as `--name=value`; some is of no use here.

    >>> start_of(["--id='1-1'", "--provision_endpoint=here:7"])
    {'id': '1-1', 'provision_endpoint': 'here:7'}
    """
    given = {}
    for argument in arguments:
        name, _, value = argument.removeprefix("--").partition("=")
        if name in _USED:
            # Prism puts quotes around the id.
            given[name] = value.strip("'")
        elif name not in _UNUSED:
            raise SettingError(
                f"{argument} is neither an option of albert worker nor one that "
                "engines add; albert worker --help lists its own."
            )
    for name in ("id", "provision_endpoint"):
        if not given.get(name):
            raise SettingError(f"--{name} is missing: an engine that starts a worker gives it.")
    return given


def worker_environment(start: Mapping[str, str], info: Any) -> dict[str, str]:
    """The environment in which Beam's worker finds its `ProvisionInfo`."""
    environment = {
        "WORKER_ID": start["id"],
        "PIPELINE_OPTIONS": json_format.MessageToJson(info.pipeline_options),
        "RUNNER_CAPABILITIES": " ".join(info.runner_capabilities),
    }
    for name in ("control", "logging", "status"):
        endpoint = f"{name}_endpoint"
        if url := getattr(info, endpoint).url or start.get(endpoint):
            described = str(endpoints_pb2.ApiServiceDescriptor(url=url)).strip()
            environment[f"{name.upper()}_API_SERVICE_DESCRIPTOR"] = described
    return {name: value for name, value in environment.items() if value}


def boot(arguments: Sequence[str], *, debug: bool = False) -> None:
    """Work for an engine until it has no more work."""
    start = start_of(arguments)
    # Whoever started this process may never read what it prints, and the pipe is full
    # after 64 kB.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Ctrl-C at a terminal is meant for the pool, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with grpc.insecure_channel(start["provision_endpoint"]) as channel:
        service = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        request = beam_provision_api_pb2.GetProvisionInfoRequest()
        answer = service.GetProvisionInfo(request, metadata=[("worker_id", start["id"])])
        info = answer.info
    os.environ.update(worker_environment(start, info))
    if debug:
        log = logging.StreamHandler()
        log.setLevel(logging.WARNING)
        name = f"worker {start['id']}"
        log.setFormatter(logging.Formatter(f"{name}: %(levelname)s %(message)s"))
        logging.getLogger().addHandler(log)
    else:
        # The engine is told what goes wrong; Beam prints it here a second time.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as it works
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    boot([each for each in sys.argv[1:] if each != _DEBUG], debug=_DEBUG in sys.argv[1:])
