"""The folder a command writes: held, recognised, continued, finished when whole."""

import errno
import fcntl
import json
from unittest.mock import Mock

import pytest

from cli.commands.import_model import IMPORT
from cli.commands.vocab import VOCAB
from cli.support.resolve import PRETRAIN
from pipeline.job.resume import MAKE_DATA, is_whole_dataset
from pipeline.storage import files, output_folder, remote
from schemas.config import DataConfig
from schemas.errors import SettingError
from schemas.files import TEMPORARY, json_text, write_json
from schemas.locks import lock
from tests.commands import contents
from tests.manifests import described, manifest_of
from tests.refusals import refusal

IDENTITY = {"seed": 1}


def claim(folder, footprint=VOCAB, *, identity=IDENTITY, overwrite=False):
    with output_folder.claim(
        folder, footprint, settings={}, identity=identity, overwrite=overwrite
    ) as finished:
        return finished


@pytest.mark.parametrize("goes_on", [False, True])
def test_what_goes_on_elsewhere_keeps_its_folder(tmp_path, goes_on):
    folder = tmp_path / "data"
    given = {"settings": {}, "identity": IDENTITY, "overwrite": False}
    claimed = output_folder.claim(folder, MAKE_DATA, **given, goes_on_elsewhere=goes_on)
    with pytest.raises(KeyboardInterrupt), claimed:
        raise KeyboardInterrupt
    assert (folder / "config.json").exists() == goes_on


def test_a_vocabulary_without_its_model_is_not_finished(tmp_path):
    claim(tmp_path)
    write_json(tmp_path / "config.json", {"command": "vocab", "identity": IDENTITY})
    (tmp_path / "manifest.json").touch()
    (tmp_path / "spiece.model").touch()
    assert claim(tmp_path) is True
    (tmp_path / "spiece.model").unlink()
    assert claim(tmp_path) is False


def test_a_lock_and_a_temporary_folder_of_a_dead_process_do_not_matter(tmp_path):
    (tmp_path / ".lock").write_text("4711\n", encoding="utf-8")
    files.write_whole(f"{tmp_path}/spiece.model.tmp-4711/half", "")
    assert claim(tmp_path) is False
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


@pytest.mark.parametrize(
    ("where", "footprint", "name"),
    [
        *(("", MAKE_DATA, "eval"), ("", IMPORT, "checkpoints")),
        ("memory://out/data", MAKE_DATA, "train"),
    ],
)
def test_an_interrupted_overwrite_can_be_given_again(
    tmp_path, memory, monkeypatch, where, footprint, name
):
    folder = where or tmp_path
    claim(folder, footprint)
    files.write_whole(files.join(folder, f"{name}/half"), "")
    remove = files.remove

    def interrupted(path):
        if path == files.join(folder, name):
            raise KeyboardInterrupt
        remove(path)

    with monkeypatch.context() as patched:
        patched.setattr(files, "remove", interrupted)
        with pytest.raises(KeyboardInterrupt):
            claim(folder, footprint, overwrite=True)
    assert {*files.sizes_below(folder)} == {"config.json", f"{name}/half"}
    assert claim(folder, footprint, overwrite=True) is False
    assert [*files.sizes_below(folder)] == ["config.json"]


def test_a_folder_that_lies_elsewhere_is_overwritten_and_stays_there(tmp_path):
    claim(tmp_path / "data", MAKE_DATA)
    files.write_whole(f"{tmp_path}/disk/part", "")
    (tmp_path / "data/train").symlink_to(tmp_path / "disk")
    assert claim(tmp_path / "data", MAKE_DATA, overwrite=True) is False
    assert contents(tmp_path) == ["data/config.json", "disk/part"]
    assert not (tmp_path / "data/train").is_symlink()


FILE = {"name": "a.txt", "sha256": "0" * 64, "language": "en"}


@pytest.mark.parametrize(
    ("footprint", "record", "identity", "says"),
    [
        (
            PRETRAIN,
            {"identity": IDENTITY},
            {"seed": 2},
            "holds a run with other settings: --seed was 1 and is 2; give another --output "
            "(--init-from takes this run's weights along), or --overwrite to start over.",
        ),
        *(
            (
                VOCAB,
                {"albert_version": "0.2.0", "identity": IDENTITY | gone},
                IDENTITY,
                "holds a vocabulary of albert 0.2.0, which has other settings: finish it with "
                "that release, or give another --output, or --overwrite to start over.",
            )
            for gone in ({"causal_share": 0.0}, {"beta1": None, "skip_corrupt": True})
        ),
        # Told by no flag: there is none of this name.
        (
            VOCAB,
            {"identity": {"inputs": [FILE]}},
            {"inputs": [FILE | {"language": "de"}]},
            "holds a vocabulary with other settings: the files of its text, or how they are read "
            "(such as --language), changed; give another --output, or --overwrite to start over.",
        ),
    ],
)
def test_other_settings_are_refused_with_a_way_out(tmp_path, footprint, record, identity, says):
    write_json(tmp_path / "config.json", record)
    given = (output_folder.compare, tmp_path, footprint)
    assert refusal(*given, identity=identity, error=SettingError) == f"{tmp_path} {says}"


def test_a_run_that_goes_on_was_started_when_it_was_started_first(tmp_path, monkeypatch):
    for time, most in (("2026-01-01", 1), ("2026-02-02", 2)):
        monkeypatch.setattr(output_folder.time, "strftime", lambda _, time=time: time)
        given = {"settings": {"max_time": most}, "identity": {}, "overwrite": False}
        with output_folder.claim(tmp_path, PRETRAIN, **given):
            (tmp_path / "checkpoints/step-00000001").mkdir(parents=True, exist_ok=True)
        record = json.loads((tmp_path / "config.json").read_text())
        assert (record["environment"]["started"], record["max_time"]) == ("2026-01-01", most)


def test_what_a_killed_process_left_of_a_checkpoint_is_nothing_to_go_on_from(tmp_path):
    (tmp_path / "checkpoints/step-00000001.tmp-9").mkdir(parents=True)
    assert not output_folder.has_progress(tmp_path, PRETRAIN)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_can_be_written(tmp_path, monkeypatch, number):
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(number, "no locks here")))
    with lock(tmp_path / "v"):
        assert (tmp_path / "v/.lock").exists()
    assert not (tmp_path / "v/.lock").exists()


@pytest.mark.parametrize("chosen_by", ["--output", "XDG_CACHE_HOME"])
def test_a_folder_that_cannot_be_made_is_said_with_what_chooses_it(tmp_path, chosen_by):
    (tmp_path / "file").touch()
    folder = tmp_path / "file/data"
    said = refusal(lock(folder, chosen_by=chosen_by).__enter__, error=SettingError)
    assert said == f"{chosen_by}: {folder} cannot be made: Not a directory."


# On storage that is no folder of this machine

PART = "train/copy-00/part-00000-of-00001.tfrecord"


def claim_there(**given):
    return claim("memory://out/data", MAKE_DATA, **given)


def write_data_set(memory):
    """A finished data set of one file."""
    part = described(PART, 1, bytes=100)
    config = DataConfig(dupe_factor=1, num_shards=1, eval_fraction=0.0)
    manifest = manifest_of([part], config.resolved(input_bytes=0), sha256="0" * 64, vocab_size=9)
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


def test_a_new_folder_is_claimed_an_interrupted_job_continues_and_a_finished_one_is(memory):
    assert claim_there() is False
    record = json.loads(memory["memory://out/data/config.json"])
    assert (record["command"], record["identity"]) == ("make-data", IDENTITY)
    files.write_whole("memory://out/data/shards/train-00000.json", "{}")
    assert claim_there() is False
    write_data_set(memory)
    assert claim_there() is True


def test_a_data_set_without_one_of_its_files_is_not_finished(memory):
    claim_there()
    write_data_set(memory)
    for name in ("spiece.model", PART):
        whole = memory.pop(f"memory://out/data/{name}")
        assert claim_there() is False
        memory[f"memory://out/data/{name}"] = whole
        assert claim_there() is True
    memory[f"memory://out/data/{PART}"] = b"cut"
    assert claim_there() is False


def test_whether_a_data_set_is_finished_takes_one_listing(memory, monkeypatch):
    claim_there()
    write_data_set(memory)
    looked = []
    listed = remote.list_entries
    monkeypatch.setattr(remote, "list_entries", lambda path: looked.append(path) or listed(path))
    assert is_whole_dataset("memory://out/data") is True
    assert looked == ["memory://out/data"]


def test_a_folder_with_other_files_is_refused_and_kept(memory):
    memory["memory://out/data/thesis.tex"] = b"x"
    with pytest.raises(SettingError, match=r"^--output: memory://out/data holds other"):
        claim_there(overwrite=True)
    assert memory["memory://out/data/thesis.tex"] == b"x"


@pytest.fixture(params=["here", "memory://out"])
def folders(request, tmp_path, memory):
    """A data set's folder, one for removed text, and the one around, as the flags give them."""
    if request.param == "here":
        return tmp_path / "data", tmp_path / "removed", tmp_path
    return f"{request.param}/data", f"{request.param}/removed", request.param


def refusal_of_removed(removed, output):
    return refusal(output_folder.check_removed, removed, output, error=SettingError)


def test_removed_text_of_another_data_set_is_kept(folders):
    output, removed, _ = folders
    # As a worker leaves it that is killed while it writes.
    files.write_whole(files.join(removed, f"removed-00000.jsonl{TEMPORARY}1"), "{}")
    output_folder.check_removed(removed, output)
    files.write_whole(files.join(removed, "removed-00000.jsonl"), "{}")
    assert refusal_of_removed(removed, output) == (
        f"--removed: {removed} holds removed text, and {output} no data set that it "
        "can be of; give a new folder, or delete that text first."
    )


def test_a_data_set_that_goes_on_writes_its_removed_text_again(folders):
    output, removed, _ = folders
    files.write_whole(files.join(output, "config.json"), json_text({"command": "make-data"}))
    files.write_whole(files.join(removed, "removed-00000.jsonl"), "{}")
    output_folder.check_removed(removed, output)


def test_removed_text_has_a_folder_of_its_own(folders):
    output, removed, around = folders
    files.write_whole(files.join(removed, "thesis.tex"), "x")
    assert refusal_of_removed(removed, output) == (
        f"--removed: {removed} holds thesis.tex, which this command did not write; "
        "give a new folder."
    )
    for one, other in [(removed, around), (output, output), (around, output)]:
        assert refusal_of_removed(one, other) == (
            f"--removed: {one} must be neither in --output nor around it."
        )
    # Of two names, one only begins as the other does.
    output_folder.check_removed(type(output)(f"{output}-removed"), output)


def test_removed_text_is_not_written_where_nothing_can_be_or_nobody_sees_it(tmp_path):
    assert refusal_of_removed("https://host/removed", tmp_path / "data") == (
        "--removed: https://host/removed can only be read; give a folder here or one "
        "such as s3://bucket/folder."
    )
    assert refusal_of_removed(tmp_path / "removed", "s3://bucket/data") == (
        f"--removed: {tmp_path}/removed is on this machine and --output is not; give a "
        "folder on storage too."
    )
