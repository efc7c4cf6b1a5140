"""One process reads and trains for all vocabularies that tests make, which start none each.

A conftest or a test file has what it imports of this.
"""

import contextlib
import os

import pytest

from pipeline.vocabulary import sampling, training

PROCESSES = sampling.processes


@pytest.fixture(scope="session")
def trainer():
    with PROCESSES(1) as pool:
        yield pool


@pytest.fixture(autouse=True)
def one_trains(request, monkeypatch):
    def processes(count):
        return contextlib.nullcontext(request.getfixturevalue("trainer"))

    monkeypatch.setattr(training, "processes", processes)


@pytest.fixture(autouse=True)
def it_reads_too(request, monkeypatch, one_trains):
    """Where nobody looks at how far the reading is."""

    def processes(count):
        pool = request.getfixturevalue("trainer")
        pool.submit(os.chdir, os.getcwd()).result()
        return contextlib.nullcontext(pool)

    monkeypatch.setattr(sampling, "processes", processes)
