"""What of a data set is finished, by the marks of chunks and the sidecars of shards."""

import os
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from pipeline.job import resume
from pipeline.job.plan import chunks_folder
from pipeline.job.resume import Done, ProgressReader
from pipeline.reading.read import Chunk
from pipeline.storage.files import write_whole
from schemas.files import json_text, write_json
from schemas.layout import chunk_file


def test_a_folder_of_chunks_that_stays_is_no_failure_of_its_job(memory, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    memory["memory://bucket/data/.work/split-00000.json"] = b"{}"
    path = chunks_folder("memory://bucket/data") / chunk_file(0, "documents")
    write_whole(str(path), "")
    monkeypatch.setattr(os, "rmdir", Mock(side_effect=OSError(39, "Directory not empty")))
    resume.forget_work("memory://bucket/data", is_here=True)
    assert not memory
    assert not path.exists()


def test_a_chunk_is_finished_for_its_own_job_and_with_its_whole_file(tmp_path):
    def is_finished(fingerprint):
        job = SimpleNamespace(waiting_folder=tmp_path, fingerprint_of=lambda chunk: fingerprint)
        return resume.is_finished(Chunk(0, ()), job)

    assert not is_finished("a")
    path = tmp_path / chunk_file(0, "documents")
    write_whole(str(path), "documents")
    write_json(tmp_path / chunk_file(0, "json"), {"fingerprint": "a", "file_bytes": 9})
    assert is_finished("a")
    assert not is_finished("b")
    path.write_bytes(path.read_bytes()[:-1])
    assert not is_finished("a")
    path.unlink()
    assert not is_finished("a")


FILES = [{"examples": 7, "bytes": 700}, {"examples": 8, "bytes": 800}]


@pytest.mark.parametrize("place", ["here [1]", "memory://bucket/data"])
def test_finished_splits_and_shards_are_counted_once_wherever_they_are(place, tmp_path, memory):
    output = str(tmp_path / place) if "://" not in place else place
    reader = ProgressReader(output, work=output)
    assert reader.poll() == Done()
    mark = {"text_bytes": 1000, "counts": {"documents": 3}}
    write_whole(f"{output}/.work/split-00000.json", json_text(mark))
    write_whole(f"{output}/shards/train-00000.json", json_text({"files": FILES}))
    expected = Done(read_bytes=1000, documents=3, shards=1, examples=15, written_bytes=1500)
    assert reader.poll() == expected
    assert reader.poll() == expected
    write_whole(f"{output}/.work/split-00001.json", json_text(mark))
    assert reader.poll().documents == 6


def test_a_mark_that_is_no_json_yet_is_looked_at_again(tmp_path):
    reader = ProgressReader(tmp_path, work=tmp_path)
    for text, shards in (("{", 0), (json_text({"files": FILES}), 1)):
        write_whole(f"{tmp_path}/shards/train-00000.json", text)
        assert reader.poll().shards == shards


def test_a_split_that_is_being_read_counts_with_what_was_written_of_it(tmp_path):
    (tmp_path / ".work").mkdir()
    (tmp_path / ".work/split-00000.documents.tmp-4711").write_bytes(bytes(700))
    assert ProgressReader(tmp_path, work=tmp_path).poll() == Done(read_bytes=700)


def test_marks_of_another_form_count_as_nothing(tmp_path):
    marks = [{}, {"text_bytes": "all", "counts": {"documents": 3}}, {"text_bytes": 7}]
    marks += [{"files": [7]}, {"files": [{"examples": 7}]}, {"files": FILES}]
    for number, mark in enumerate(marks):
        write_whole(f"{tmp_path}/shards/train-0000{number}.json", json_text(mark))
    assert ProgressReader(tmp_path, work=tmp_path).poll().shards == 1
