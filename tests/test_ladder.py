"""Lines of the ladder's table."""

import pytest

from benchmarks.ladder import main


def test_no_line_is_written_without_the_name_of_its_corpus(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["ladder", "run"])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    assert (end.value.code, said.out, said.err.splitlines()[-1]) == (
        2,
        "",
        "ladder: error: --corpus: name the text that the runs were trained on",
    )
