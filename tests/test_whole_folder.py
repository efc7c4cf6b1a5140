"""Folders appear whole or not at all."""

import pytest

from schemas.errors import AlbertError
from schemas.whole_folder import whole_folder
from tests.commands import contents


def write_half(target):
    with whole_folder(target) as folder:
        (folder / "new").touch()
        raise RuntimeError("midway")


def test_a_folder_appears_when_all_of_it_is_written(tmp_path):
    target = tmp_path / "made" / "here"
    with whole_folder(target) as folder:
        (folder / "inside").mkdir()
        (folder / "inside" / "file").write_text("content")
        assert not target.exists()
    assert (target / "inside" / "file").read_text() == "content"
    assert contents(tmp_path) == ["made/here/inside/file"]


def test_a_folder_that_fails_leaves_what_was_there(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "old").touch()
    with pytest.raises(RuntimeError, match="midway"):
        write_half(tmp_path / "target")
    assert contents(tmp_path) == ["target/old"]
    assert list(tmp_path.iterdir()) == [tmp_path / "target"]


def test_a_new_folder_replaces_the_old_one(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "old").touch()
    with whole_folder(tmp_path / "target") as folder:
        (folder / "new").touch()
    assert contents(tmp_path) == ["target/new"]
    assert list(tmp_path.iterdir()) == [tmp_path / "target"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(AlbertError, match="file/target cannot be written: Not a dir"),
        whole_folder(tmp_path / "file" / "target"),
    ):
        pass
