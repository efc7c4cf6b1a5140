"""A whole job, from the files it reads to its data set."""

import contextlib
import dataclasses
from unittest.mock import Mock

import pytest

from pipeline.job.make_data import make_data
from pipeline.job.plan import plan_job
from schemas.config import DataConfig
from schemas.errors import AlbertError


def config_of(**settings):
    """What data sets of a job are made by."""
    return DataConfig(**settings).resolved(input_bytes=0)


def run_job(inputs, output, *, workers=1, shuffle="files", removed="", **plan):
    """Make a data set of files that were found; the job.

    Args:
        workers: Processes that work for this one; it works itself if that is 1.
        shuffle: Where documents wait.
        removed: Where what is removed is written, if anywhere.
        plan: The rest of what `plan_job` takes.
    """
    job = plan_job(inputs, output=output, **plan)
    job = dataclasses.replace(job, removed=removed, shuffle=shuffle)
    make_data(job, workers=workers)
    return job


@contextlib.contextmanager
def failing(monkeypatch, module, name):
    """A job fails inside where it calls a function."""
    with monkeypatch.context() as patch:
        patch.setattr(module, name, Mock(side_effect=AlbertError("no more"), __name__=name))
        with pytest.raises(AlbertError, match="no more"):
            yield
