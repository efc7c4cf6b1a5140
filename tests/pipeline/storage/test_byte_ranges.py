import bz2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.documents import DAMAGED, ReadingCounts
from pipeline.storage.lines import (
    LINE_PREFIX_BYTES,
    find_start,
    read_blocks,
    read_documents,
)

LONG = b"x" * (2 * LINE_PREFIX_BYTES)
line = st.sampled_from([b"D", b"Done", b"a", b"", b"D" + LONG, LONG, b"a\r", b"D\r"])
texts = st.lists(line).map(b"\n".join)


def starts(line):
    return line.startswith(b"D")


def starts_of(text):
    """Where the documents of a text begin, found in the plainest way."""
    return [0] + [
        i + 1 for i in range(len(text)) if text[i] == 10 and text[i + 1 : i + 2] == b"D"
    ]


def read_parts(path, edges):
    pairs = zip(edges, [*edges[1:-1], None], strict=False)
    return [
        b"".join(read_documents(str(path), starts, start=start, end=end))
        for start, end in pairs
    ]


@given(texts, st.lists(st.floats(0, 1)))
def test_ranges_read_each_document_whole_and_once(tmp_path_factory, text, cuts):
    path = tmp_path_factory.mktemp("range") / "text"
    path.write_bytes(text)
    edges = [0, *sorted(int(cut * len(text)) for cut in cuts), len(text)]
    edges = sorted(set(edges)) if text else [0, 0]
    parts = read_parts(path, edges)
    assert b"".join(parts) == text
    places, position = set(starts_of(text)), 0
    for part in parts:
        assert not part or position in places
        position += len(part)


@given(st.lists(st.sampled_from(b"D a\n"), max_size=60).map(bytes), st.data())
def test_streams_may_cut_documents_anywhere(tmp_path_factory, text, data):
    """As pbzip2 does, which puts every 900 kB in a stream of its own."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=5)))
    edges = [0, *cuts, len(text)]
    streams = [
        bz2.compress(text[edges[i] : edges[i + 1]]) for i in range(len(edges) - 1)
    ]
    path = tmp_path_factory.mktemp("range") / "text.bz2"
    path.write_bytes(b"".join(streams))
    size = path.stat().st_size
    ranges = sorted({0, size, *data.draw(st.sets(st.integers(0, size), max_size=5))})
    parts = read_parts(path, ranges)
    assert b"".join(parts) == text
    places, position = set(starts_of(text)), 0
    for part in parts:
        assert not part or position in places
        position += len(part)


@pytest.mark.parametrize("cut", range(16))
def test_a_document_belongs_to_the_range_with_the_line_feed_before_it(tmp_path, cut):
    path = tmp_path / "text"
    path.write_bytes(b"D one\nD two\n\nx\n")
    first, second = read_parts(path, [0, cut, 15]) if cut else (b"", path.read_bytes())
    assert first == {0: b"", 15: b"D one\nD two\n\nx\n"}.get(
        cut, b"D one\n" if cut <= 5 else b"D one\nD two\n\nx\n"
    )
    assert first + second == b"D one\nD two\n\nx\n"


def test_a_start_is_found_wherever_blocks_are_cut():
    text = b"a" * 5000 + b"\nb\nD" + b"c" * 5000
    for size in (1, 7, 4096, 20_000):
        blocks = [text[i : i + size] for i in range(0, len(text), size)]
        assert find_start(blocks, starts) == 5003


def test_what_follows_completes_the_last_line():
    assert (
        find_start([b"a\nD"], lambda line: line == b"Done", following=[b"one\n"]) == 2
    )
    assert find_start([b"a\nD"], starts) == 2
    assert find_start([b"a"], starts, following=[b"\nD"]) is None


def test_damage_is_counted_by_the_range_that_has_it(tmp_path):
    streams = [bytearray(bz2.compress(b"D %d\n" % i)) for i in range(10)]
    streams[6][15] ^= 255
    path = tmp_path / "text.bz2"
    path.write_bytes(b"".join(streams))
    counted = []
    for start, end in [(0, 200), (200, 300), (300, None)]:
        counts = ReadingCounts()
        list(read_documents(str(path), starts, start=start, end=end, counts=counts))
        counted.append(counts.dropped[DAMAGED])
    assert sum(counted) == 1


def test_a_range_is_read_as_it_stands(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"0123456789")
    assert list(read_blocks(str(path), start=3, end=6)) == [b"345"]
