"""The documentation says what the program does."""

import importlib.util
import re
from pathlib import Path

import click
import pytest

from cli.main import cli

ROOT = Path(__file__).parent.parent
PACKAGES = ("cli", "pipeline", "albert_tf", "schemas")
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]


SPEC = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
GENERATOR = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(GENERATOR)
COMMANDS = dict(GENERATOR.commands(cli, "albert"))


@pytest.mark.parametrize("path", GENERATOR.PAGES, ids=lambda path: path.name)
def test_generated_pages_are_up_to_date(path):
    assert path.read_text(encoding="utf-8") == GENERATOR.PAGES[path](), "run make docs"


@pytest.mark.parametrize("path", sorted(set(COMMANDS) - {"albert"}))
def test_every_flag_has_a_help_text_and_every_command_an_example(path):
    command = COMMANDS[path]
    assert command.help
    assert f"Example:  {path}" in command.epilog
    flags = [p for p in command.params if isinstance(p, click.Option)]
    assert [flag.name for flag in flags if not flag.help] == []


def test_every_top_level_folder_is_described_in_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for folder in (*PACKAGES, "tests", "benchmarks", "docs"):
        assert f"| **`{folder}/`** |" in readme


@pytest.mark.parametrize("page", PAGES)
def test_every_page_that_is_linked_and_every_file_that_is_named_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^):#]+)[^):]*\)", text)
    folder = (ROOT / page).parent
    assert [link for link in links if not (folder / link).exists()] == []
    folders = "|".join((*PACKAGES, "tests", "docs"))
    named = re.findall(rf"\b(?:{folders})/[\w/]+\.(?:py|md|yaml)\b", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_program_that_the_makefile_runs_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    scripts = re.findall(r"python (\S+\.py)", makefile)
    modules = re.findall(r"-m ((?:benchmarks|tests)\.\S+)", makefile)
    programs = [*scripts, *(f"{name.replace('.', '/')}.py" for name in modules)]
    assert "docs/generate.py" in programs
    assert "benchmarks/make_data.py" in programs
    assert [name for name in programs if not (ROOT / name).exists()] == []
