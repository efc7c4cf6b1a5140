"""Settings that are gone, where an older file still names them."""

import json

import pytest

from cli.commands.vocab import VOCAB
from cli.support import output_folder
from schemas.errors import SettingError
from schemas.settings import GONE, Gone
from tests.commands import attempt

REFUSED = "old is 2, and the setting is gone; leave it out."


@pytest.fixture(autouse=True)
def _gone(monkeypatch):
    monkeypatch.setitem(GONE["vocab"], "old", Gone(1, "leave it out"))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1, "{path}: old ignored; gone, and without effect there.\n"),
        (None, ""),
        (2, "Error: {path}: " + REFUSED + "\n"),
    ],
)
def test_a_file_of_settings_may_name_one_where_it_had_no_effect(tmp_path, value, said):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"old": value, "text": ["none.txt"]}))
    command = ("vocab", "--config", path, "--output", tmp_path / "v")
    missing = "" if value == 2 else "Error: --text: none.txt does not exist.\n"
    assert attempt(*command) == (2, said.format(path=path) + missing)
    if missing:
        assert attempt(*command, "--quiet") == (2, missing)


def test_a_run_goes_on_where_it_had_no_effect(tmp_path, capsys):
    record, now = {"identity": {"seed": 3, "old": 1}}, {"seed": 3}
    assert output_folder.compare(tmp_path, VOCAB, record, identity=now) is False
    assert capsys.readouterr().err.startswith(f"{tmp_path}: old ignored;")
    record["identity"]["old"] = 2
    with pytest.raises(SettingError, match=f"{tmp_path}: {REFUSED}"):
        output_folder.compare(tmp_path, VOCAB, record, identity=now)
