"""The folder a command writes, which is finished only when all of it is there."""

import json

import pytest

from cli.support import output_folder
from cli.support.footprints import IMPORT, MAKE_DATA, PRETRAIN, VOCAB
from pipeline.storage import files
from schemas.errors import SettingError
from tests.commands import contents, run

IDENTITY = {"seed": 1}


def claim(folder, footprint=VOCAB, *, overwrite=False):
    with output_folder.claim(
        folder, footprint, settings={}, identity=IDENTITY, overwrite=overwrite
    ) as finished:
        return finished


@pytest.mark.parametrize("goes_on", [False, True])
def test_what_goes_on_elsewhere_keeps_its_folder(tmp_path, goes_on):
    folder = tmp_path / "data"
    with (
        pytest.raises(KeyboardInterrupt),
        output_folder.claim(
            folder,
            MAKE_DATA,
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


@pytest.mark.parametrize(
    ("footprint", "name"), [(MAKE_DATA, "eval"), (IMPORT, "checkpoints")]
)
def test_an_interrupted_overwrite_can_be_given_again(
    tmp_path, monkeypatch, footprint, name
):
    claim(tmp_path, footprint)
    (tmp_path / name).mkdir()
    (tmp_path / name / "half").touch()
    remove = files.remove

    def interrupted(path):
        if path == str(tmp_path / name):
            raise KeyboardInterrupt
        remove(path)

    with monkeypatch.context() as patched:
        patched.setattr(files, "remove", interrupted)
        with pytest.raises(KeyboardInterrupt):
            claim(tmp_path, footprint, overwrite=True)
    assert contents(tmp_path) == sorted(["config.json", f"{name}/half"])
    assert claim(tmp_path, footprint, overwrite=True) is False
    assert contents(tmp_path) == ["config.json"]


def test_a_folder_that_lies_elsewhere_is_overwritten_and_stays_there(tmp_path):
    claim(tmp_path / "data", MAKE_DATA)
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/part").touch()
    (tmp_path / "data/train").symlink_to(tmp_path / "disk")
    assert claim(tmp_path / "data", MAKE_DATA, overwrite=True) is False
    assert contents(tmp_path) == ["data/config.json", "disk/part"]
    assert not (tmp_path / "data/train").is_symlink()


def test_a_run_of_other_settings_is_refused_with_what_else_can_be_done(tmp_path):
    claim(tmp_path, PRETRAIN)
    (tmp_path / "checkpoints/step-00000001").mkdir(parents=True)
    with pytest.raises(SettingError) as refusal:
        output_folder.compare(tmp_path, PRETRAIN, identity={"seed": 2})
    assert str(refusal.value) == (
        f"{tmp_path} holds a run with other settings: --seed was 1 and is 2; give "
        "another --output (--init-from takes this run's weights along), or --overwrite "
        "to start over."
    )


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
        PRETRAIN,
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
    assert not output_folder.has_progress(tmp_path, PRETRAIN)
