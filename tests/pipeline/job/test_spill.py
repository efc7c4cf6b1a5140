"""What a job keeps on disk: documents that wait, and what is finished."""

import os
import tracemalloc
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.documents import ShardDocument
from pipeline.dataset.shard import ShardPlan
from pipeline.job import spill
from pipeline.job.spill import Progress, ProgressReader
from pipeline.storage.files import write_whole
from schemas.errors import AlbertError
from schemas.files import json_text, write_json
from schemas.layout import chunk_file

PLAN = ShardPlan(train_shards=5, eval_shards=2, copies=1, eval_bound=1 << 62)

documents = st.lists(
    st.builds(
        ShardDocument,
        id=st.binary(min_size=16, max_size=16),
        text=st.text(max_size=50),
        is_first=st.booleans(),
    ),
    max_size=30,
)


def spilled(chunks, output):
    """What each shard reads of some chunks."""
    for number, chunk in enumerate(chunks):
        spill.write_spill(iter(chunk), number, plan=PLAN, output=output)
    return {
        shard: list(spill.read_spills(len(chunks), shard, output=output))
        for shard in PLAN.shard_numbers()
    }


def by_shard(chunks):
    return {
        shard: [
            document
            for chunk in chunks
            for document in chunk
            if PLAN.shard_of(document.id) == shard
        ]
        for shard in PLAN.shard_numbers()
    }


@given(chunks=st.lists(documents, max_size=3))
def test_every_shard_reads_its_documents_of_all_chunks(chunks, tmp_path_factory):
    assert spilled(chunks, tmp_path_factory.mktemp("spill")) == by_shard(chunks)


@given(chunks=st.lists(documents, max_size=3), size=st.integers(1, 200))
def test_a_chunk_in_several_blocks_reads_like_one(chunks, size, tmp_path_factory):
    with mock.patch.object(spill, "BLOCK_BYTES", size):
        assert spilled(chunks, tmp_path_factory.mktemp("spill")) == by_shard(chunks)


def test_no_more_than_a_block_is_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "BLOCK_BYTES", 1 << 20)
    text = "word " * 20_000
    chunk = (ShardDocument(n.to_bytes(16, "big"), text) for n in range(200))
    tracemalloc.start()
    size = spill.write_spill(chunk, 0, plan=PLAN, output=tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 20_000_000
    assert peak < 4_000_000


@pytest.mark.parametrize("length", [0, 20, 7 * 16 + 38])
def test_a_file_that_is_cut_off_is_named(tmp_path, length):
    document = ShardDocument(bytes(16), "It was late.")
    spill.write_spill([document], 0, plan=PLAN, output=tmp_path)
    path = tmp_path / chunk_file(0, "documents")
    path.write_bytes(path.read_bytes()[:length])
    shard = PLAN.shard_of(document.id)
    with pytest.raises(AlbertError) as error:
        list(spill.read_spills(1, shard, output=tmp_path))
    assert str(error.value) == f"{path} is cut off; run the same command again."


def test_a_folder_of_chunks_that_stays_is_no_failure_of_its_job(memory, tmp_path, monkeypatch):
    def refuse(path, **_):
        raise OSError(39, "Directory not empty", path)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    memory["memory://bucket/data/.work/split-00000.json"] = b"{}"
    path = spill.chunks_folder("memory://bucket/data") / chunk_file(0, "documents")
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setattr(os, "rmdir", refuse)
    spill.forget_work("memory://bucket/data", is_here=True)
    assert not memory
    assert not path.exists()


def test_a_chunk_is_finished_for_its_own_job_and_with_its_whole_file(tmp_path):
    def is_finished(fingerprint):
        return spill.is_finished(0, output=tmp_path, fingerprint=fingerprint)

    assert not is_finished("a")
    document = ShardDocument(bytes(16), "It was late.")
    size = spill.write_spill([document], 0, plan=PLAN, output=tmp_path)
    mark = {"fingerprint": "a", "file_bytes": size}
    write_json(tmp_path / chunk_file(0, "json"), mark)
    assert is_finished("a")
    assert not is_finished("b")
    path = tmp_path / chunk_file(0, "documents")
    path.write_bytes(path.read_bytes()[:-1])
    assert not is_finished("a")
    path.unlink()
    assert not is_finished("a")


FILES = [{"examples": 7, "bytes": 700}, {"examples": 8, "bytes": 800}]


@pytest.mark.parametrize("place", ["here [1]", "memory://bucket/data"])
def test_finished_splits_and_shards_are_counted_once_wherever_they_are(place, tmp_path, memory):
    output = str(tmp_path / place) if "://" not in place else place
    reader = ProgressReader(output, work=output)
    assert reader.poll() == Progress()
    mark = {"text_bytes": 1000, "counts": {"documents": 3}}
    write_whole(f"{output}/.work/split-00000.json", json_text(mark))
    write_whole(f"{output}/shards/train-00000.json", json_text({"files": FILES}))
    expected = Progress(read_bytes=1000, documents=3, shards=1, examples=15, written_bytes=1500)
    assert reader.poll() == expected
    assert reader.poll() == expected
    write_whole(f"{output}/.work/split-00001.json", json_text(mark))
    assert reader.poll().documents == 6


def test_a_mark_that_is_no_json_yet_is_looked_at_again(tmp_path):
    reader = ProgressReader(tmp_path, work=tmp_path)
    path = tmp_path / "shards/train-00000.json"
    path.parent.mkdir()
    path.write_text("{")
    assert reader.poll().shards == 0
    write_whole(str(path), json_text({"files": FILES}))
    assert reader.poll().shards == 1


def test_a_split_that_is_being_read_counts_with_what_was_written_of_it(tmp_path):
    (tmp_path / ".work").mkdir()
    (tmp_path / ".work/split-00000.documents.tmp-4711").write_bytes(bytes(700))
    assert ProgressReader(tmp_path, work=tmp_path).poll() == Progress(read_bytes=700)


@pytest.mark.parametrize(
    "mark",
    [
        {},
        {"text_bytes": "all", "counts": {"documents": 3}},
        {"text_bytes": 7},
        {"files": [7]},
        {"files": [{"examples": 7}]},
    ],
)
def test_a_mark_of_another_form_counts_as_nothing(tmp_path, mark):
    write_whole(f"{tmp_path}/shards/train-00000.json", json_text(mark))
    write_whole(f"{tmp_path}/shards/train-00001.json", json_text({"files": FILES}))
    assert ProgressReader(tmp_path, work=tmp_path).poll().shards == 1
