"""The rooms of the house: each says in its docstring which files it has."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = sorted(
    path.parent.relative_to(ROOT)
    for package in ("albert_tf", "cli", "pipeline")
    for path in (ROOT / package).glob("*/__init__.py")
)


def docstring(room: Path) -> str:
    """The docstring of a room, which is all that its `__init__.py` holds."""
    tree = ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8"))
    (only,) = tree.body
    return only.value.value


def test_every_folder_of_a_package_is_a_room():
    folders = {
        path.parent.relative_to(ROOT)
        for package in ("albert_tf", "cli", "pipeline")
        for path in (ROOT / package).glob("*/**/*.py")
    }
    assert sorted(folders) == ROOMS


@pytest.mark.parametrize("room", ROOMS, ids=str)
def test_a_room_lists_its_files_and_no_others(room):
    listed = re.findall(r"^    (\w+)  ", docstring(room), re.MULTILINE)
    files = {path.stem for path in (ROOT / room).glob("*.py")} - {"__init__"}
    assert sorted(listed) == sorted(files)


@pytest.mark.parametrize("room", ROOMS, ids=str)
def test_a_room_says_what_it_may_import(room):
    assert "\n\nMay import: " in docstring(room)
