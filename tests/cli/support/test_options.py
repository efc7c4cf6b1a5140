"""Flags that commands share."""

import os

import click

from cli.commands.vocab import vocab


def test_workers_are_as_many_as_the_cores_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3, 7}, raising=False)
    options = [option for option in vocab.params if option.name == "workers"]
    assert [option.get_default(click.Context(vocab)) for option in options] == [3]
