"""Cores and memory of this machine."""

import os
import sys

import pytest

from pipeline.core import machine
from pipeline.core.machine import usable_cores
from tests.processes import run_python


@pytest.fixture(autouse=True)
def quota(tmp_path, monkeypatch):
    """Where a container is told its share of the processors; nothing is there."""
    monkeypatch.setattr(machine, "_QUOTA", tmp_path / "cpu.max")
    return tmp_path / "cpu.max"


@pytest.mark.parametrize(
    ("told", "cores"), [("", 8), ("max 100000\n", 8), ("350000 100000\n", 3), ("50000 100000\n", 1)]
)
def test_cores_are_those_of_this_process_and_of_the_quota_of_its_container(
    told, cores, quota, monkeypatch
):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, *range(3, 10)}, raising=False)
    if told:
        quota.write_text(told)
    assert usable_cores() == cores


def test_where_a_system_does_not_tell_all_cores_count(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert usable_cores() == 64


# Pages that had to be provided anew for 40 arrays of 8 MB, one after the other.
PROGRAM = """
import resource, sys
import numpy as np
from pipeline.core.machine import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
for number in range(41):
    if number == 1:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    first = np.ones(1 << 20)
    second = np.ones(1 << 20)
    del first, second
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(mode):
    environment = {"NUMPY_MADVISE_HUGEPAGE": "0"}
    return int(run_python(PROGRAM, mode, check=True, env=environment).stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is asked, elsewhere not")
def test_freed_memory_is_used_again_without_new_pages():
    assert page_faults("keep") < 2048 < page_faults("let go")
