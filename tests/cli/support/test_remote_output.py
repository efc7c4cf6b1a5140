"""An output on storage that is no folder of this machine."""

import json

import pytest

from cli.support import remote_output
from cli.support.footprints import MAKE_DATA
from pipeline.job.marks import is_whole_dataset
from pipeline.storage import files, remote
from schemas.config import DataConfig
from schemas.errors import AlbertError, SettingError
from schemas.files import json_text
from schemas.manifest import ShardFile
from tests.manifests import manifest_of
from tests.memory_files import STORAGE

IDENTITY = {"seed": 1}


PART = "train/copy-00/part-00000-of-00001.tfrecord"


def claim(folder="memory://out/data", *, identity=IDENTITY, overwrite=False):
    return remote_output.claim(
        folder,
        MAKE_DATA,
        settings={"vocab": "/v"},
        identity=identity,
        overwrite=overwrite,
    )


def write_data_set(memory):
    """A finished data set of one file."""
    part = ShardFile(name=PART, examples=1, bytes=100, sha256="0" * 64)
    config = DataConfig(dupe_factor=1, num_shards=1, eval_fraction=0.0)
    manifest = manifest_of(
        [part], config.resolved(input_bytes=0), sha256="0" * 64, vocab_size=9
    )
    for name, data in {
        PART: bytes(100),
        "spiece.model": b"model",
        "README.md": b"card",
        "manifest.json": json_text(manifest.to_dict()).encode(),
    }.items():
        memory[f"memory://out/data/{name}"] = data


def test_a_file_appears_only_when_it_is_whole(memory):
    def write_half():
        with files.new_file("memory://out/a") as file:
            file.write(b"half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        write_half()
    assert not [path for path in memory if path.startswith("memory://out")]


def test_a_file_replaces_what_an_earlier_attempt_left(memory):
    for text in ("first", "second"):
        files.write_whole("memory://out/a", text)
    assert memory["memory://out/a"] == b"second"


def test_storage_that_takes_no_more_is_said_in_one_sentence(memory, monkeypatch):
    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(STORAGE.__class__, "put_file", full)
    with pytest.raises(
        AlbertError, match=r"^memory://full/a cannot be written: no space left\.$"
    ):
        files.write_whole("memory://full/a", "text")


def test_a_new_folder_is_claimed_by_its_config_json(memory):
    assert claim() is False
    record = json.loads(memory["memory://out/data/config.json"])
    assert record["command"] == "make-data"
    assert record["identity"] == IDENTITY


def test_an_interrupted_job_continues_and_a_finished_one_is_finished(memory):
    claim()
    files.write_whole("memory://out/data/shards/train-00000.json", "{}")
    assert claim() is False
    write_data_set(memory)
    assert claim() is True


@pytest.mark.parametrize("name", ["spiece.model", PART])
def test_a_data_set_without_one_of_its_files_is_not_finished(memory, name):
    claim()
    write_data_set(memory)
    whole = memory.pop(f"memory://out/data/{name}")
    assert claim() is False
    memory[f"memory://out/data/{name}"] = whole
    assert claim() is True
    memory[f"memory://out/data/{PART}"] = b"cut"
    assert claim() is False


def test_whether_a_data_set_is_finished_takes_one_listing(memory, monkeypatch):
    claim()
    write_data_set(memory)
    looked = []
    listed = remote.list_entries
    monkeypatch.setattr(
        remote, "list_entries", lambda folder: looked.append(folder) or listed(folder)
    )
    assert is_whole_dataset("memory://out/data") is True
    assert looked == ["memory://out/data"]


def test_other_settings_are_refused_until_overwritten(memory):
    claim()
    files.write_whole("memory://out/data/manifest.json", "{}")
    with pytest.raises(SettingError, match=r"--seed was 1 and is 2; give another"):
        claim(identity={"seed": 2})
    assert claim(identity={"seed": 2}, overwrite=True) is False
    assert "memory://out/data/manifest.json" not in memory


def test_an_interrupted_overwrite_can_be_given_again(memory, monkeypatch):
    claim()
    part = f"memory://out/data/{PART}"
    memory[part] = b"half"
    remove = remote_output.remove

    def interrupted(path):
        if path.endswith("/train"):
            raise KeyboardInterrupt
        remove(path)

    with monkeypatch.context() as patched:
        patched.setattr(remote_output, "remove", interrupted)
        with pytest.raises(KeyboardInterrupt):
            claim(overwrite=True)
    assert sorted(memory) == ["memory://out/data/config.json", part]
    assert claim(overwrite=True) is False
    assert list(memory) == ["memory://out/data/config.json"]


def test_a_folder_with_other_files_is_refused_and_kept(memory):
    memory["memory://out/data/thesis.tex"] = b"x"
    with pytest.raises(SettingError, match=r"^--output: memory://out/data holds other"):
        claim(overwrite=True)
    assert memory["memory://out/data/thesis.tex"] == b"x"
