import hashlib
import io

import pytest
import tensorflow as tf
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pipeline.records.tfrecord import Frame, RecordWriter, frame, masked_crc, read_frames
from tests.pipeline.records.one_record import read_records

records = st.lists(st.binary(max_size=300), max_size=20)


def written(batches):
    """What a writer writes, and the writer."""
    file = io.BytesIO()
    writer = RecordWriter(file)
    for batch in batches:
        writer.write(batch)
    return file.getvalue(), writer


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records)
@example([b"", b"albert", bytes(range(256)) * 100])
def test_a_file_is_the_one_that_tensorflow_writes(tmp_path, batch):
    with tf.io.TFRecordWriter(str(tmp_path / "theirs")) as writer:
        for record in batch:
            writer.write(record)
    ours, _ = written([batch])
    assert ours == (tmp_path / "theirs").read_bytes()
    assert read_records(io.BytesIO(ours)) == batch


@given(st.lists(records, max_size=5))
def test_a_writer_knows_what_it_wrote(batches):
    content, writer = written(batches)
    assert writer.bytes == len(content)
    assert writer.described()["sha256"] == hashlib.sha256(content).hexdigest()


A, ALBERT, B = map(frame, (b"a", b"albert", b"b"))
CUT_OFF, NO_MATCH = "is cut off: the file ends in it", "does not match its checksum"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (A + ALBERT[:-1], [Frame(0, b"a"), Frame(17, b"", CUT_OFF)]),
        (A + ALBERT[:8], [Frame(0, b"a"), Frame(17, b"", CUT_OFF)]),
        (A + ALBERT[:-5] + b"X" + ALBERT[-4:], [Frame(0, b"a"), Frame(17, b"", NO_MATCH)]),
        # The next one is read after a record, and nothing after a length.
        (
            A + ALBERT.replace(b"albert", b"alXert") + B,
            [Frame(0, b"a"), Frame(17, b"", NO_MATCH), Frame(39, b"b")],
        ),
        (b"X" + A[1:] + ALBERT, [Frame(0, b"", "has a length that does not match its checksum")]),
    ],
)
def test_damage_is_found_and_its_place_said(content, found):
    assert list(read_frames(io.BytesIO(content))) == found


@pytest.mark.parametrize("length", [10, 1 << 31, 1 << 40, (1 << 63) + 5, (1 << 64) - 1])
def test_a_length_that_the_file_has_not_is_refused_before_anything_is_read(length):
    """TensorFlow's reader ends the process at one, if its checksum is right."""
    header = length.to_bytes(8, "little")
    content = frame(b"a") + header + masked_crc(header).to_bytes(4, "little") + b"albert"
    assert list(read_frames(io.BytesIO(content))) == [Frame(0, b"a"), Frame(17, b"", CUT_OFF)]


@given(records, st.data())
def test_any_bytes_are_read_as_records_or_refused(batch, data):
    content = bytearray(written([batch])[0])
    for _ in range(data.draw(st.integers(1, 4)) if content else 0):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    found = list(read_frames(io.BytesIO(content)))
    assert all(one.problem or one.record in batch for one in found)
