"""What repeats among the documents of a job, from the tables that chunks leave."""

import contextlib
import dataclasses
import json
import os
import random
import resource
import tracemalloc

import numpy as np
import pytest

from pipeline.core.documents import Document, number_of
from pipeline.job import make_data, repeats
from pipeline.job.plan import plan_job
from pipeline.noise.decontamination import kept_runs
from pipeline.noise.filters import line_number
from pipeline.noise.near_copies import BANDS, Signature
from pipeline.reading.inputs import find_inputs
from pipeline.reading.read import hash_document
from tests.pipeline.job.jobs import config_of

NEAR = "near-copy of another document"


def test_documents_whose_ids_differ_by_little_have_their_own_sketches(tmp_path):
    ids = [(1 << 62) + 3, (1 << 62) + 1, (1 << 64) - 1, (1 << 64) - 3]
    (tmp_path / ".work").mkdir()
    for chunk in range(2):
        with repeats.new_signatures(chunk, output=tmp_path) as write:
            for place in (2 * chunk, 2 * chunk + 1):
                signature = Signature(np.zeros(BANDS, np.uint64), np.uint32([place]))
                write(repeats.Signed(ids[place], signature))
    signatures = repeats._Signatures(2, output=tmp_path)
    assert [signatures.sketch(id).tolist() for id in ids] == [[0], [1], [2], [3]]


def test_a_document_counts_once_for_a_line():
    first, last = 0, (1 << 64) - 1
    pairs = [(last, 5), (first, last), (last, 6), (7, 5), (first, last), (last, 5)]
    table = np.array(pairs, np.uint64).T
    assert repeats.repeated_of(table, more_than=0) == [first, 7, last]
    assert repeats.repeated_of(table, more_than=1) == [last]
    assert repeats.repeated_of(table[:, :0], more_than=1) == []


def test_an_ended_job_of_other_settings_that_still_writes_changes_nothing(model, tmp_path):
    (tmp_path / "a.txt").write_text("One line.\n")
    found = find_inputs({"text": (str(tmp_path / "a.txt"),)})
    configs = (config_of(max_line_repeats=most, near_duplicates="drop") for most in (2, 3))
    jobs = (plan_job(found, each, model=model, output=tmp_path / "data") for each in configs)
    ended, own = (dataclasses.replace(job, shuffle="engine") for job in jobs)
    for job, line, pair in ((own, 7, (5, 6)), (ended, 8, (3, 4))):
        list(repeats.keep_repeated((None, [line]), job))
        list(repeats.keep_gone((None, [pair]), job))
    assert (repeats.read_repeated(own), repeats.read_gone(own)) == ({7}, {6: NEAR})
    assert (repeats.read_repeated(ended), repeats.read_gone(ended)) == ({8}, {4: NEAR})


PAGES = 40


@contextlib.contextmanager
def few_open_files():
    """No more than ten files may be open beside those that are."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/dev/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, before[1]))
    taken = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(10):
            os.close(taken.pop())
        yield
    finally:
        for number in taken:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(("chunks", "together"), [(PAGES, 10_000), (1, 10_000), (1, 7)])
def test_what_repeats_is_found_with_few_files_open_in_parts_of_any_size(
    topics, model, tmp_path, monkeypatch, chunks, together
):
    monkeypatch.setattr(repeats, "TOGETHER", together)
    monkeypatch.setattr(repeats, "PAIRS_TOGETHER", together)
    words = topics[0].text.split()
    texts = [" ".join([*random.Random(n // 2).choices(words, k=60), f"{n}."]) for n in range(PAGES)]
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps({"text": f"Menu\n\n{text}"}) + "\n" for text in texts))
    found = find_inputs({"text": (str(path),)})
    config = config_of(max_line_repeats=2, near_duplicates="drop", eval_fraction=0.3)
    settings = {"output": tmp_path / "data", "chunk_bytes": path.stat().st_size // chunks}
    job = plan_job(found, config, model=model, **settings)
    assert len(job.chunks) >= chunks
    for step, brought_together in (
        (repeats.write_lines, repeats.find_repeated),
        (make_data.spill_chunk, make_data.list_items),
    ):
        numbers = [number for chunk in job.chunks for _, number in step(chunk, job)]
        with few_open_files():
            list(brought_together((None, numbers), job))
    assert repeats.read_repeated(job) == {line_number("Menu")}
    numbers = [number_of(hash_document(Document((text,)))) for text in texts]
    # Of each page and its copy the one with the smaller number stays.
    assert repeats.read_gone(job) == {
        max(pair): NEAR for pair in zip(numbers[::2], numbers[1::2], strict=True)
    }


def test_memory_does_not_grow_with_the_documents_of_a_chunk(model, tmp_path, monkeypatch):
    monkeypatch.setattr(repeats, "TOGETHER", 100)
    (tmp_path / "a.txt").write_text("One line.\n")
    found = find_inputs({"text": (str(tmp_path / "a.txt"),)})
    config = config_of(near_duplicates="hold-out", eval_fraction=0.5)
    job = plan_job(found, config, model=model, output=tmp_path / "data")
    # The first is held out, and the last has its runs of words.
    first, last = 1, (1 << 64) - 1
    sketch = np.arange(200, dtype=np.uint32)
    tracemalloc.start()
    with (
        repeats.new_signatures(0, output=job.waiting_folder) as write_signature,
        repeats.new_runs(0, job) as write_runs,
    ):
        for place, number in enumerate((first, *range(last - 5000, last), last)):
            start = 0 if number == last else BANDS * place
            hashes = np.arange(start, start + BANDS, dtype=np.uint64)
            write_signature(repeats.Signed(number, Signature(hashes, sketch)))
            write_runs(kept_runs(number, hashes, is_held_out=number == first))
    _, written = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    repeats.write_gone((), [0], job)
    _, read = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert repeats.read_gone(job) == {last: "document with held-out text"}
    # All signatures are 5 MB, and all runs 1 MB.
    assert max(written, read) < 500_000
