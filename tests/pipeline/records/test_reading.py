"""What can be wrong with the file of a shard, and that the rest of it is still read."""

import dataclasses
import os

import pytest

from pipeline.records.reading import CHUNK, CorruptRecord, read_shard
from pipeline.records.tfrecord import frame, masked_crc
from schemas.manifest import ShardFile
from tests.pipeline.records.one_record import encode
from tests.training_data import make_manifest

MANIFEST = make_manifest([])
RECORDS = [
    encode(
        {
            "input_ids": [2, 10 + n, 3, 11, 3],
            "masked_lm_positions": [1],
            "masked_lm_ids": [12],
            "next_sentence_labels": [0],
        }
    )
    for n in range(4)
]
WHOLE = b"".join(map(frame, RECORDS))
FRAME = len(WHOLE) // 4


def read(folder, content=None, *, examples=4):
    """Each item as the record's number or the sentence about it."""
    if content is not None:
        (folder / "shard").write_bytes(content)
    shard = ShardFile(name="shard", examples=examples, bytes=0, sha256="")
    return [
        item.sentence if isinstance(item, CorruptRecord) else RECORDS.index(item)
        for items in read_shard(folder, shard, MANIFEST)
        for item in items
    ]


def flipped(place):
    content = bytearray(WHOLE)
    content[place] ^= 1
    return content


def with_length(length):
    """The second frame has another length, and the checksum that belongs to it."""
    header = length.to_bytes(8, "little")
    checksum = masked_crc(header).to_bytes(4, "little")
    return WHOLE[:FRAME] + header + checksum + WHOLE[FRAME + 12 :]


def test_a_whole_file_is_read_as_it_was_written(tmp_path):
    assert read(tmp_path, WHOLE) == [0, 1, 2, 3]


def test_a_flipped_bit_in_the_data_spoils_one_record(tmp_path):
    assert read(tmp_path, flipped(FRAME + 20)) == [
        0,
        f"record 1, at byte {FRAME}, does not match its checksum",
        2,
        3,
    ]


def test_a_flipped_bit_in_a_length_spoils_the_rest_of_the_file(tmp_path):
    assert read(tmp_path, flipped(FRAME)) == [
        0,
        f"record 1, at byte {FRAME}, has a length that does not match its checksum",
        f"record 2, at byte {len(WHOLE)}, cannot be found, and 1 after it are lost",
    ]


@pytest.mark.parametrize("length", [FRAME * 3, 1 << 34, (1 << 63) + 1, (1 << 64) - 1])
def test_a_length_beyond_the_end_of_the_file_takes_no_memory(tmp_path, length):
    assert read(tmp_path, with_length(length)) == [
        0,
        f"record 1, at byte {FRAME}, is cut off: the file ends in it",
        f"record 2, at byte {len(WHOLE)}, cannot be found, and 1 after it are lost",
    ]


def test_of_an_empty_file_no_record_is_found(tmp_path):
    expected = "record 0, at byte 0, cannot be found, and 3 after it are lost"
    assert read(tmp_path, b"") == [expected]


def test_of_a_file_of_zeros_no_record_is_found(tmp_path):
    assert read(tmp_path, bytes(len(WHOLE))) == [
        "record 0, at byte 0, has a length that does not match its checksum",
        f"record 1, at byte {len(WHOLE)}, cannot be found, and 2 after it are lost",
    ]


def test_a_file_cut_off_in_a_record(tmp_path):
    assert read(tmp_path, WHOLE[: 2 * FRAME + 30]) == [
        0,
        1,
        f"record 2, at byte {2 * FRAME}, is cut off: the file ends in it",
        f"record 3, at byte {2 * FRAME + 30}, cannot be found",
    ]


def test_a_record_more_than_promised_is_not_read(tmp_path):
    assert read(tmp_path, WHOLE, examples=2) == [
        0,
        1,
        f"record 2, at byte {2 * FRAME}, is more than the 2 that manifest.json "
        "promises",
    ]


def test_of_a_file_that_is_missing_every_record_is_lost(tmp_path):
    assert read(tmp_path) == [
        "record 0, at byte 0, cannot be read: No such file or directory, and 3 after "
        "it are lost"
    ]


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "shard")
    assert read(tmp_path) == [
        "record 0, at byte 0, cannot be read: it is not a file, and 3 after it are lost"
    ]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (b"\xff\xff", "is not a tf.train.Example as albert make-data writes them"),
        (b"", "is not a tf.train.Example as albert make-data writes them"),
        (
            RECORDS[0].replace(b"\x02\x0a\x03\x0b\x03", b"\x02\x0a\x03\x7f\x03"),
            "has a token that the vocabulary does not have",
        ),
    ],
)
def test_a_well_framed_record_that_is_no_example(tmp_path, record, problem):
    frames = map(frame, [RECORDS[0], record, RECORDS[2], RECORDS[3]])
    expected = [0, f"record 1, at byte {FRAME}, {problem}", 2, 3]
    assert read(tmp_path, b"".join(frames)) == expected


def test_numbers_go_on_from_one_chunk_to_the_next(tmp_path):
    number = CHUNK + 6
    content = bytearray(WHOLE * CHUNK)
    content[FRAME * number + 20] ^= 1
    found = read(tmp_path, content, examples=4 * CHUNK)
    sentence = f"record {number}, at byte {FRAME * number}, does not match its checksum"
    assert found.pop(number) == sentence
    assert found == [n % 4 for n in range(4 * CHUNK) if n != number]


def test_a_corrupt_record_names_its_file(tmp_path):
    record = CorruptRecord(tmp_path / "shard", 1, 9, "is cut off")
    assert str(record) == f"{tmp_path}/shard: record 1, at byte 9, is cut off"
    lost = dataclasses.replace(record, lost=1_001)
    assert str(lost).endswith("is cut off, and 1,000 after it are lost")
