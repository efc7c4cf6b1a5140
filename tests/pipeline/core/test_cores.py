"""A process counts the cores that it may use."""

import os

from pipeline.core.cores import usable_cores


def test_cores_that_others_were_given_do_not_count(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3, 7}, raising=False)
    assert usable_cores() == 3


def test_where_a_system_does_not_tell_all_cores_count(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert usable_cores() == 64
