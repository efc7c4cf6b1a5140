"""The documentation says what the program does."""

import importlib.util
from pathlib import Path

import click
import pytest

from cli.main import cli

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PAGES


@pytest.mark.parametrize("name", ["cli.md", "data_format.md"])
def test_generated_pages_are_up_to_date(pages, name):
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == pages[name](), "run make docs"


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_flag_has_a_help_text_and_every_command_an_example(name):
    command = cli.commands[name]
    assert command.help
    assert "Example:  albert" in command.epilog
    flags = [p for p in command.params if isinstance(p, click.Option)]
    assert [flag.name for flag in flags if not flag.help] == []


def test_every_top_level_folder_is_described_in_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for folder in ("cli", "pipeline", "albert_tf", "schemas", "tests", "benchmarks"):
        assert f"    {folder}/ " in readme
