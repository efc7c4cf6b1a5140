"""`albert vocab`: what it says."""

from tests.commands import VOCAB, run


def test_the_next_command_is_said_quoted_for_the_shell(small, tmp_path):
    output = tmp_path / "my vocabulary"
    said = run("vocab", "--text", small / "text", *VOCAB, "--output", output)
    assert said.splitlines()[-1] == (
        f"next: albert make-data ... --vocab '{output}' --output data"
    )
