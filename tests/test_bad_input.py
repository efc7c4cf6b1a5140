"""Bad input of every kind ends in one sentence that names the reason."""

import contextlib
import shutil

import pytest

from schemas.errors import FORM
from tests.bad_input import CASES, end, put_beside
from tests.one_trainer import it_reads_too, one_trains, trainer  # noqa: F401


@pytest.fixture(scope="module")
def whole(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "all"
    shutil.copytree(models, folder)
    with contextlib.chdir(folder):
        put_beside()
    return folder


@pytest.mark.parametrize("case", CASES, ids=[case.says for case in CASES])
def test_bad_input_ends_in_one_sentence_and_leaves_nothing(case, whole, tmp_path):
    code, said, left = end(case, whole, tmp_path)
    before, _, after = f"\n{said}".partition("\nError: ")
    # Below a sentence there may be rows of the form that is read.
    sentence, *rows = after.splitlines()
    assert code == case.exit_code, said
    assert sentence.endswith((".", "?", FORM))
    assert not [row for row in rows if not row.startswith("  ")]
    assert case.says
    assert case.says in sentence
    assert "Unexpected" not in sentence
    assert not [line for line in before.splitlines() if line.startswith(("Error", "Traceback"))]
    assert left == []
