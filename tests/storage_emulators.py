"""Emulators of the storage of clouds, each a program of its own on a free port."""

import contextlib
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.servers import free_port, serving

# What Azurite, and Microsoft's emulator before it, lets in.
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


class Emulator(NamedTuple):
    """A storage that is served here.

    Attributes:
        scheme: Of its paths.
        package: Its client.
        program: Its name.
        options: Of the program, with {port}.
        environment: By which the client finds it, with {port}.
    """

    scheme: str
    package: str
    program: str
    options: str
    environment: dict[str, str]

    def places(self, port: int) -> dict[str, str]:
        """The environment that leads to a port."""
        return {k: v.replace("{port}", str(port)) for k, v in self.environment.items()}


EMULATORS = {
    "s3": Emulator(
        scheme="s3",
        package="s3fs",
        program="moto_server",
        options="--port {port}",
        environment={
            "AWS_ENDPOINT_URL": "http://localhost:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        },
    ),
    "gs": Emulator(
        scheme="gs",
        package="gcsfs",
        program="gcp-storage-emulator",
        options="start --host=localhost --port={port} --in-memory",
        environment={"STORAGE_EMULATOR_HOST": "http://localhost:{port}"},
    ),
    "abfs": Emulator(
        scheme="abfs",
        package="adlfs",
        program="azurite-blob",
        options="--blobPort {port} --inMemoryPersistence --skipApiVersionCheck "
        "--disableTelemetry --silent",
        environment={
            "AZURE_STORAGE_CONNECTION_STRING": "DefaultEndpointsProtocol=http;"
            f"AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};"
            f"BlobEndpoint=http://127.0.0.1:{{port}}/{AZURE_ACCOUNT};"
        },
    ),
}


def program_of(emulator: Emulator) -> str | None:
    """Where an emulator is installed: beside Python, by npm there, or anywhere."""
    beside = Path(sys.executable).parent
    places = (beside, beside.parent / "azurite/node_modules/.bin")
    found = (shutil.which(emulator.program, path=str(place)) for place in places)
    return next(filter(None, found), None) or shutil.which(emulator.program)


@contextlib.contextmanager
def emulated(name: str) -> Any:
    """An emulator that serves: its port, and it is what clients of this process find.

    Whoever needs one that is not installed is skipped.
    """
    emulator = EMULATORS[name]
    pytest.importorskip(emulator.package)
    program = program_of(emulator)
    if program is None:
        pytest.skip(f"{emulator.program} is not installed")
    port = free_port()
    options = emulator.options.replace("{port}", str(port)).split()
    with serving(program, *options, port=port), pytest.MonkeyPatch.context() as patch:
        for key, value in emulator.places(port).items():
            patch.setenv(key, value)
        yield port
