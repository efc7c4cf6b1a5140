"""Workers of a cluster without Beam's image: a pool of them, and the start of one.

An engine asks the pool for workers, or starts them itself with the arguments that Beam
gives to the start of a container. Beam's own pool takes whatever Python is called
`python`, tells its workers neither the options of the job nor their own name, and lets
one hang that prints more than anybody reads.
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import grpc
from apache_beam.portability.api import (
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
    beam_provision_api_pb2,
    beam_provision_api_pb2_grpc,
    endpoints_pb2,
)
from apache_beam.runners.worker.worker_pool_main import (
    BeamFnExternalWorkerPoolServicer,
)
from apache_beam.utils import thread_pool_executor
from google.protobuf import json_format

from schemas.errors import AlbertError, SettingError

# Sent by engines but of no use: albert has no files to fetch.
_UNUSED = ("artifact_endpoint", "semi_persist_dir", "status_endpoint")


class WorkerPool(BeamFnExternalWorkerPoolServicer):
    """Starts a worker for each request of an engine, and ends it on request."""

    def __init__(self) -> None:
        super().__init__(use_process=True)

    def StartWorker(self, start_worker_request: Any, unused_context: Any) -> Any:
        """Start a worker."""
        # -P: what lies in the current folder must not stand in for our modules.
        command = [sys.executable, "-P", "-m", "pipeline.job.cluster_worker"]
        command.append(f"--id={start_worker_request.worker_id}")
        for name in ("provision", "control", "logging"):
            endpoint = getattr(start_worker_request, f"{name}_endpoint")
            command.append(f"--{name}_endpoint={endpoint.url}")
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        except OSError as error:
            return beam_fn_api_pb2.StartWorkerResponse(error=str(error))
        self._worker_processes[start_worker_request.worker_id] = process
        return beam_fn_api_pb2.StartWorkerResponse()

    def end_all(self) -> None:
        """End every worker."""
        for process in list(self._worker_processes.values()):
            process.kill()
            process.wait()


def serve(address: str) -> None:
    """Start workers at an address until this process is interrupted.

    Args:
        address: ``host:port``. Whoever reaches it can have programs run here.
    """
    options = [("grpc.so_reuseport", 0)]
    server = grpc.server(
        thread_pool_executor.shared_unbounded_instance(), options=options
    )
    try:
        server.add_insecure_port(address)
    except RuntimeError:
        raise AlbertError(
            f"--address: nothing can listen at {address}: its port is taken, or it is "
            "not an address of this machine; give another."
        ) from None
    pool = WorkerPool()
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    server.start()
    try:
        server.wait_for_termination()
    finally:
        server.stop(None)
        pool.end_all()


class Start(NamedTuple):
    """What an engine says to start a worker.

    Attributes:
        id: Of the worker.
        provision_endpoint: Who tells the rest.
        control_endpoint: Who gives it work, unless the rest says so.
        logging_endpoint: Who takes its log, unless the rest says so.
    """

    id: str
    provision_endpoint: str
    control_endpoint: str = ""
    logging_endpoint: str = ""


def start_of(arguments: Sequence[str]) -> Start:
    """What the arguments `--name=value` say; those of no use here are left out.

    >>> start = start_of(["--id=1-1", "--provision_endpoint=here:7"])
    >>> start.id, start.provision_endpoint
    ('1-1', 'here:7')
    """
    given = {}
    for argument in arguments:
        name, _, value = argument.removeprefix("--").partition("=")
        if name in Start._fields:
            given[name] = value
        elif name not in _UNUSED:
            raise SettingError(
                f"{argument} is neither an option of albert worker nor one that "
                "engines add; albert worker --help lists its own."
            )
    for name in ("id", "provision_endpoint"):
        if not given.get(name):
            raise SettingError(
                f"--{name} is missing: an engine that starts a worker gives it."
            )
    return Start(**given)


def environment_of(start: Start, info: Any) -> dict[str, str]:
    """The environment in which Beam's worker finds what it needs to know.

    Args:
        start: See `start_of`.
        info: Beam's `ProvisionInfo`.
    """

    def described(endpoint: Any, url: str) -> str:
        url = endpoint.url or url
        return str(endpoints_pb2.ApiServiceDescriptor(url=url)).strip() if url else ""

    environment = {
        "WORKER_ID": start.id,
        "PIPELINE_OPTIONS": json_format.MessageToJson(info.pipeline_options),
        "RUNNER_CAPABILITIES": " ".join(info.runner_capabilities),
        "CONTROL_API_SERVICE_DESCRIPTOR": described(
            info.control_endpoint, start.control_endpoint
        ),
        "LOGGING_API_SERVICE_DESCRIPTOR": described(
            info.logging_endpoint, start.logging_endpoint
        ),
        "STATUS_API_SERVICE_DESCRIPTOR": described(info.status_endpoint, ""),
    }
    return {name: value for name, value in environment.items() if value}


def ask(start: Start) -> Any:
    """Beam's `ProvisionInfo` for a worker."""
    with grpc.insecure_channel(start.provision_endpoint) as channel:
        service = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        request = beam_provision_api_pb2.GetProvisionInfoRequest()
        answer = service.GetProvisionInfo(request, metadata=[("worker_id", start.id)])
        return answer.info


def boot(arguments: Sequence[str]) -> None:
    """Work for an engine until it has no more work."""
    start = start_of(arguments)
    # Whoever started this process may never read what it prints, and the pipe is full
    # after 64 kB.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Ctrl-C at a terminal is meant for the pool, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = logging.StreamHandler()
    log.setLevel(logging.WARNING)
    log.setFormatter(logging.Formatter(f"worker {start.id}: %(levelname)s %(message)s"))
    logging.getLogger().addHandler(log)
    os.environ.update(environment_of(start, ask(start)))
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    boot(sys.argv[1:])
