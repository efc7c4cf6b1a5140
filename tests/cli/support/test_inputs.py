"""What names no flag on a command line."""

import pytest

from cli.support.inputs import refuse_stray
from schemas.errors import SettingError
from tests.commands import attempt

SENTENCE = (
    "'b.txt' belongs to no flag; give each path with --wikipedia, --books or --text, "
    "and put quotes around a pattern, as in --text 'novels/*.txt'."
)


def test_a_pattern_that_the_shell_replaced_is_answered_with_a_hint(tmp_path):
    arguments = ("--text", "a.txt", "b.txt", "c.txt", "--vocab", tmp_path)
    said = attempt("make-data", *arguments, "--output", tmp_path / "d")
    assert said == (2, f"Error: {SENTENCE}\n")


def test_options_of_beam_are_no_stray_paths():
    refuse_stray(["--project", "my-project"])
    refuse_stray([])
    with pytest.raises(SettingError) as error:
        refuse_stray(["b.txt", "--project"])
    assert str(error.value) == SENTENCE
