"""Documents that wait on disk for their shard."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import spill
from pipeline.documents import ShardDocument
from pipeline.shard_plan import ShardPlan
from schemas.errors import AlbertError

PLAN = ShardPlan(train_shards=5, eval_shards=2, copies=1, eval_bound=1 << 62)

documents = st.lists(
    st.builds(
        ShardDocument, id=st.binary(min_size=16, max_size=16), text=st.text(max_size=50)
    ),
    max_size=30,
)


@given(splits=st.lists(documents, max_size=3))
def test_every_shard_reads_its_documents_of_all_splits(splits, tmp_path_factory):
    output = tmp_path_factory.mktemp("spill")
    for number, split in enumerate(splits):
        spill.write_spill(iter(split), number, plan=PLAN, output=output)
    for shard in PLAN.shard_numbers():
        assert list(spill.read_spills(len(splits), shard, output=output)) == [
            document
            for split in splits
            for document in split
            if PLAN.shard_of(document.id) == shard
        ]


@pytest.mark.parametrize("length", [0, 20, 7 * 16 + 30])
def test_a_file_that_is_cut_off_is_named(tmp_path, length):
    document = ShardDocument(bytes(16), "It was late.")
    spill.write_spill([document], 0, plan=PLAN, output=tmp_path)
    path = spill.spill_path(tmp_path, 0)
    path.write_bytes(path.read_bytes()[:length])
    shard = PLAN.shard_of(document.id)
    with pytest.raises(AlbertError, match=rf"^{path} is cut off; run the command with"):
        list(spill.read_spills(1, shard, output=tmp_path))


def test_a_split_is_finished_for_its_own_job_only(tmp_path):
    path = spill.mark_path(tmp_path, 0)
    assert not spill.is_finished(path, "a")
    spill.write_mark(path, fingerprint="a", counts=Counter(read=2), text_bytes=7)
    assert spill.is_finished(path, "a")
    assert not spill.is_finished(path, "b")
    assert spill.sum_counts(1, output=tmp_path) == {"read": 2}
