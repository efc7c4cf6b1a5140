"""What several commands are tested with."""

import io
import sys

import pytest


@pytest.fixture(scope="session")
def encoder(small, tmp_path_factory):
    """A run of one layer with random weights, to be read, asked sooner than those of `models`."""
    # Only who asks for it waits for TensorFlow.
    from tests.exported_runs import ONE_LAYER, write_run

    folder = tmp_path_factory.mktemp("encoder") / "run"
    write_run(folder, ONE_LAYER, small)
    return folder


@pytest.fixture(scope="module")
def trained(encoder):
    """The same, and its model."""
    from albert_tf.model.trained_model import pretrainer_of, read_trained

    return encoder, pretrainer_of(read_trained(encoder), is_compiled=False)


@pytest.fixture
def send(monkeypatch):
    """Gives bytes to the standard input of the next command."""
    return lambda content: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
