"""No link in a folder that a command writes is followed; what is behind it stays."""

import errno
import fcntl
import os
from unittest.mock import Mock

import pytest

from cli.commands.finetune import FINETUNE
from cli.commands.import_model import IMPORT
from cli.commands.vocab import VOCAB
from cli.support.resolve import PRETRAIN
from pipeline.job.resume import MAKE_DATA
from schemas.errors import SettingError
from schemas.files import write_json, write_text
from schemas.locks import check_own, lock
from tests.commands import contents, refused
from tests.pipeline.storage.test_output_folder import claim as claim_folder
from tests.refusals import refusal

# With more steps to come, and a test file without predictions.
IDENTITY = {"steps": 9, "test": ["predictions-2.jsonl"]}

REFUSED = (
    "{} is a link, a pipe or a device, and nothing is written to what is behind it; remove "
    "it, or give another folder; the whole folder may be a link to another disk."
)


@pytest.fixture
def precious(tmp_path):
    """A folder with a file that is not the command's."""
    folder = tmp_path / "precious"
    write_text(folder / "thesis", "mine")
    yield folder
    assert (folder / "thesis").read_text("utf-8") == "mine"
    assert contents(folder) == ["thesis"]


def claim(folder, footprint, *, overwrite=False):
    write_json(folder / "config.json", {"command": footprint.command, "identity": IDENTITY})
    return claim_folder(folder, footprint, identity=IDENTITY, overwrite=overwrite)


STEP = "checkpoints/step-00000001"


@pytest.mark.parametrize(
    ("footprint", "progress", "name", "leads_to"),
    [
        (VOCAB, "manifest.json", "spiece.vocab", "thesis"),
        (IMPORT, "manifest.json", "checkpoints", "."),
        (MAKE_DATA, "shards/train-00000.json", "README.md", "thesis"),
        (MAKE_DATA, "shards/train-00000.json", "train/copy-00", "."),
        (MAKE_DATA, ".work/split-00000.json", ".work/split-00000.documents", "thesis"),
        (PRETRAIN, STEP, "metrics.jsonl", "thesis"),
        (PRETRAIN, STEP, "checkpoints/step-00000002", "."),
        (PRETRAIN, STEP, "tensorboard/events.out.tfevents.1", "thesis"),
        (FINETUNE, STEP, "predictions/predictions-1.jsonl", "none"),
    ],
)
def test_a_link_is_refused_and_of_an_overwritten_one_only_the_link_goes(
    tmp_path, precious, footprint, progress, name, leads_to
):
    folder = tmp_path / "out"
    write_text(folder / progress, "")
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).symlink_to(precious / leads_to)
    assert refusal(claim, folder, footprint, error=SettingError) == REFUSED.format(folder / name)
    assert claim(folder, footprint, overwrite=True) is False
    assert contents(folder) == ["config.json"]


@pytest.mark.parametrize("link", [os.symlink, os.link, lambda _, path: os.mkfifo(path)])
def test_a_lock_is_a_file_of_its_own(tmp_path, precious, link):
    link(precious / "thesis", tmp_path / ".lock")
    said = refusal(lock(tmp_path).__enter__, error=SettingError)
    assert said == REFUSED.format(tmp_path / ".lock")


def test_a_folder_in_the_place_of_the_lock_cannot_be_written(tmp_path):
    (tmp_path / ".lock").mkdir()
    with pytest.raises(SettingError) as caught, lock(tmp_path):
        pass
    assert str(caught.value) == f"--output: {tmp_path} cannot be written: Is a directory."


def test_a_file_system_without_locks_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks")))
    with lock(tmp_path):
        assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"
    assert contents(tmp_path) == []


def test_a_command_that_is_refused_empties_nothing(tmp_path, precious):
    write_text(tmp_path / "a.txt", "Some text.\n\nMore of it.\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/.lock").symlink_to(precious / "thesis")
    said = refused("vocab", "--text", tmp_path / "a.txt", "--output", tmp_path / "out")
    assert said.endswith(f"Error: {REFUSED.format(tmp_path / 'out/.lock')}\n")


def test_a_file_takes_the_place_of_a_link(tmp_path, precious):
    (tmp_path / "report.html").symlink_to(precious / "thesis")
    write_text(tmp_path / "report.html", "new")
    assert not (tmp_path / "report.html").is_symlink()


def test_a_folder_without_links_is_its_own(tmp_path):
    (tmp_path / "out/train").mkdir(parents=True)
    check_own(tmp_path / "out")
    check_own(tmp_path / "none")
    (tmp_path / "place").symlink_to("out")
    with lock(tmp_path / "place"):
        assert contents(tmp_path / "out") == [".lock"]
