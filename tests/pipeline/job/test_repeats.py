"""What repeats among the documents of a job, from the tables that chunks leave."""

import numpy as np

from pipeline.job.repeats import Signed, _Signatures, repeated_of, write_signatures
from pipeline.noise.near_copies import BANDS, Signature


def test_documents_whose_ids_differ_by_little_have_their_own_sketches(tmp_path):
    ids = [(1 << 62) + 3, (1 << 62) + 1, (1 << 64) - 1, (1 << 64) - 3]
    signed = [
        Signed(id, Signature(np.zeros(BANDS, np.uint64), np.uint32([place])))
        for place, id in enumerate(ids)
    ]
    (tmp_path / ".work").mkdir()
    for chunk in range(2):
        write_signatures(signed[2 * chunk :][:2], chunk, output=tmp_path)
    signatures = _Signatures(2, output=tmp_path)
    assert [signatures.sketch(id).tolist() for id in ids] == [[0], [1], [2], [3]]


def test_a_document_counts_once_for_a_line():
    first, last = 0, (1 << 64) - 1
    pairs = [(last, 5), (first, last), (last, 6), (7, 5), (first, last), (last, 5)]
    table = np.array(pairs, np.uint64).T
    assert repeated_of(table, more_than=0) == [first, 7, last]
    assert repeated_of(table, more_than=1) == [last]
    assert repeated_of(table[:, :0], more_than=1) == []
