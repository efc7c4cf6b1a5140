"""Bad input of every kind ends in one sentence, which a page for people lists."""

import pytest

from tests.bad_input import CASES, INTRODUCTION, PAGE, end, make_whole, row

ROWS = PAGE.read_text("utf-8").removeprefix(INTRODUCTION).splitlines()


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    make_whole(small, folder)
    return folder


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_bad_input_ends_in_the_sentence_of_the_page(case, whole, tmp_path):
    ending = end(case, whole, tmp_path)
    *before, sentence = ending.said.splitlines()
    assert ending.exit_code == case.exit_code, ending.said
    assert sentence.startswith("Error: ")
    assert sentence.endswith((".", "?"))
    assert "Unexpected" not in sentence
    assert not [line for line in before if line.startswith(("Error", "Traceback"))]
    assert ending.left == []
    assert row(case, ending) in ROWS, "run make docs"


def test_the_page_has_a_line_for_each_case():
    cases = [row.split(" | ")[0].removeprefix("| ") for row in ROWS]
    assert cases == [case.name for case in CASES]
