"""Beam's runner on this machine, with worker processes of ours that are watched.

Beam would wait for ever for a worker that is gone and, at an interrupt, until every
worker had done all that it was given. Here a worker that ends before its time, or an
interrupt, ends all of them and the job with them. There is nothing to wait for, because
they leave nothing half-written under a final name.
"""

import contextlib
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import grpc
from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.fn_api_runner.worker_handlers import (
    GrpcWorkerHandler,
    WorkerHandler,
)
from apache_beam.transforms.environments import Environment, python_sdk_capabilities

from pipeline.job.failures import pack
from schemas.errors import AlbertError

_URN = "albert:env:worker_processes:v1"

# A worker that was told to end and has nothing left to do ends sooner.
_END_SECONDS = 2.0
# How long an interrupt waits for Beam to notice that its workers are gone.
_GIVE_UP_SECONDS = 10.0

Value = TypeVar("Value")

# By name, since Beam hands nothing but bytes from a runner to its handlers.
_POOLS: "WeakValueDictionary[str, LocalWorkers]" = WeakValueDictionary()


def local_runner(pool: "LocalWorkers | None") -> FnApiRunner:
    """Beam's runner for this machine, in this process or with the workers of a pool.

    Never the DirectRunner, which would first download another from the network.
    """
    return FnApiRunner(pool and _WorkerEnvironment(pool.name))


class LocalWorkers:
    """The worker processes of one job.

    Attributes:
        name: By which Beam's handlers find it.
    """

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[str]] = []
        self._failure: AlbertError | None = None
        _POOLS[self.name] = self

    def start(self, environment: dict[str, str]) -> "subprocess.Popen[str]":
        """Start a worker.

        Args:
            environment: What Beam tells the worker, as variables.
        """
        with self._lock:
            process = subprocess.Popen(
                [sys.executable, *_worker_command()],
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                errors="replace",
                text=True,
            )
            self._processes.append(process)
            if self._failure:
                process.kill()
            return process

    def end(self, failure: AlbertError) -> AlbertError:
        """End all workers at once, and every one that is started later.

        Args:
            failure: Why.

        Returns:
            Why they were ended first, if they were before.
        """
        with self._lock:
            self._failure = self._failure or failure
            for process in self._processes:
                process.kill()
            return self._failure

    def run(self, call: Callable[[], Value]) -> Value:
        """Call what uses the workers; an interrupt ends them before it is passed on."""
        outcome: Future[Value] = Future()

        def work() -> None:
            try:
                outcome.set_result(call())
            except BaseException as error:
                outcome.set_exception(error)

        thread = threading.Thread(target=work, daemon=True)
        try:
            thread.start()
            return outcome.result()
        except BaseException:
            self.end(AlbertError("The job was interrupted."))
            thread.join(_GIVE_UP_SECONDS)
            raise


def _worker_command() -> list[str]:
    # -P: what lies in the current folder must not stand in for our modules.
    return ["-P", "-m", "pipeline.job.local_worker", str(os.getpid())]


@Environment.register_urn(_URN, bytes)
class _WorkerEnvironment(Environment):
    """Tells Beam that the steps run in the workers of a pool."""

    def __init__(self, pool: str) -> None:
        super().__init__(capabilities=python_sdk_capabilities())
        self._pool = pool

    def to_runner_api_parameter(self, context: object) -> tuple[str, bytes]:
        return _URN, self._pool.encode()

    @staticmethod
    def from_runner_api_parameter(
        payload: bytes, *unused: object
    ) -> "_WorkerEnvironment":
        return _WorkerEnvironment(payload.decode())


@WorkerHandler.register_environment(_URN, bytes)
class _WorkerProcess(GrpcWorkerHandler):
    """One worker, as Beam sees it."""

    def __init__(
        self, pool: bytes, state: Any, provision_info: Any, grpc_server: Any
    ) -> None:
        super().__init__(state, provision_info, grpc_server)
        self._pool = _POOLS[pool.decode()]
        self._requests = _Requests(self.control_conn)
        set_inputs = self.data_conn.set_inputs
        self.data_conn.set_inputs = lambda data: set_inputs(_until_broken(data))
        self._is_closing = False

    def start_worker(self) -> None:
        self._process = self._pool.start(
            {
                "CONTROL_API_SERVICE_DESCRIPTOR": f"url: '{self.control_address}'",
                "PIPELINE_OPTIONS": "{}",
                "WORKER_ID": self.worker_id,
            }
        )
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        _, said = self._process.communicate()
        if not self._is_closing:
            failure = _ended_early(self._process.returncode, said)
            self._requests.fail(self._pool.end(failure))

    def close(self) -> None:
        self._is_closing = True
        # If the job has failed, a worker may still be busy, for nothing.
        killing = threading.Timer(_END_SECONDS, self._process.kill)
        killing.start()
        super().close()
        killing.cancel()

    def stop_worker(self) -> None:
        self._process.wait()


class _Requests:
    """What a worker was asked and has not answered."""

    def __init__(self, connection: Any) -> None:
        self._lock = threading.Lock()
        self._unanswered: list[Any] = []
        self._failure = ""
        self._push, self._set_input = connection.push, connection.set_input
        connection.push, connection.set_input = self._note, self._listen

    def _note(self, request: Any) -> Any:
        future = self._push(request)
        if future is not None:
            with self._lock:
                self._unanswered = [f for f in self._unanswered if not f.is_done()]
                self._unanswered.append(future)
                self._answer_if_failed()
        return future

    def _listen(self, answers: Iterable[Any]) -> None:
        self._set_input(_until_broken(answers))

    def fail(self, error: AlbertError) -> None:
        """Answer all that was asked, and all that will be, with an error."""
        with self._lock:
            self._failure = f"{error} {pack(error)}"
            self._answer_if_failed()

    def _answer_if_failed(self) -> None:
        if self._failure:
            for future in self._unanswered:
                future.set(beam_fn_api_pb2.InstructionResponse(error=self._failure))


def _until_broken(messages: Iterable[Any]) -> Iterator[Any]:
    """What a worker sends, which ends where the worker was killed.

    Beam reads it in threads, whose errors would go to the terminal.
    """
    with contextlib.suppress(grpc.RpcError):
        yield from messages


def _ended_early(code: int, said: str) -> AlbertError:
    r"""What to say of a worker that ended before its time.

    >>> str(_ended_early(1, "Traceback ...\nImportError: no grpc\n")).split(";")[0]
    'A worker process ended with code 1 (ImportError: no grpc)'
    """
    if code < 0:
        return AlbertError(
            "A worker process was killed, perhaps for want of memory; what is finished "
            "is kept: run the same command again, with fewer --workers if memory is "
            "short."
        )
    lines = said.strip().splitlines()
    reason = f" ({lines[-1]})" if lines else ""
    return AlbertError(
        f"A worker process ended with code {code}{reason}; what is finished is kept: "
        "run the same command again."
    )
