"""The start of one worker of a cluster: it asks the engine for what it needs to know.

Run by `pipeline.job.worker_pool`, or by an engine that starts its workers itself, with
the arguments that Beam gives to the start of a container. Beam's own pool starts
workers without this, which then know neither the options of the job nor their own name.
"""

import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from pipeline.job.beam_log import silent_logging
from schemas.errors import SettingError

# Sent by engines but of no use: albert has no files to fetch.
_UNUSED = ("artifact_endpoint", "semi_persist_dir", "status_endpoint")


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

    Raises:
        SettingError: One that is needed is missing, or one is none of Beam's.

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
    from apache_beam.portability.api import endpoints_pb2
    from google.protobuf import json_format

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
    import grpc
    from apache_beam.portability.api import (
        beam_provision_api_pb2,
        beam_provision_api_pb2_grpc,
    )

    with grpc.insecure_channel(start.provision_endpoint) as channel:
        service = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        request = beam_provision_api_pb2.GetProvisionInfoRequest()
        answer = service.GetProvisionInfo(request, metadata=[("worker_id", start.id)])
        return answer.info


def boot(arguments: Sequence[str]) -> None:
    """Work for an engine until it has no more work.

    Raises:
        SettingError: See `start_of`.
    """
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
    with silent_logging():
        environment = environment_of(start, ask(start))
    os.environ.update(environment)
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    boot(sys.argv[1:])
