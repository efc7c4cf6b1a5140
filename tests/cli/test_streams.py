"""Standard output and standard error that are full, closed or of another encoding."""

import os
import subprocess

import pytest

from tests.processes import ALBERT

PLAN = ("plan", "--model", "tiny")


def albert(*arguments, streams="", environment=()):
    """How a command ends whose streams a shell has redirected."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {streams}', "sh", *ALBERT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **dict(environment)},
    )
    return done.returncode, done.stdout, done.stderr


def test_a_full_disk_under_the_output_is_one_sentence():
    code, _, said = albert(*PLAN, streams="> /dev/full")
    assert code == 1
    assert said == "Error: The output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("streams", ["<&- 2>&-", "2> /dev/full"])
def test_a_command_works_where_nobody_hears_it(small, tmp_path, streams):
    output = tmp_path / "v"
    code, _, _ = albert(
        *("vocab", "--text", small / "text", "--vocab-size", 400),
        *("--workers", 1, "--output", output),
        streams=streams,
    )
    assert code == 0
    model = (output / "spiece.model").read_bytes()
    assert model == (small / "vocab/spiece.model").read_bytes()


def test_an_error_that_nobody_hears_keeps_its_exit_code(tmp_path):
    code, said, _ = albert("inspect", tmp_path / "none", streams="2>&- >&-")
    assert (code, said) == (2, "")


def test_an_encoding_without_the_characters_of_the_output_is_named(small):
    code, _, said = albert(
        *("inspect", small / "data"), environment={"PYTHONIOENCODING": "iso8859-5"}
    )
    assert code == 1
    *_, sentence = said.splitlines()
    assert sentence.startswith(r"Error: '\x")
    assert sentence.endswith("of the output; set PYTHONIOENCODING=utf-8.")
