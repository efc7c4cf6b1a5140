"""Flags and the file of settings."""

import json
import math
import shutil
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from cli.main import cli
from cli.support.options import Duration, UserPath
from schemas import __version__
from schemas.files import write_json
from tests.commands import attempt, refused

PATHS = {"wikipedia", "books", "text", "vocab", "model", "output", "config", "data"}


def parameters(command=cli, name="albert"):
    """The parameters of all commands, by the name of their command."""
    for parameter in command.params:
        yield name, parameter
    for sub, below in getattr(command, "commands", {}).items():
        yield from parameters(below, f"{name} {sub}")


@pytest.mark.parametrize("name", ["output", "data", "vocab", "text", "config"])
def test_a_tilde_is_the_home_folder_in_the_paths_of_every_command(name, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    found = [each for _, each in parameters() if each.name == name]
    assert found
    for parameter in found:
        value = ["~/v"] if parameter.multiple else "~/v"
        given = parameter.type_cast_value(click.Context(cli), value)
        assert str(given[0] if parameter.multiple else given) == f"{tmp_path}/v"


def test_every_path_of_the_command_line_is_of_the_one_type():
    others = [
        (command, parameter.name)
        for command, parameter in parameters()
        if isinstance(parameter.type, click.Path) or parameter.name in PATHS
        if not isinstance(parameter.type, UserPath)
    ]
    assert others == []
    # One on a cluster stays as it is.
    path = "gs://bucket/~ada/dump.xml"
    assert UserPath().convert(path, None, None) == path


def test_a_time_is_given_with_its_units():
    times = {"90": 90, "90s": 90, "30m": 1800, "1h30m": 5400}
    assert {text: Duration().convert(text, None, None) for text in times} == times
    for text in ("", "soon", "1h30", "-5", "1.5h", "9" * 5000 + "h"):
        with pytest.raises(click.BadParameter, match="is not a time; write 90s, 30m or 1h"):
            Duration().convert(text, None, None)


@pytest.mark.parametrize("name", ["vocab-size", "vocab_size"])
def test_a_setting_in_a_file_may_be_spelled_as_its_flag(tmp_path, name):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({name: 300, "text": [str(tmp_path / "none.txt")]}))
    said = attempt("vocab", "--config", config, "--output", tmp_path / "v")
    assert said == (2, f"Error: --text: {tmp_path}/none.txt does not exist.\n")


VALUES = [True, -1, 0.5, math.nan, math.inf, 10**30, "x", "\0", "\ud800", [], [None], [[]], {}]
VALUES += [None, {"a": 1}]
# With these nothing is ever begun.
NOTHING = {
    "vocab": {"text": ["none"], "output": "out"},
    "make-data": {"text": ["none"], "vocab": "vocab", "output": "out"},
    "pretrain": {"data": "none", "output": "out"},
}


@pytest.mark.parametrize("command", NOTHING)
def test_no_value_of_a_setting_in_a_file_is_unexpected(small, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(small / "vocab", "vocab")
    for parameter in cli.commands[command].params:
        for value in VALUES:
            settings = NOTHING[command] | {parameter.name: value}
            Path("config.json").write_text(json.dumps(settings))
            code, said = attempt(command, "--config", "config.json")
            assert code in (1, 2), (settings, said)
            assert "Unexpected" not in said, settings
            assert not Path("out").exists()


@pytest.mark.parametrize(
    ("version", "end"),
    [("0.2.0", ", and albert 0.2.0, which wrote the file, has it."), (__version__, ".")],
)
def test_a_setting_that_is_gone_is_refused_with_the_release_that_has_it(tmp_path, version, end):
    path = tmp_path / "config.json"
    write_json(path, {"albert_version": version, "character_coverage": 0.5, "text": ["a.txt"]})
    assert refused("vocab", "--config", path, "--output", tmp_path / "v") == (
        f"Error: {path}: 'character_coverage' is not a setting of albert vocab; albert vocab "
        f"--help lists them{end}\n"
    )


@pytest.mark.parametrize("name", ["make-data", "pretrain"])
def test_every_flag_has_one_topic_but_those_of_all_commands(name):
    command = cli.commands[name]
    named = [flag for flags in command.topics.values() for flag in flags]
    assert len(named) == len(set(named))
    flags = {param.name for param in command.params}
    assert set(named) <= flags
    assert flags - set(named) <= {"config", "quiet", "debug", "seed", "beam_options"}


@pytest.mark.parametrize("command", ["vocab", "make-data", "inspect", "finetune", "evaluate"])
def test_the_column_of_a_text_has_one_name_in_all_commands(command):
    flags = [set(param.opts) for param in cli.commands[command].params]
    assert {"--text-key", "--text-column"} in flags


@pytest.mark.parametrize(
    ("command", "begun", "offers"),
    [
        (("pretrain", "--model"), "x", ["xlarge", "xxlarge"]),
        (("plan", "--model"), "./my", ["./my"]),
        (("finetune", "run", "--task"), "squad", ["squad", "squad2"]),
        (("finetune", "run", "--task"), "re", ["regress"]),
    ],
)
def test_a_shell_completes_names_and_files(command, begun, offers):
    found = ShellComplete(cli, {}, "albert", "").get_completions(list(command), begun)
    assert [item.value for item in found] == offers
