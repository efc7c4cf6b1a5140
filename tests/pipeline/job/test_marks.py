"""How far a job is, by the marks in its output."""

import pytest

from pipeline.job.marks import Progress, ProgressReader
from pipeline.storage.files import write_whole
from schemas.files import json_text

FILES = [{"examples": 7, "bytes": 700}, {"examples": 8, "bytes": 800}]


@pytest.mark.parametrize("place", ["here [1]", "memory://bucket/data"])
def test_finished_splits_and_shards_are_counted_once_wherever_they_are(
    place, tmp_path, memory
):
    output = str(tmp_path / place) if "://" not in place else place
    reader = ProgressReader(output)
    assert reader.poll() == Progress()
    mark = {"text_bytes": 1000, "counts": {"documents": 3}}
    write_whole(f"{output}/.work/split-00000.json", json_text(mark))
    write_whole(f"{output}/shards/train-00000.json", json_text({"files": FILES}))
    expected = Progress(
        read_bytes=1000, documents=3, shards=1, examples=15, written_bytes=1500
    )
    assert reader.poll() == expected
    assert reader.poll() == expected
    write_whole(f"{output}/.work/split-00001.json", json_text(mark))
    assert reader.poll().documents == 6


def test_a_mark_that_is_no_json_yet_is_looked_at_again(tmp_path):
    reader = ProgressReader(tmp_path)
    path = tmp_path / "shards/train-00000.json"
    path.parent.mkdir()
    path.write_text("{")
    assert reader.poll().shards == 0
    write_whole(str(path), json_text({"files": FILES}))
    assert reader.poll().shards == 1


def test_a_split_that_is_being_read_counts_with_what_was_written_of_it(tmp_path):
    (tmp_path / ".work").mkdir()
    (tmp_path / ".work/split-00000.documents.tmp-4711").write_bytes(bytes(700))
    assert ProgressReader(tmp_path).poll() == Progress(read_bytes=700)


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
    assert ProgressReader(tmp_path).poll().shards == 1
