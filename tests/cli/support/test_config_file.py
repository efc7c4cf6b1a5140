"""Settings from a file."""

import json
import math
import shutil
from pathlib import Path

import pytest

from cli.main import cli
from tests.commands import attempt


@pytest.mark.parametrize("name", ["vocab-size", "vocab_size"])
def test_a_setting_in_a_file_may_be_spelled_as_its_flag(tmp_path, name):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({name: 300, "text": [str(tmp_path / "none.txt")]}))
    said = attempt("vocab", "--config", config, "--output", tmp_path / "v")
    assert said == (2, f"Error: --text: {tmp_path}/none.txt does not exist.\n")


VALUES = [True, -1, 0.5, math.nan, math.inf, 10**30, "x", "\0", "\ud800", [], [None]]
VALUES += [[[]], {}, {"a": 1}]


# With these nothing is ever begun.
NOTHING = {
    "vocab": {"text": ["none"], "output": "out"},
    "make-data": {"text": ["none"], "vocab": "vocab", "output": "out"},
    "pretrain": {"data": "none", "output": "out"},
}


@pytest.mark.parametrize("command", NOTHING)
def test_no_value_of_a_setting_in_a_file_is_unexpected(
    small, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(small / "vocab", "vocab")
    for parameter in cli.commands[command].params:
        for value in (None, *VALUES):
            settings = NOTHING[command] | {parameter.name: value}
            Path("config.json").write_text(json.dumps(settings))
            code, said = attempt(command, "--config", "config.json")
            assert code in (1, 2), (settings, said)
            assert "Unexpected" not in said, settings
            assert not Path("out").exists()


def test_a_number_stands_for_a_schedule_of_one_value(small, tmp_path):
    path, output = tmp_path / "config.json", tmp_path / "run"
    settings = {"steps": 1, "masked_lm_prob": 0.3, "max_seq_length": 32}
    path.write_text(json.dumps(settings))
    data = ("--data", small / "data")
    code, said = attempt("pretrain", "--config", path, *data, "--output", output)
    assert code == 2
    assert "leave --max-seq-length, --masked-lm-prob out" in said


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("vocab_size", 400.7, "vocab_size must be of type int, not 400.7."),
        ("vocab_size", True, "vocab_size must be of type int, not True."),
        ("cased", 1, "cased must be of type bool, not 1."),
        ("text", [7], "text must be of type str, not 7."),
        ("output", {}, "output must be of type str, not {}."),
        (
            "language",
            "d\0",
            "language has a zero byte or half a character, which no setting can have.",
        ),
    ],
)
def test_a_setting_of_another_type_is_named(tmp_path, name, value, rule):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({name: value}))
    said = attempt("vocab", "--config", config)
    assert said == (2, f"Error: {config}: {rule}\n")
