import numpy as np
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records.tf_example import (
    Column,
    encode_examples,
    float_bytes,
    varints,
)
from schemas.example import FEATURES

FEATURE_NAMES = [feature.name for feature in FEATURES]


def column(rows, dtype=np.int64):
    """The values of some rows, one after the other."""
    values = np.array([value for row in rows for value in row], dtype)
    return Column(values, np.cumsum([0, *map(len, rows)]))


def tensorflow_example(features):
    """The same as TensorFlow serializes it."""
    example = tf.train.Example()
    for name, values in features.items():
        if any(isinstance(value, float) for value in values):
            example.features.feature[name].float_list.value.extend(values)
        else:
            example.features.feature[name].int64_list.SetInParent()
            example.features.feature[name].int64_list.value.extend(values)
    return example.SerializeToString(deterministic=True)


integers = st.lists(st.integers(0, 127) | st.integers(0, 2**21 - 1), max_size=300)
floats = st.lists(st.floats(width=32), min_size=1, max_size=300)
names = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=140)


@given(names, st.lists(integers, min_size=1, max_size=5))
def test_integers_are_encoded_as_by_tensorflow(name, rows):
    assert encode_examples({name: column(rows)}) == [
        tensorflow_example({name: row}) for row in rows
    ]


@given(names, st.lists(floats, min_size=1, max_size=5))
def test_floats_are_encoded_as_by_tensorflow(name, rows):
    assert encode_examples({name: column(rows, np.float32)}) == [
        tensorflow_example({name: row}) for row in rows
    ]


@given(st.dictionaries(st.sampled_from(FEATURE_NAMES), integers, min_size=1))
def test_features_are_in_the_order_of_their_names_as_by_tensorflow(features):
    columns = {name: column([values]) for name, values in features.items()}
    assert encode_examples(columns) == [tensorflow_example(features)]


def test_a_feature_without_values_is_an_empty_list_of_its_type():
    assert encode_examples({"ids": column([[]])}) == [tensorflow_example({"ids": []})]


def test_booleans_and_int32_are_integers():
    columns = {
        "starts": column([[True, False]], np.bool_),
        "ids": column([[2, 30000]], np.int32),
    }
    assert encode_examples(columns) == [
        tensorflow_example({"starts": [1, 0], "ids": [2, 30000]})
    ]


def test_no_rows_give_no_examples():
    assert encode_examples({"ids": column([])}) == []


def test_an_example_parses_to_its_values():
    (record,) = encode_examples(
        {
            "input_ids": column([[2, 70, 3, 29999, 3]]),
            "masked_lm_weights": column([[1.0, 0.0]], np.float32),
        }
    )
    parsed = tf.io.parse_single_example(
        record,
        {
            "input_ids": tf.io.FixedLenFeature([5], tf.int64),
            "masked_lm_weights": tf.io.FixedLenFeature([2], tf.float32),
        },
    )
    assert parsed["input_ids"].numpy().tolist() == [2, 70, 3, 29999, 3]
    assert parsed["masked_lm_weights"].numpy().tolist() == [1.0, 0.0]


def test_varints_of_one_to_four_bytes():
    numbers = [0, 127, 128, 16383, 16384, 2097151, 2097152]
    payload, bounds = varints(np.array(numbers), np.array([0, 7]))
    assert payload.hex(" ") == ("00 7f 80 01 ff 7f 80 80 01 ff ff 7f 80 80 80 01")
    assert bounds == [0, 16]


def test_empty_rows_anywhere_have_no_bytes():
    offsets = np.array([0, 0, 2, 2, 3, 3])
    assert varints(np.array([1, 300, 2]), offsets) == (
        b"\x01\xac\x02\x02",
        [0, 0, 3, 3, 4, 4],
    )


def test_floats_take_four_bytes_each():
    values = np.array([1.0, 0.0], np.float32)
    assert float_bytes(values, np.array([0, 1, 2])) == (
        b"\x00\x00\x80\x3f\x00\x00\x00\x00",
        [0, 4, 8],
    )
