"""Documents that wait on disk for their shard."""

import tracemalloc
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.documents import ShardDocument
from pipeline.dataset.shard import ShardPlan
from pipeline.job import spill
from schemas.layout import chunk_file
from tests.refusals import refusal

PLAN = ShardPlan(train_shards=5, eval_shards=2, eval_bound=1 << 62)

documents = st.lists(
    st.builds(
        ShardDocument,
        id=st.binary(min_size=16, max_size=16),
        text=st.text(max_size=50),
        is_first=st.booleans(),
    ),
    max_size=30,
)


def write_spill(documents, chunk, output):
    with spill.new_spill(chunk, plan=PLAN, output=output) as waiting:
        for document in documents:
            waiting.add(document)
    return waiting.bytes


@given(
    chunks=st.lists(documents, max_size=3), size=st.just(spill.BLOCK_BYTES) | st.integers(1, 200)
)
def test_every_shard_reads_its_documents_of_chunks_in_any_blocks(chunks, size, tmp_path_factory):
    output = tmp_path_factory.mktemp("spill")
    with mock.patch.object(spill, "BLOCK_BYTES", size):
        for number, chunk in enumerate(chunks):
            write_spill(chunk, number, output)
        for shard in PLAN.shard_numbers():
            own = [one for chunk in chunks for one in chunk if PLAN.shard_of(one.id) == shard]
            assert list(spill.read_spills(len(chunks), shard, output=output)) == own


def test_no_more_than_a_block_is_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "BLOCK_BYTES", 1 << 20)
    text = "word " * 20_000
    chunk = (ShardDocument(n.to_bytes(16, "big"), text) for n in range(200))
    tracemalloc.start()
    size = write_spill(chunk, 0, tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 20_000_000
    assert peak < 4_000_000


@pytest.mark.parametrize("length", [0, 20, 7 * 16 + 38])
def test_a_file_that_is_cut_off_is_named(tmp_path, length):
    document = ShardDocument(bytes(16), "It was late.")
    write_spill([document], 0, tmp_path)
    path = tmp_path / chunk_file(0, "documents")
    path.write_bytes(path.read_bytes()[:length])
    shard = PLAN.shard_of(document.id)
    said = refusal(lambda: list(spill.read_spills(1, shard, output=tmp_path)))
    assert said == f"{path} is cut off; run the same command again."
