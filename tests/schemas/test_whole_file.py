"""Files and folders appear whole or not at all."""

import errno
from pathlib import Path

import pytest

from schemas.errors import AlbertError
from schemas.whole_file import copy_whole, remove, whole_file, whole_folder
from tests.commands import contents


def fail_while_writing(path, error):
    """Write half of a file, then meet an error."""
    with whole_file(path) as file:
        file.write(b"half of it")
        raise error


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_has_its_name_when_all_of_it_is_written(tmp_path):
    path = tmp_path / "part"
    with whole_file(path) as file:
        file.write(b"albert")
        assert not path.exists()
    assert path.read_bytes() == b"albert"
    assert names_in(tmp_path) == ["part"]


def test_folders_are_made(tmp_path):
    with whole_file(tmp_path / "train" / "copy-00" / "part") as file:
        file.write(b"albert")
    assert (tmp_path / "train" / "copy-00" / "part").read_bytes() == b"albert"


def test_a_file_replaces_the_one_of_its_name(tmp_path):
    path = tmp_path / "part"
    path.write_bytes(b"old")
    with whole_file(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_a_failure_leaves_nothing_behind(tmp_path):
    with pytest.raises(ZeroDivisionError):
        fail_while_writing(tmp_path / "part", ZeroDivisionError())
    assert names_in(tmp_path) == []


def test_a_failure_leaves_the_file_that_was_there(tmp_path):
    path = tmp_path / "part"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        fail_while_writing(path, KeyboardInterrupt())
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["part"]


def test_a_full_disk_is_one_sentence_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "part"
    expected = f"^{path} cannot be written: No space left on device.$"
    with pytest.raises(AlbertError, match=expected):
        fail_while_writing(path, OSError(28, "No space left on device"))
    assert names_in(tmp_path) == []


def test_a_file_in_the_place_of_a_folder_is_one_sentence(tmp_path):
    (tmp_path / "train").write_bytes(b"")
    path = tmp_path / "train" / "part"
    with pytest.raises(AlbertError, match=f"^{path} cannot be written: "):
        fail_while_writing(path, AssertionError("nothing can be written there"))


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


def test_a_link_stays_one_and_its_folder_is_replaced(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "old").touch()
    link = tmp_path / "link"
    link.symlink_to("elsewhere")
    with whole_folder(link) as folder:
        (folder / "new").touch()
    assert link.readlink() == Path("elsewhere")
    assert names_in(tmp_path / "elsewhere") == ["new"]
    assert names_in(tmp_path) == ["elsewhere", "link"]


def test_of_a_link_only_the_link_is_removed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    remove(tmp_path / "link")
    assert names_in(tmp_path) == ["elsewhere"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(AlbertError, match="file/target cannot be written: File exists"),
        whole_folder(tmp_path / "file" / "target"),
    ):
        pass


def test_two_attempts_at_a_file_do_not_write_into_one(tmp_path):
    path = tmp_path / "part"
    with whole_file(path) as first:
        first.write(b"first")
        with whole_file(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert names_in(tmp_path) == ["part"]


def test_two_attempts_at_a_folder_do_not_write_into_one(tmp_path):
    target = tmp_path / "target"
    with whole_folder(target) as first:
        (first / "one").touch()
        with whole_folder(target) as second:
            (second / "two").touch()
        assert contents(tmp_path / "target") == ["two"]
    assert contents(tmp_path) == ["target/one"]
    assert names_in(tmp_path) == ["target"]


def test_a_file_is_copied_whole_or_not_at_all(tmp_path, monkeypatch):
    source, target = tmp_path / "source", tmp_path / "run/target"
    source.write_bytes(b"pieces")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(AlbertError) as caught:
            copy_whole(source, target)
    assert str(caught.value) == f"{target} cannot be written: No space left on device."
    assert list(target.parent.iterdir()) == []
    copy_whole(source, target)
    assert target.read_bytes() == b"pieces"


def test_a_file_to_copy_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(AlbertError) as caught:
        copy_whole(tmp_path / "source", tmp_path / "target")
    assert str(caught.value) == (
        f"{tmp_path}/source cannot be read: No such file or directory."
    )
