"""A pool of workers for a cluster without Beam's image, each a process of ours."""

import subprocess
import sys
from typing import Any

import grpc
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc
from apache_beam.runners.worker.worker_pool_main import (
    BeamFnExternalWorkerPoolServicer,
)
from apache_beam.utils import thread_pool_executor

from schemas.errors import AlbertError


class WorkerPool(BeamFnExternalWorkerPoolServicer):
    """Starts a worker for each request of an engine, and ends it on request.

    Beam's own pool takes whatever Python is called `python`, gives its workers no
    options, and lets one hang that prints more than anybody reads.
    """

    def __init__(self) -> None:
        super().__init__(use_process=True)

    def StartWorker(self, start_worker_request: Any, unused_context: Any) -> Any:
        """Start a worker."""
        # -P: what lies in the current folder must not stand in for our modules.
        command = [sys.executable, "-P", "-m", "pipeline.job.worker_boot"]
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

    Raises:
        AlbertError: The port is taken, or the address is not one of this machine.
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
