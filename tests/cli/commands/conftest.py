"""A model that is asked, and trained on, sooner than those of `models`."""

import dataclasses

import pytest


@pytest.fixture(scope="session")
def encoder(small, tmp_path_factory):
    """A run of one layer with random weights, to be read."""
    # Only who asks for it waits for TensorFlow.
    from tests.exported_runs import SMALL_RUN, write_run

    folder = tmp_path_factory.mktemp("encoder") / "run"
    config = dataclasses.replace(SMALL_RUN, num_hidden_layers=1, num_hidden_groups=1)
    write_run(folder, config, small)
    return folder
