"""What can be wrong with a TFRecord file, and that the rest of it is still read."""

import pytest
import tensorflow as tf

from albert_tf.corrupt_records import (
    CorruptRecord,
    SkippedRecords,
    read_checked,
    unusable,
)
from pipeline.verification import record_problem
from schemas.manifest import ShardFile
from tests.training_data import encode, make_manifest

CONFIG = make_manifest([]).config
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
FRAME = len(RECORDS[0]) + 16


def write(path, records=RECORDS):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    return bytearray(path.read_bytes())


def read(path):
    """Each item as the record's number or the reason it is corrupt."""
    shard = ShardFile(name=path.name, examples=4, bytes=0, sha256="")
    items = read_checked(path.parent, shard, CONFIG)
    return [
        item.reason if isinstance(item, CorruptRecord) else RECORDS.index(item)
        for item in items
    ]


def test_a_whole_file_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "shard"
    write(path)
    assert read(path) == [0, 1, 2, 3]


def test_a_flipped_bit_in_the_data_spoils_one_record(tmp_path):
    path = tmp_path / "shard"
    content = write(path)
    content[FRAME + 20] ^= 1
    path.write_bytes(content)
    assert read(path) == [0, "does not match its checksum", 2, 3]


def test_a_flipped_bit_in_a_length_spoils_the_rest_of_the_file(tmp_path):
    path = tmp_path / "shard"
    content = write(path)
    content[FRAME] ^= 1
    path.write_bytes(content)
    missing = "is missing: the file ends before it"
    expected = [0, "has a length that does not match its checksum", missing, missing]
    assert read(path) == expected


def test_of_a_file_that_is_missing_every_record_is(tmp_path):
    reason = "cannot be read: No such file or directory"
    assert read(tmp_path / "shard") == [reason] * 4


def test_a_file_cut_off_in_a_record(tmp_path):
    path = tmp_path / "shard"
    content = write(path)
    path.write_bytes(content[: 2 * FRAME + 30])
    missing = "is missing: the file ends before it"
    assert read(path) == [0, 1, "is cut off: the file ends in it", missing]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"\xff\xff", "is no tf.train.Example"),
        (b"", "has no input_ids"),
    ],
)
def test_a_well_framed_record_that_is_no_example(tmp_path, record, reason):
    path = tmp_path / "shard"
    write(path, [RECORDS[0], record, RECORDS[2], RECORDS[3]])
    assert read(path) == [0, reason, 2, 3]


FEATURES = sorted(tf.train.Example.FromString(RECORDS[0]).features.feature)


def with_feature(name, feature):
    """The first record with one feature replaced, or left out where it is None."""
    example = tf.train.Example.FromString(RECORDS[0])
    del example.features.feature[name]
    if feature is not None:
        example.features.feature[name].CopyFrom(feature)
    return example.SerializeToString(deterministic=True)


def integers(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


@pytest.mark.parametrize(
    "record",
    [
        *RECORDS,
        b"",
        b"\xff\xff",
        RECORDS[0][:-1],
        RECORDS[0][:-3],
        *(with_feature(name, None) for name in FEATURES),
        *(with_feature(name, integers([2] * 25)) for name in FEATURES),
        with_feature("input_ids", integers([])),
        with_feature("next_sentence_labels", integers([])),
    ],
    # Not the bytes themselves, whose order TensorFlow leaves open.
    ids=lambda record: f"{len(record)}-bytes",
)
def test_training_and_verification_say_the_same_of_a_record(record):
    expected = record_problem(record, CONFIG, vocab_size=64)
    assert (unusable(record, CONFIG) or "") == expected


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize(
    "other",
    [
        tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"7"])),
        tf.train.Feature(float_list=tf.train.FloatList(value=[7.0])),
    ],
)
def test_a_feature_of_another_type_is_corrupt(name, other):
    """TensorFlow would refuse the whole batch it is in."""
    reason = f"has something else than int64 in {name}"
    assert unusable(with_feature(name, other), CONFIG) == reason


def test_each_record_left_out_is_said_once(tmp_path):
    lines = []
    skipped = SkippedRecords(lines.append)
    first, second = (
        CorruptRecord(tmp_path / "shard", n, 100 * n, "is cut off") for n in (1, 2)
    )
    for record in (first, second, first):
        skipped(record)
    assert lines == [
        f"{tmp_path}/shard: record 1, at byte 100, is cut off; left out (1 so far).",
        f"{tmp_path}/shard: record 2, at byte 200, is cut off; left out (2 so far).",
    ]
