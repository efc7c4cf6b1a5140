"""The folder a command writes: locked, and finished only when all of it is there."""

import errno
import fcntl
import json

import pytest

from cli.support import output_folder
from schemas.errors import SettingError
from tests.commands import run

IDENTITY = {"seed": 1}


def claim(folder, footprint=output_folder.VOCAB):
    with output_folder.claim(
        folder, footprint, settings={}, identity=IDENTITY, overwrite=False
    ) as finished:
        return finished


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_can_be_written(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert claim(tmp_path / "v") is False


@pytest.mark.parametrize("chosen_by", ["--output", "XDG_CACHE_HOME"])
def test_a_folder_that_cannot_be_made_is_said_with_what_chooses_it(tmp_path, chosen_by):
    (tmp_path / "file").touch()
    folder = tmp_path / "file/data"
    with (
        pytest.raises(SettingError) as refusal,
        output_folder.lock(folder, chosen_by=chosen_by),
    ):
        pass
    assert str(refusal.value) == (
        f"{chosen_by}: {folder} cannot be made: Not a directory."
    )


@pytest.mark.parametrize("goes_on", [False, True])
def test_what_goes_on_elsewhere_keeps_its_folder(tmp_path, goes_on):
    folder = tmp_path / "data"
    with (
        pytest.raises(KeyboardInterrupt),
        output_folder.claim(
            folder,
            output_folder.MAKE_DATA,
            settings={},
            identity=IDENTITY,
            overwrite=False,
            goes_on_elsewhere=goes_on,
        ),
    ):
        raise KeyboardInterrupt
    assert (folder / "config.json").exists() == goes_on


def test_a_vocabulary_without_its_model_is_not_finished(tmp_path):
    claim(tmp_path)
    record = {"command": "vocab", "identity": IDENTITY}
    (tmp_path / "config.json").write_text(json.dumps(record), "utf-8")
    (tmp_path / "manifest.json").touch()
    (tmp_path / "spiece.model").touch()
    assert claim(tmp_path) is True
    (tmp_path / "spiece.model").unlink()
    assert claim(tmp_path) is False


def test_a_temporary_folder_of_a_dead_process_is_removed(tmp_path):
    (tmp_path / "v/spiece.model.tmp-4711").mkdir(parents=True)
    (tmp_path / "v/spiece.model.tmp-4711/half").touch()
    claim(tmp_path / "v")
    assert not (tmp_path / "v/spiece.model.tmp-4711").exists()


def test_a_data_set_that_lacks_a_file_is_finished_again(small, tmp_path):
    config = small / "data/config.json"
    command = ("make-data", "--config", config, "--output", tmp_path / "d")
    run(*command, "--workers", 1)
    part = next((tmp_path / "d/train").rglob("*.tfrecord"))
    whole = part.read_bytes()
    part.unlink()
    assert "is finished already" not in run(*command, "--workers", 1)
    assert part.read_bytes() == whole
    assert run(*command, "--workers", 1).splitlines()[-1] == (
        f"{tmp_path}/d is finished already; nothing to do."
    )


def claimed(folder, monkeypatch, *, at, **settings):
    """Claim a folder at some time and leave a checkpoint in it."""
    monkeypatch.setattr(output_folder.time, "strftime", lambda _: at)
    claim = output_folder.claim(
        folder,
        output_folder.PRETRAIN,
        settings=settings,
        identity={},
        overwrite=False,
    )
    with claim:
        (folder / "checkpoints/step-00000001").mkdir(parents=True, exist_ok=True)
    return json.loads((folder / "config.json").read_text())


def test_a_run_that_goes_on_was_started_when_it_was_started_first(
    tmp_path, monkeypatch
):
    first = claimed(tmp_path / "run", monkeypatch, at="2026-01-01", max_time=1)
    second = claimed(tmp_path / "run", monkeypatch, at="2026-02-02", max_time=2)
    assert first["environment"]["started"] == "2026-01-01"
    assert second["environment"]["started"] == "2026-01-01"
    assert (first["max_time"], second["max_time"]) == (1, 2)


def test_what_a_killed_process_left_of_a_checkpoint_is_nothing_to_go_on_from(tmp_path):
    (tmp_path / "checkpoints/step-00000001.tmp-9").mkdir(parents=True)
    assert not output_folder.has_progress(tmp_path, output_folder.PRETRAIN)
