"""`albert vocab`: what it says."""

from tests.commands import VOCAB, attempt, run


def test_a_flag_that_would_not_be_read_is_refused(small, tmp_path):
    given = ("--text", small / "text", "--output", tmp_path / "v")
    assert attempt("vocab", *given, "--", "--vocab-size", 8000) == (
        2,
        "Error: '--vocab-size' comes after --, where this command takes nothing; put "
        "it before.\n",
    )
    assert not (tmp_path / "v").exists()


def test_the_next_command_is_said_quoted_for_the_shell(small, tmp_path):
    output = tmp_path / "my vocabulary"
    said = run("vocab", "--text", small / "text", *VOCAB, "--output", output)
    assert said.splitlines()[-1] == (
        f"next: albert make-data ... --vocab '{output}' --output data"
    )
