"""A data set on storage, copied to this machine where it is read."""

from types import SimpleNamespace

import pytest

from pipeline.dataset.local_copy import all_files, fetch, first_files, prepare_copy
from schemas.layout import TRAIN
from schemas.manifest import read_manifest
from tests.commands import contents, refused, run
from tests.refusals import refusal

PLACE = "memory://bucket/data"


@pytest.fixture
def stored(small, memory, tmp_path, monkeypatch):
    """The small data set as it lies on storage; copies are made below a new folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in contents(small / "data"):
        memory[f"{PLACE}/{name}"] = (small / "data" / name).read_bytes()
    return memory


def test_a_copy_has_the_files_of_the_manifest_and_is_made_once_for_each(stored, small, tmp_path):
    copy = prepare_copy(PLACE, cache=tmp_path, choose=all_files)
    assert copy.missing == read_manifest(small / "data").shards
    assert sum(fetch(copy)) == copy.missing_bytes
    assert read_manifest(copy.folder) == read_manifest(small / "data")
    for name in contents(copy.folder):
        assert (copy.folder / name).read_bytes() == (small / "data" / name).read_bytes()
    again = prepare_copy(PLACE, cache=tmp_path, choose=all_files)
    assert again == copy._replace(missing=())
    # As when the data set was made again.
    stored[f"{PLACE}/manifest.json"] += b"\n"
    assert prepare_copy(PLACE, cache=tmp_path, choose=all_files).folder != copy.folder


def test_the_first_examples_take_the_first_files(stored, small, tmp_path):
    files = read_manifest(small / "data").shard_files(TRAIN, 1)
    for examples, chosen in ((1, files[:1]), (10**6, files)):
        first = first_files(TRAIN, copy=1, examples=examples)
        assert prepare_copy(PLACE, cache=tmp_path, choose=first).missing == chosen


def test_a_file_that_was_changed_is_refused_and_not_kept(stored, small, tmp_path):
    name = read_manifest(small / "data").shard_files(TRAIN, 0)[0].name
    stored[f"{PLACE}/{name}"] = bytes(len(stored[f"{PLACE}/{name}"]))
    copy = prepare_copy(PLACE, cache=tmp_path, choose=all_files)
    assert refusal(lambda: list(fetch(copy))) == (
        f"{PLACE}/{name} is not the file that the manifest describes; make the data again."
    )
    assert not (copy.folder / name).exists()


def test_verification_removes_what_is_damaged_from_a_copy(stored, small, tmp_path):
    run("inspect", PLACE, "--verify")
    (folder,) = (tmp_path / "cache/albert").iterdir()
    shards = read_manifest(small / "data").shards
    name = next(shard.name for shard in shards if shard.examples)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(bytes(len(whole)))
    said = refused("inspect", PLACE, "--verify", code=1)
    assert f"{name} is not the file that the manifest describes.\n" in said
    assert said.endswith(
        f"Error: {folder} was damaged; what does not match is removed from the copy; "
        "the next command copies it again.\n"
    )
    assert {s.name for s in shards} - set(contents(folder)) == {name}
    run("inspect", PLACE, "--verify")
    assert (folder / name).read_bytes() == whole


def test_a_copy_that_does_not_fit_is_refused(stored, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    said = refusal(prepare_copy, PLACE, cache=tmp_path, choose=all_files)
    assert "where 1 kB of disk is free; set XDG_CACHE_HOME to a folder" in said


def test_a_folder_without_a_manifest_is_refused(memory, tmp_path):
    said = refusal(prepare_copy, PLACE, cache=tmp_path, choose=all_files)
    assert said.startswith("memory://bucket/data has no manifest.json")


def test_inspect_shows_a_data_set_on_storage_from_a_part_of_it(stored, small, tmp_path):
    line, _, rest = run("inspect", PLACE, "--examples", 1).partition("\n")
    (folder,) = (tmp_path / "cache/albert").iterdir()
    assert line.startswith(f"{PLACE}: ")
    assert line.endswith(f" to {folder}, where it is kept.")
    assert rest == run("inspect", small / "data", "--examples", 1)
    assert len(list(folder.rglob("*.tfrecord"))) == 1


def test_a_report_takes_a_data_set_on_storage(stored, tmp_path):
    run("report", PLACE, "--output", tmp_path / "report.html")
    assert "data-" in (tmp_path / "report.html").read_text(encoding="utf-8")
