"""What the tests of training share."""

import pytest

from tests.commands import EVAL_FRACTION, make_data


@pytest.fixture(scope="module")
def documents(small, tmp_path_factory):
    """The data set of `small`, its examples made on the fly."""
    output = tmp_path_factory.mktemp("documents") / "data"
    make_data(
        small,
        "--eval-fraction",
        EVAL_FRACTION,
        "--examples",
        "on-the-fly",
        output=output,
    )
    return output
