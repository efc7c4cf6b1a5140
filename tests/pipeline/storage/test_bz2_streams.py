import bz2
import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.documents import DAMAGED, ReadingCounts
from pipeline.storage.compression import BLOCK_BYTES, is_multistream, read_streams

TEXTS = [b"stream %d: " % number + b"text " * number for number in range(30)]
STREAMS = [bz2.compress(text) for text in TEXTS]
FILE = b"".join(STREAMS)


def read(data, start=0, end=None):
    counts = ReadingCounts()
    file = io.BytesIO(data)
    text = b"".join(read_streams(file, start=start, end=end, counts=counts))
    return text, counts.dropped[DAMAGED]


def test_all_streams_are_one_text():
    assert read(FILE) == (b"".join(TEXTS), 0)


@given(st.lists(st.integers(0, len(FILE))))
def test_ranges_read_each_stream_once(cuts):
    edges = [0, *sorted(cuts), len(FILE)]
    parts = [read(FILE, *edges[i : i + 2])[0] for i in range(len(edges) - 1)]
    assert b"".join(parts) == b"".join(TEXTS)


def test_a_range_owns_the_streams_that_begin_inside():
    second = len(STREAMS[0])
    assert read(FILE, second, second + 1) == (TEXTS[1], 0)
    assert read(FILE, second + 1, second + len(STREAMS[1])) == (b"", 0)


def test_empty_streams_are_read_over():
    assert read(bz2.compress(b"") + STREAMS[1]) == (TEXTS[1], 0)


@pytest.mark.parametrize("number", [0, 7, 29])
def test_a_damaged_stream_costs_no_other(number):
    streams = [bytearray(stream) for stream in STREAMS]
    streams[number][15] ^= 255
    kept = b"".join(text for i, text in enumerate(TEXTS) if i != number)
    assert read(b"".join(streams)) == (kept, 1)


def test_a_checksum_that_does_not_fit_costs_no_text():
    data = bytearray(bz2.compress(b"he came and she left. " * 1000))
    data[-4] ^= 255
    assert read(bytes(data)) == (b"he came and she left. " * 1000, 1)


def test_a_cut_off_file_keeps_its_whole_streams():
    assert read(FILE[:-40]) == (b"".join(TEXTS[:-1]), 1)


def test_a_cut_off_stream_keeps_its_whole_blocks():
    # A stream is made of blocks of 900 kB, each of which decompresses alone.
    text = bytes(random.Random(1).choices(b"abcdefgh", k=2_500_000))
    kept, damaged = read(bz2.compress(text)[:-1000])
    assert damaged == 1
    assert text.startswith(kept)
    assert len(kept) > 1_700_000


def test_what_stands_after_the_last_stream_is_counted():
    assert read(STREAMS[3] + b"BZh9 is no header") == (TEXTS[3], 1)
    assert read(STREAMS[3] + bytes(100)) == (TEXTS[3], 0)


@pytest.mark.parametrize("number", [0, 7, 29])
def test_a_stream_whose_header_is_damaged_is_counted_by_one_range(number):
    streams = [bytearray(stream) for stream in STREAMS]
    streams[number][2] ^= 255
    data = b"".join(streams)
    kept = b"".join(text for i, text in enumerate(TEXTS) if i != number)
    assert read(data) == (kept, 1)
    for cut in range(1, len(data), 50):
        texts, damaged = zip(read(data, 0, cut), read(data, cut), strict=True)
        assert (b"".join(texts), sum(damaged)) == (kept, 1)


def test_a_bomb_comes_out_in_small_blocks():
    file = io.BytesIO(bz2.compress(bytes(20 << 20)))
    sizes = [len(block) for block in read_streams(file)]
    assert sum(sizes) == 20 << 20
    assert max(sizes) <= 3 * BLOCK_BYTES


def test_one_stream_is_not_many():
    assert not is_multistream(io.BytesIO(STREAMS[0]))
    assert is_multistream(io.BytesIO(FILE))
