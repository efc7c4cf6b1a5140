"""No command but one listens on a port; none runs what lies in the current folder.

`albert worker` does listen, on the loopback address: what another user of the machine
did to the ports of Beam is tried on it.
"""

import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest
from apache_beam.portability.api import (
    beam_artifact_api_pb2,
    beam_artifact_api_pb2_grpc,
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
)

from cli.main import cli
from pipeline.job.cluster_worker import worker_pool
from tests.commands import LITTLE_MODEL
from tests.servers import HERE

# Commands, one after the other.
PROGRAM = """
import json, sys
from cli.main import cli
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["albert", *arguments]
    try:
        cli(arguments)
    except SystemExit as end:
        if end.code:
            raise
"""
LISTENS = "0A"

needs_proc = pytest.mark.skipif(
    not Path("/proc/net/tcp").exists(), reason="Linux tells there what listens"
)

# Modules that children of a command import by name.
MODULES = (
    *("pipeline", "schemas", "multiprocessing", "random", "numpy", "tensorflow"),
    *("apache_beam", "sentencepiece", "keras", "socket", "sitecustomize"),
    *("pickle", "signal", "json", "concurrent", "selectors", "runpy"),
)

LITTLE = " ".join(map(str, LITTLE_MODEL))
COMMANDS = {
    "vocab": "vocab --text text --vocab-size 400 --workers 2 --output out-vocab",
    "make-data": "make-data --text text --vocab vocab --output out-data --max-seq-length 32 "
    "--workers 2",
    "make-data --plan": "make-data --text text --vocab vocab --plan",
    "pretrain": f"pretrain --data data --output out-run {LITTLE} --steps 1 --batch-size 2 "
    "--eval-examples 2",
    "evaluate": "evaluate run --data data --eval-examples 2",
    "fill-mask": "fill-mask run 'The [MASK] is here.'",
    "order": "order run 'The first.' 'The second.'",
    "report": "report run data --output out.html",
    "inspect": "inspect data --verify",
    "finetune": "finetune run --task classify --train rows.tsv --max-seq-length 32 --steps 1 "
    "--output out-tuned",
    "predict": "predict tuned Dull.",
    "embed": "embed run rows.tsv --similar 'The first.'",
    "export": "export run --to hf --output out-hf",
    "export a SavedModel": "export run --to saved-model --output out-saved",
    "import": "import hf --output out-import",
    "plan": f"plan --data data {LITTLE} --measure",
    "analyze": "analyze layers run --data data",
}

# Those that always start processes are tried each time, the others with the slow tests.
OFTEN = ("vocab", "make-data", "make-data --plan")
REST = [name for name in COMMANDS if name not in OFTEN]
# What listens, and is told of in docs/engines.md.
LISTENING = {"worker"}


@pytest.fixture(scope="module")
def folder(models, tmp_path_factory):
    """A folder with inputs, and a program in the place of each module."""
    folder = tmp_path_factory.mktemp("doors") / "folder"
    shutil.copytree(models, folder)
    rows = "".join(f"It was {n}\t{n % 2}\n" for n in range(40))
    (folder / "rows.tsv").write_text(f"text\tlabel\n{rows}", encoding="utf-8")
    for name in MODULES:
        program = f"open({str(folder / 'ran')!r}, 'a').write({name!r})\n"
        (folder / f"{name}.py").write_text(program, encoding="utf-8")
    return folder


def sockets_of(session):
    """What listens of the processes of a session."""
    opened = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(process.name)) == session:
                opened |= {os.readlink(path) for path in (process / "fd").iterdir()}
    tables = (Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    lines = [line.split() for table in tables for line in table.splitlines()[1:]]
    return [line[1] for line in lines if line[3] == LISTENS and f"socket:[{line[9]}]" in opened]


def start(folder, *commands, **streams):
    given = json.dumps([[*map(str, arguments)] for arguments in commands])
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", "-c", PROGRAM, given],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        start_new_session=True,
        text=True,
        **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | streams,
    )


def test_every_command_is_here():
    assert {name.partition(" ")[0] for name in COMMANDS} | LISTENING == {*cli.commands}


@needs_proc
@pytest.mark.parametrize(
    "names",
    [*([name] for name in OFTEN), pytest.param(REST, marks=pytest.mark.slow)],
    ids=[*OFTEN, "the rest"],
)
def test_a_command_opens_no_port_and_runs_nothing_of_the_folder(folder, names):
    said = folder / "said"
    with said.open("w") as stderr:
        command = start(folder, *(shlex.split(COMMANDS[name]) for name in names), stderr=stderr)
    found = []
    while command.poll() is None:
        found += sockets_of(command.pid)
        time.sleep(0.05)
    assert command.returncode == 0, said.read_text()
    assert found == []
    assert not (folder / "ran").exists(), (folder / "ran").read_text("utf-8")
    assert sockets_of(command.pid) == []


@pytest.fixture
def pool():
    """The address of what starts workers, and a channel to it."""
    with worker_pool("localhost:0") as address, grpc.insecure_channel(address) as channel:
        yield address, channel


def refusal(call):
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code()


def test_a_pool_of_workers_reads_no_file_and_unpickles_no_element(pool, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("a key")
    secret.chmod(0o600)
    artifact = beam_artifact_api_pb2.GetArtifactRequest()
    artifact.artifact.type_urn = "beam:artifact:type:file:v1"
    artifact.artifact.type_payload = str(secret).encode()
    service = beam_artifact_api_pb2_grpc.ArtifactRetrievalServiceStub(pool[1])
    code = refusal(lambda: list(service.GetArtifact(artifact)))
    assert code == grpc.StatusCode.UNIMPLEMENTED
    data = beam_fn_api_pb2_grpc.BeamFnDataStub(pool[1])
    element = beam_fn_api_pb2.Elements()
    element.data.add(instruction_id="1", transform_id="1", data=b"cos\nsystem\n.")
    assert refusal(lambda: list(data.Data(iter([element])))) == grpc.StatusCode.UNIMPLEMENTED


def test_a_held_connection_keeps_nobody_waiting(folder):
    with worker_pool("localhost:0") as address:
        host, _, port = address.rpartition(":")
        with contextlib.ExitStack() as held:
            for _ in range(50):
                silent = held.enter_context(socket.create_connection((host, port)))
                silent.sendall(b"PRI * HTTP/2.0\r\n")
            with grpc.insecure_channel(address) as channel:
                assert start_and_stop(channel) == ""
            begun = time.monotonic()
    assert time.monotonic() - begun < 60


def start_and_stop(channel, *, name="1"):
    """What a pool says to who wants a worker of it."""
    service = beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(channel)
    asked = beam_fn_api_pb2.StartWorkerRequest(worker_id=name)
    asked.provision_endpoint.url = "localhost:9"
    answer = service.StartWorker(asked, timeout=30)
    service.StopWorker(beam_fn_api_pb2.StopWorkerRequest(worker_id=name), timeout=30)
    return answer.error


AS_NOBODY = """
import os, sys, grpc
from tests.cli.test_doors import start_and_stop
os.setgid(65534), os.setuid(65534)
for address in sys.argv[1:]:
    try:
        start_and_stop(grpc.insecure_channel(address))
    except grpc.RpcError as error:
        print(error.code().name)
    else:
        print("SERVED")
"""


@needs_proc
@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_user_gets_a_worker_only_of_an_open_pool(folder):
    """A worker runs what it is told to, as the user of the pool."""
    own = ("worker", "--address", "localhost:0")
    pools = [start(folder, command) for command in (own, (*own, "--open"))]
    addresses = [pool.stderr.readline().split()[4].rstrip(";") for pool in pools]
    command = [sys.executable, "-W", "ignore", "-c", AS_NOBODY, *addresses]
    asked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    for pool in pools:
        pool.terminate()
        pool.communicate()
    assert asked.stdout.splitlines() == ["PERMISSION_DENIED", "SERVED"], asked.stderr
    assert [pool.returncode for pool in pools] == [143, 143]


@needs_proc
def test_whose_a_connection_is_decides_and_not_its_address(pool, monkeypatch):
    assert start_and_stop(pool[1]) == ""
    # Of a user who is neither us nor root.
    users = "pipeline.job.cluster_worker.users_of"
    monkeypatch.setattr(users, lambda *_, **__: {os.getuid(), 7})
    code = refusal(lambda: start_and_stop(pool[1]))
    assert code == grpc.StatusCode.PERMISSION_DENIED
