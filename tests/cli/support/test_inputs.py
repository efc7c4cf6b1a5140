"""What names no flag on a command line."""

import pytest

from cli.support.inputs import refuse_stray
from schemas.errors import SettingError

SENTENCE = (
    "'b.txt' belongs to no flag; give each path with --wikipedia, --books or --text, "
    "and put quotes around a pattern, as in --text 'novels/*.txt'."
)


def test_options_of_beam_are_no_stray_paths():
    refuse_stray(["--project", "my-project"])
    refuse_stray([])
    with pytest.raises(SettingError) as error:
        refuse_stray(["b.txt", "--project"])
    assert str(error.value) == SENTENCE
