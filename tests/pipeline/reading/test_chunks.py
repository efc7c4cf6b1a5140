import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.reading.formats import FilePart, InputFile
from pipeline.reading.read import divide_file, plan_chunks


def file(name, size, *, is_divisible=False, group_bytes=()):
    return InputFile(
        kind="text",
        path=name,
        format="sentences",
        language="en",
        bytes=size,
        text_bytes=sum(group_bytes) or size,
        sha256=name,
        is_divisible=is_divisible,
        group_bytes=tuple(group_bytes),
    )


files = st.builds(
    file,
    st.text("abc", min_size=1),
    st.integers(1, 1000),
    is_divisible=st.booleans(),
    group_bytes=st.lists(st.integers(1, 300), max_size=5),
)


# Files, the size of chunks, and the parts: where each begins and ends, and its bytes of text.
DIVIDED = {
    "a large file evenly": (
        *(file("large", 100, is_divisible=True), 40, [(0, 33, 33), (33, 66, 33), (66, None, 34)]),
    ),
    "not at all, if it cannot be": (file("whole", 100), 40, [(0, None, 100)]),
    "where row groups end, which stay together": (
        *(file("table", 9, group_bytes=[10, 10, 50, 5, 10]), 30),
        [(0, 2, 20), (2, 3, 50), (3, None, 15)],
    ),
}


@pytest.mark.parametrize(("whole", "size", "parts"), DIVIDED.values(), ids=DIVIDED)
def test_a_file_is_divided(whole, size, parts):
    expected = [FilePart(whole._replace(group_bytes=()), *part) for part in parts]
    assert list(divide_file(whole, chunk_bytes=size)) == expected


@pytest.mark.parametrize(
    "table", [{"group_bytes": (10,) * 5000}, {"document_starts": tuple(range(0, 50_000, 10))}]
)
def test_a_job_grows_with_the_parts_of_a_file_and_not_with_their_square(table):
    chunks = plan_chunks([file("large", 50_000)._replace(**table)], chunk_bytes=10)
    assert len(chunks) == 5000
    assert max(len(pickle.dumps(chunk)) for chunk in chunks) < 500


def test_small_files_are_read_together_and_large_chunks_come_first():
    given = [file(name, size) for name, size in [("a", 6), ("b", 30), ("c", 5)]]
    chunks = plan_chunks(given, chunk_bytes=12)
    assert [(s.number, [p.file.path for p in s.parts]) for s in chunks] == [
        (0, ["b"]),
        (1, ["a", "c"]),
    ]


@given(st.lists(files, max_size=6), st.integers(1, 2000))
def test_chunks_hold_every_part_of_every_file_once(given_files, chunk_bytes):
    named = [f._replace(path=f"{i}") for i, f in enumerate(given_files)]
    chunks = plan_chunks(named, chunk_bytes=chunk_bytes)
    parts = sorted(
        (part for chunk in chunks for part in chunk.parts),
        key=lambda part: (int(part.file.path), part.start),
    )
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    for f in named:
        own = [part for part in parts if part.file.path == f.path]
        assert own[0].start == 0
        assert own[-1].end is None
        assert [part.end for part in own[:-1]] == [part.start for part in own[1:]]
        assert sum(part.text_bytes for part in own) == f.text_bytes


@given(st.lists(st.integers(1, 100), min_size=1, max_size=50), st.sampled_from([2, 3, 4]))
def test_chunks_dealt_in_turn_differ_by_less_than_the_largest(sizes, workers):
    chunks = plan_chunks([file(str(i), size) for i, size in enumerate(sizes)], chunk_bytes=100)
    loads = [sum(s.text_bytes for s in chunks[w::workers]) for w in range(workers)]
    assert max(loads) - min(loads) <= chunks[0].text_bytes


def test_an_empty_table_is_a_chunk_like_any_other():
    (chunk,) = plan_chunks([file("table", 9, group_bytes=[0])], chunk_bytes=10)
    assert chunk.text_bytes == 0
