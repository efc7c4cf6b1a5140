import bz2
import functools
import gzip
import io
import lzma
import random

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.documents import DAMAGED, ReadingCounts
from pipeline.storage import compression as unpacking
from pipeline.storage.compression import BLOCK_BYTES, decompress, read_streams

with_checksum = zstandard.ZstdCompressor(write_checksum=True).compress
PACK = {"gz": gzip.compress, "xz": lzma.compress, "zst": with_checksum}
TEXT = b"".join(b"%d: he came and she left.\n" % number for number in range(100_000))

packed = functools.cache(lambda compression: PACK[compression](TEXT))
each_compression = pytest.mark.parametrize("compression", PACK)


def unpack(data, compression, *, block_bytes=50_000):
    counts = ReadingCounts()
    blocks = [data[i : i + block_bytes] for i in range(0, len(data), block_bytes)]
    return b"".join(decompress(blocks, compression, counts=counts)), counts.dropped[DAMAGED]


@pytest.mark.parametrize(
    ("data", "compression"),
    [
        *((gzip.compress(b"a"), "gz"), (bz2.compress(b"a"), "bz2"), (lzma.compress(b"a"), "xz")),
        *((zstandard.compress(b"a"), "zst"), (b"BZ he said", "none"), (b"", "none")),
    ],
)
def test_compression_is_told_by_the_first_bytes(data, compression):
    assert unpacking.recognise_compression(data) == compression


@each_compression
def test_what_was_packed_comes_out(compression):
    assert unpack(packed(compression), compression) == (TEXT, 0)


@each_compression
def test_streams_one_after_the_other_are_one_text_and_what_is_none_is_counted(compression):
    data = PACK[compression](b"one ") + PACK[compression](b"two ") + PACK[compression](b"")
    assert unpack(data, compression) == (b"one two ", 0)
    assert unpack(data, compression, block_bytes=1) == (b"one two ", 0)
    assert unpack(PACK[compression](b"one ") + b"no stream", compression) == (b"one ", 1)


@pytest.mark.parametrize("compression", ["gz", "xz"])
def test_zero_bytes_behind_a_stream_are_padding(compression):
    data = PACK[compression](b"one ") + bytes(512) + PACK[compression](b"two")
    assert unpack(data + bytes(64), compression) == (b"one two", 0)


@each_compression
def test_a_cut_off_file_keeps_what_it_has_and_is_damaged_without_its_last_byte(compression):
    data = packed(compression)
    kept, damaged = unpack(data[: len(data) // 2], compression)
    assert damaged == 1
    assert TEXT.startswith(kept)
    assert len(kept) > len(TEXT) // 4
    assert unpack(data[:-1], compression)[1] == 1


@pytest.mark.parametrize(
    ("compression", "trailer"),
    # The checksum, and in an xz file what says how large everything is.
    [("gz", 8), ("xz", 32), ("zst", 4)],
)
def test_a_checksum_that_does_not_fit_costs_no_text(compression, trailer):
    whole = PACK[compression](TEXT[:20_000])
    for place in range(1, trailer + 1):
        data = bytearray(whole)
        data[-place] ^= 1
        assert unpack(bytes(data), compression) == (TEXT[:20_000], 1), place


def test_frames_of_zst_that_hold_no_text_are_passed_over():
    """Compressors that work in parallel begin a file with one."""
    skippable = b"\x5f\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note"
    data = PACK["zst"](b"one ") + skippable + PACK["zst"](b"two") + skippable
    assert unpack(data, "zst") == (b"one two", 0)
    assert unpacking.recognise_compression(skippable + data) == "zst"


@each_compression
def test_damage_keeps_what_was_before(compression):
    # Text that hardly compresses, so that there is much data to damage.
    text = bytes(random.Random(1).choices(b"abcdefghijklmnopqrstuvwxyz", k=1_000_000))
    data = bytearray(PACK[compression](text))
    middle = len(data) // 2
    data[middle : middle + 300] = bytes(255 - byte for byte in data[middle:][:300])
    kept, damaged = unpack(bytes(data), compression)
    assert damaged == 1
    assert kept[: len(text) // 4] == text[: len(text) // 4]


@each_compression
def test_a_bomb_comes_out_in_small_blocks(compression):
    data = PACK[compression](bytes(50 << 20))
    sizes = [len(block) for block in decompress([data], compression, counts=ReadingCounts())]
    assert sum(sizes) == 50 << 20
    assert max(sizes) <= 40 * BLOCK_BYTES


def test_a_window_of_two_gigabytes_is_read():
    parameters = zstandard.ZstdCompressionParameters(window_log=31, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    assert unpack(packer.compress(b"long") + packer.flush(), "zst") == (b"long", 0)


TEXTS = [b"stream %d: " % number + b"text " * number for number in range(30)]
STREAMS = [bz2.compress(text) for text in TEXTS]
FILE = b"".join(STREAMS)


def read(data, start=0, end=None):
    counts = ReadingCounts()
    blocks = read_streams(io.BytesIO(data), start=start, end=end, counts=counts)
    return b"".join(blocks), counts.dropped[DAMAGED]


SECOND = len(STREAMS[0])
LONG = b"he came and she left. " * 1000
OTHER_CHECKSUM = bytearray(bz2.compress(LONG))
OTHER_CHECKSUM[-4] ^= 255
# What is read of a file, with how often it is damaged.
FILES = {
    "all streams are one text": ([FILE], (b"".join(TEXTS), 0)),
    "a range owns the streams that begin inside": ([FILE, SECOND, SECOND + 1], (TEXTS[1], 0)),
    "and no other": ([FILE, SECOND + 1, SECOND + len(STREAMS[1])], (b"", 0)),
    "empty streams are read over": ([bz2.compress(b"") + STREAMS[1]], (TEXTS[1], 0)),
    "a checksum that does not fit costs no text": ([OTHER_CHECKSUM], (LONG, 1)),
    "a file that is cut off keeps its whole streams": ([FILE[:-40]], (b"".join(TEXTS[:-1]), 1)),
    "what follows the last stream is counted": ([STREAMS[3] + b"BZh9 is no header"], (TEXTS[3], 1)),
    "zeros after it are padding": ([STREAMS[3] + bytes(100)], (TEXTS[3], 0)),
}


@pytest.mark.parametrize("kind", FILES)
def test_many_streams_are_read_with_what_is_damaged(kind):
    given, expected = FILES[kind]
    assert read(*given) == expected


@given(st.lists(st.integers(0, len(FILE))))
def test_ranges_read_each_stream_once(cuts):
    edges = [0, *sorted(cuts), len(FILE)]
    parts = [read(FILE, *edges[i : i + 2])[0] for i in range(len(edges) - 1)]
    assert b"".join(parts) == b"".join(TEXTS)


def test_a_cut_off_stream_keeps_its_whole_blocks():
    # A stream is made of blocks of 900 kB, each of which decompresses alone.
    text = bytes(random.Random(1).choices(b"abcdefgh", k=2_500_000))
    kept, damaged = read(bz2.compress(text)[:-1000])
    assert damaged == 1
    assert text.startswith(kept)
    assert len(kept) > 1_700_000


@pytest.mark.parametrize("place", [15, 2], ids=["in its text", "in its header"])
@pytest.mark.parametrize("number", [0, 7, 29])
def test_a_damaged_stream_costs_no_other_and_is_counted_by_one_range(number, place):
    streams = [bytearray(stream) for stream in STREAMS]
    streams[number][place] ^= 255
    data, kept = b"".join(streams), b"".join(TEXTS[:number] + TEXTS[number + 1 :])
    assert read(data) == (kept, 1)
    for cut in range(1, len(data), 50):
        texts, damaged = zip(read(data, 0, cut), read(data, cut), strict=True)
        assert (b"".join(texts), sum(damaged)) == (kept, 1)


def test_a_bomb_of_bz2_comes_out_in_small_blocks():
    file = io.BytesIO(bz2.compress(bytes(20 << 20)))
    sizes = [len(block) for block in read_streams(file, counts=ReadingCounts())]
    assert sum(sizes) == 20 << 20
    assert max(sizes) <= 3 * BLOCK_BYTES
