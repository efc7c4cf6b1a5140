"""A folder is held by one process at a time, and by none where it cannot be."""

import errno
import fcntl

import pytest

from cli.support.lock import lock
from schemas.errors import SettingError


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_can_be_written(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with lock(tmp_path / "v"):
        assert (tmp_path / "v/.lock").exists()
    assert not (tmp_path / "v/.lock").exists()


@pytest.mark.parametrize("chosen_by", ["--output", "XDG_CACHE_HOME"])
def test_a_folder_that_cannot_be_made_is_said_with_what_chooses_it(tmp_path, chosen_by):
    (tmp_path / "file").touch()
    folder = tmp_path / "file/data"
    with pytest.raises(SettingError) as refusal, lock(folder, chosen_by=chosen_by):
        pass
    assert str(refusal.value) == (
        f"{chosen_by}: {folder} cannot be made: Not a directory."
    )
