"""What repeats among the documents of a job, from the tables that chunks leave."""

import dataclasses

import numpy as np

from pipeline.job import repeats
from pipeline.job.plan import plan_job
from pipeline.noise.near_copies import BANDS, Signature
from pipeline.reading.inputs import find_inputs
from schemas.config import DataConfig

NEAR = "near-copy of another document"


def test_documents_whose_ids_differ_by_little_have_their_own_sketches(tmp_path):
    ids = [(1 << 62) + 3, (1 << 62) + 1, (1 << 64) - 1, (1 << 64) - 3]
    signed = [
        repeats.Signed(id, Signature(np.zeros(BANDS, np.uint64), np.uint32([place])))
        for place, id in enumerate(ids)
    ]
    (tmp_path / ".work").mkdir()
    for chunk in range(2):
        signatures = repeats.ChunkSignatures()
        for document in signed[2 * chunk :][:2]:
            signatures.add(document)
        signatures.write(chunk, output=tmp_path)
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
    ended, own = (
        dataclasses.replace(
            plan_job(
                found,
                DataConfig(max_line_repeats=most, near_duplicates="drop").resolved(input_bytes=0),
                model=model,
                output=tmp_path / "data",
            ),
            shuffle="engine",
        )
        for most in (2, 3)
    )
    for job, line, pair in ((own, 7, (5, 6)), (ended, 8, (3, 4))):
        list(repeats.keep_repeated((None, [line]), job))
        list(repeats.keep_gone((None, [pair]), job))
    assert (repeats.read_repeated(own), repeats.read_gone(own)) == ({7}, {6: NEAR})
    assert (repeats.read_repeated(ended), repeats.read_gone(ended)) == ({8}, {4: NEAR})
