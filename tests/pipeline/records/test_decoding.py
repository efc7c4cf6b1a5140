"""Records are read as they were written, or refused."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records.decoding import floats, integers, rows_with, split_example
from pipeline.records.tf_example import Column, encode_examples
from schemas.example import FEATURES

BY_NAME = {feature.name: feature for feature in FEATURES}
IDS, WEIGHTS = BY_NAME["input_ids"], BY_NAME["masked_lm_weights"]

numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 40_000)
rows = st.lists(st.lists(numbers, max_size=20), max_size=10)


def tensorflow_example(**features):
    """A record as TensorFlow serializes it."""
    example = tf.train.Example()
    for name, values in features.items():
        if BY_NAME[name].dtype == "float32":
            example.features.feature[name].float_list.value.extend(values)
        else:
            example.features.feature[name].int64_list.SetInParent()
            example.features.feature[name].int64_list.value.extend(values)
    return example.SerializeToString(deterministic=True)


def split(record, *features):
    return split_example(record, sorted(features, key=lambda feature: feature.name))


@given(rows)
def test_integers_of_tensorflow_are_read_as_they_are(rows):
    packed = [split(tensorflow_example(input_ids=row), IDS)[0] for row in rows]
    column = integers(packed)
    assert column.values.tolist() == [number for row in rows for number in row]
    assert column.offsets.tolist() == np.cumsum([0, *map(len, rows)]).tolist()


@given(st.lists(st.lists(st.floats(width=32), min_size=1, max_size=20), max_size=5))
def test_floats_of_tensorflow_are_read_as_they_are(rows):
    packed = [
        split(tensorflow_example(masked_lm_weights=row), WEIGHTS)[0] for row in rows
    ]
    expected = np.array([number for row in rows for number in row], np.float32)
    column = floats(packed)
    assert column.values.tobytes() == expected.tobytes()
    assert column.offsets.tolist() == np.cumsum([0, *map(len, rows)]).tolist()


def test_a_number_of_more_than_64_bits_is_read_as_minus_one():
    too_long = b"\x80" * 10 + b"\x01"
    assert integers([b"\x07" + too_long, b"\x05"]).values.tolist() == [7, -1, 5]


@given(st.dictionaries(st.sampled_from(sorted(BY_NAME)), st.just([1]), min_size=1))
def test_every_feature_is_found_in_the_order_of_the_names(features):
    record = tensorflow_example(**features)
    one = {"int64": b"\x01", "float32": b"\x00\x00\x80\x3f"}
    assert split(record, *(BY_NAME[name] for name in features)) == [
        one[BY_NAME[name].dtype] for name in sorted(features)
    ]


RECORD = encode_examples(
    {
        "input_ids": Column(np.array([2, 300, 3]), np.array([0, 3])),
        "masked_lm_ids": Column(np.array([], np.int64), np.array([0, 0])),
    }
)[0]
BOTH = (IDS, BY_NAME["masked_lm_ids"])


@pytest.mark.parametrize(
    ("record", "features", "problem"),
    [
        (b"", BOTH, "is not a tf.train.Example as albert make-data writes them"),
        (
            b"\x99\x01",
            BOTH,
            "is not a tf.train.Example as albert make-data writes them",
        ),
        (
            RECORD[:-1],
            BOTH,
            "is not a tf.train.Example as albert make-data writes them",
        ),
        (RECORD, (IDS,), "is not a tf.train.Example as albert make-data writes them"),
        (RECORD, (*BOTH, WEIGHTS), "does not have masked_lm_weights where it belongs"),
        (
            RECORD,
            (dataclasses.replace(IDS, dtype="float32"), BOTH[1]),
            "does not have float32 in input_ids",
        ),
        (
            RECORD.replace(b"\x02\xac\x02\x03", b"\x02\xac\x82\x83"),
            BOTH,
            "has a number in input_ids that is cut off",
        ),
    ],
)
def test_a_record_that_is_not_as_written_is_refused(record, features, problem):
    with pytest.raises(ValueError, match=f"^{problem}$"):
        split(record, *features)


@given(st.binary(max_size=60))
def test_any_bytes_are_split_or_refused(record):
    try:
        values = split(record, *BOTH)
    except ValueError:
        return
    assert len(values) == 2


@given(st.lists(st.integers(0, 3), max_size=8), st.data())
def test_rows_with_a_flag_are_those_that_have_one(lengths, data):
    flags = [
        data.draw(st.lists(st.booleans(), min_size=n, max_size=n)) for n in lengths
    ]
    together = np.array([flag for row in flags for flag in row], bool)
    offsets = np.cumsum([0, *lengths])
    assert rows_with(together, offsets).tolist() == [any(row) for row in flags]
