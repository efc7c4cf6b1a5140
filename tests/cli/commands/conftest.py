"""A model that is asked, and trained on, sooner than those of `models`."""

import pytest


@pytest.fixture(scope="session")
def encoder(small, tmp_path_factory):
    """A run of one layer with random weights, to be read."""
    # Only who asks for it waits for TensorFlow.
    from tests.exported_runs import ONE_LAYER, write_run

    folder = tmp_path_factory.mktemp("encoder") / "run"
    write_run(folder, ONE_LAYER, small)
    return folder
