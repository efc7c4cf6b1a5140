"""Paths as people type them, and times."""

import click
import pytest

from cli.main import cli
from cli.support.parameter_types import Duration, UserPath

PATHS = {"wikipedia", "books", "text", "vocab", "model", "output", "config", "data"}


def parameters(command=cli, name="albert"):
    """The parameters of all commands, by the name of their command."""
    for parameter in command.params:
        yield name, parameter
    for sub, below in getattr(command, "commands", {}).items():
        yield from parameters(below, f"{name} {sub}")


@pytest.mark.parametrize("name", ["output", "data", "vocab", "text", "config"])
def test_a_tilde_is_the_home_folder_in_the_paths_of_every_command(name, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    found = [each for _, each in parameters() if each.name == name]
    assert found
    for parameter in found:
        value = ["~/v"] if parameter.multiple else "~/v"
        given = parameter.type_cast_value(click.Context(cli), value)
        assert str(given[0] if parameter.multiple else given) == "/home/ada/v"


def test_every_path_of_the_command_line_is_of_the_one_type():
    others = [
        (command, parameter.name)
        for command, parameter in parameters()
        if isinstance(parameter.type, click.Path)
        and not isinstance(parameter.type, UserPath)
    ]
    assert others == []
    strings = [
        (command, parameter.name)
        for command, parameter in parameters()
        if parameter.name in PATHS and not isinstance(parameter.type, UserPath)
    ]
    assert strings == []


def test_a_path_on_a_cluster_stays_as_it_is():
    path = "gs://bucket/~ada/dump.xml"
    assert UserPath().convert(path, None, None) == path


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("30m", 1800), ("1h30m", 5400)]
)
def test_a_time_is_given_with_its_units(text, seconds):
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "soon", "1h30", "-5", "1.5h", "9" * 5000 + "h"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(click.BadParameter, match="is not a time; write 90s, 30m or 1h"):
        Duration().convert(text, None, None)
