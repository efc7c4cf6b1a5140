"""What a worker of a cluster is told, and how it is started."""

import json
import re
import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest
from apache_beam.portability.api import beam_fn_api_pb2, beam_provision_api_pb2, endpoints_pb2
from google.protobuf import text_format

from pipeline.job.cluster_worker import WorkerPool, start_of, worker_environment, worker_pool
from schemas.errors import SettingError
from tests.processes import ALBERT, ended
from tests.refusals import refusal

ARGUMENTS = (
    *("--id=3-1", "--logging_endpoint=localhost:4", "--artifact_endpoint=localhost:5"),
    *("--provision_endpoint=localhost:6", "--control_endpoint=localhost:7"),
)


def test_a_worker_is_told_its_id_its_options_and_who_talks_to_it():
    info = beam_provision_api_pb2.ProvisionInfo(runner_capabilities=["a:1", "b:2"])
    info.pipeline_options.update({"beam:option:runner:v1": "PortableRunner"})
    info.control_endpoint.url = "elsewhere:9"
    told = worker_environment(start_of(ARGUMENTS), info)
    assert told.pop("WORKER_ID") == "3-1"
    assert json.loads(told.pop("PIPELINE_OPTIONS")) == {"beam:option:runner:v1": "PortableRunner"}
    assert told.pop("RUNNER_CAPABILITIES") == "a:1 b:2"
    endpoint = endpoints_pb2.ApiServiceDescriptor
    assert {name: text_format.Parse(text, endpoint()).url for name, text in told.items()} == {
        "CONTROL_API_SERVICE_DESCRIPTOR": "elsewhere:9",
        "LOGGING_API_SERVICE_DESCRIPTOR": "localhost:4",
    }


@pytest.mark.parametrize("missing", ["id", "provision_endpoint"])
def test_a_start_without_what_it_needs_is_refused(missing):
    given = [each for each in ARGUMENTS if not each.startswith(f"--{missing}=")]
    with pytest.raises(SettingError, match=f"^--{missing} is missing: an engine that"):
        start_of(given)


@pytest.fixture
def started(monkeypatch):
    """The stand-ins of processes that were started, the oldest first."""
    found = []

    def start(command, **_):
        found.append(Mock(args=command, **{"poll.return_value": None}))
        return found[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    return found


def connection(port):
    """Over which an engine asks, as the pool sees it."""
    return Mock(**{"peer.return_value": f"ipv4:127.0.0.1:{port}"})


def test_a_worker_takes_no_module_from_the_folder_in_which_it_is_started(started):
    request = beam_fn_api_pb2.StartWorkerRequest(worker_id="3-1")
    request.control_endpoint.url = "localhost:7"
    WorkerPool().StartWorker(request, connection(7))
    assert started[0].args == [
        *(sys.executable, "-P", "-m", "pipeline.job.cluster_worker", "--id=3-1"),
        *("--provision_endpoint=", "--control_endpoint=localhost:7", "--logging_endpoint="),
    ]


def test_an_engine_ends_its_own_worker_and_no_other_of_the_same_name(started):
    pool, one, two = WorkerPool(), connection(1), connection(2)
    for engine in (one, two):
        pool.StartWorker(beam_fn_api_pb2.StartWorkerRequest(worker_id="1-1"), engine)
    for engine in (one, connection(3)):
        pool.StopWorker(beam_fn_api_pb2.StopWorkerRequest(worker_id="1-1"), engine)
    assert [process.kill.called for process in started] == [True, False]


def test_an_address_that_is_not_of_this_machine_is_refused():
    said = refusal(worker_pool("192.0.2.1:50000").__enter__)
    assert said.startswith("--address: nothing can listen at 192.0.2.1:50000: its")


def test_a_pool_says_where_it_is_and_ends_at_an_interrupt():
    command = [*ALBERT, "worker", "--address", "localhost:0"]
    pool = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said = pool.stderr.readline()
    pool.send_signal(signal.SIGINT)
    ended(pool)
    assert pool.returncode == 130
    expected = r"Workers are started at localhost:[1-9]\d*; Ctrl-C ends them\.\n"
    assert re.fullmatch(expected, said)
