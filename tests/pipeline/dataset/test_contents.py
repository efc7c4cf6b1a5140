"""A data set is whole, or it is said what is not."""

import hashlib
import io
import os
import re
import shutil
from pathlib import Path

import pytest

from cli.support import console
from pipeline.dataset.manifest import verify
from pipeline.records.tfrecord import RecordWriter, read_frames
from schemas.manifest import read_manifest
from tests.commands import attempt, refused, run
from tests.manifests import edit_manifest


@pytest.fixture
def data(small, tmp_path):
    """A data set of its own."""
    return shutil.copytree(small / "data", tmp_path / "data")


def problems(data: Path) -> list[str]:
    return list(verify(data, read_manifest(data)))


def test_a_file_of_another_size_is_not_hashed(data):
    """One of a terabyte of nothing would take an hour."""
    shard = next(s for s in read_manifest(data).shards if s.examples)
    os.truncate(data / shard.name, 1 << 40)
    assert problems(data)[0] == f"{shard.name} is not the file that the manifest describes."


def test_every_kind_of_damage_to_the_files_is_found(data):
    first, second, third, fourth = [s for s in read_manifest(data).shards if s.examples > 2][:4]
    content = bytearray((data / first.name).read_bytes())
    content[40] ^= 1
    (data / first.name).write_bytes(content)
    (data / second.name).unlink()
    cut = (data / third.name).read_bytes()[:-5]
    (data / third.name).write_bytes(cut)
    with (data / fourth.name).open("ab") as file:
        RecordWriter(file).write([b"one more"])
    (data / "spiece.model").write_bytes(b"")
    last = [frame.offset for frame in read_frames(io.BytesIO(cut))][-1]
    assert problems(data) == [
        "spiece.model is not the vocabulary that the data was made with; put that one back.",
        f"{first.name} is not the file that the manifest describes.",
        f"{first.name}: record 0, at byte 0, does not match its checksum.",
        f"{second.name} is missing.",
        f"{third.name} is not the file that the manifest describes.",
        f"{third.name}: record {third.examples - 1}, at byte {last}, is cut off: the "
        "file ends in it.",
        f"{fourth.name} is not the file that the manifest describes.",
        f"{fourth.name}: record {fourth.examples}, at byte {fourth.bytes}, is more "
        f"than the {fourth.examples} that manifest.json promises.",
    ]


def test_tokens_that_the_manifest_counts_otherwise_are_found(data):
    said = read_manifest(data).splits["train"]["copies"][1]
    edit_manifest(
        data / "manifest.json",
        lambda values: values["splits"]["train"]["copies"][1].update(tokens=7, masked_tokens=0),
    )
    assert problems(data) == [
        f"train/copy-01 has {said['tokens']:,} tokens, and manifest.json says 7.",
        f"train/copy-01 has {said['masked_tokens']:,} masked tokens, and manifest.json says 0.",
    ]


def test_a_vocabulary_of_another_size_than_the_manifest_says_is_found(data, tmp_path):
    edit_manifest(data / "manifest.json", lambda values: values["vocabulary"].update(size=500))
    problem = "spiece.model has 400 pieces, and manifest.json says 500."
    assert problems(data) == [problem]
    for command in (("inspect", data), ("report", data, "--output", tmp_path / "r.html")):
        assert attempt(*command) == (1, f"Error: {data} is damaged: {problem}\n")


def test_a_file_that_is_not_a_vocabulary_is_one_sentence(data):
    (data / "spiece.model").write_bytes(b"x")
    sha256 = hashlib.sha256(b"x").hexdigest()
    edit_manifest(data / "manifest.json", lambda values: values["vocabulary"].update(sha256=sha256))
    (problem,) = problems(data)
    assert problem.startswith(f"{data}/spiece.model is ")
    assert "SentencePiece model" in problem


def test_a_long_verification_shows_how_far_it_is(small, monkeypatch):
    monkeypatch.setattr(console, "LINE_SECONDS", 0.0)
    said = run("inspect", small / "data", "--verify")
    assert re.search(r"^verifying: [0-9.]+%, .+ left$", said, re.MULTILINE)
    assert "\nverifying: 100%, " in said


def test_inspect_shows_the_card_and_as_many_examples_as_asked_for(small):
    said = run("inspect", small / "data", "--examples", 2, "--verify")
    assert said.startswith("# Pretraining data for ALBERT\n")
    assert said.count(" masked\n  A  ") == 2
    assert said.count("\n  B was  ") == 2
    assert said.splitlines()[-1].startswith(f"{small}/data is whole: ")


def shown(data, *arguments):
    """The examples that `albert inspect` shows."""
    said = run("inspect", data, "--examples", 4, *arguments)
    return said.partition("The licence of the data")[2]


def test_inspect_shows_any_epoch_of_documents_as_if_it_were_stored(small, documents):
    stored = small / "data"
    first, second, third = (shown(documents, "--epoch", n) for n in range(3))
    assert (first, second) == (shown(stored), shown(stored, "--epoch", 1))
    assert shown(stored, "--epoch", 2) == first != third
    assert refused("inspect", stored, "--split", "eval", "--epoch", 1) == (
        "Error: --epoch 1: held-out examples are the same in every epoch; leave it out.\n"
    )


def test_every_kind_of_damage_to_documents_is_found(documents, tmp_path):
    data = shutil.copytree(documents, tmp_path / "d")
    assert problems(data) == []
    first, second, third = [s for s in read_manifest(data).shards if s.examples][-3:]
    for shard, content in ((first, (data / first.name).read_bytes()[:-5]), (second, b"")):
        (data / shard.name).write_bytes(content)
    (data / third.name).unlink()

    def count_more(values):
        for counted in (values["splits"]["train"]["copies"][0], values["shards"][-4]):
            counted["examples"] += 1

    more = read_manifest(data).shards[-4]
    edit_manifest(data / "manifest.json", count_more)
    found = problems(data)
    assert found[0] == (
        f"{more.name}: its first epoch has {more.examples} examples, and "
        f"manifest.json says {more.examples + 1}."
    )
    assert found[1] == f"{first.name} is not the file that the manifest describes."
    assert found[2].startswith(f"{first.name}: record ")
    assert found[2].endswith(", is cut off: the file ends in it.")
    assert found[4] == f"{second.name}: record 0, at byte 0, cannot be found."
    assert found[5] == f"{third.name} is missing."


def test_inspect_of_a_damaged_data_set_fails(data):
    name = read_manifest(data).shards[-1].name
    (data / name).unlink()
    said = refused("inspect", data, "--verify", code=1)
    assert said.endswith(
        f"{name} is missing.\nError: {data} is damaged; make it again with --overwrite.\n"
    )
