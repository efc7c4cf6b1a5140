"""What the tests of training share."""

import pytest

from tests.training_data import write_dataset


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_dataset(root)
    return root
