"""Examples as messages: byte for byte those of TensorFlow, and read back or refused."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from pipeline.examples.masking import mask
from pipeline.examples.pairs import Pairs, assemble
from pipeline.records.checks import floats, integers, split_example
from pipeline.records.tfrecord import Column, encode_rows, encode_tf_examples
from schemas.config import DataConfig
from schemas.example import FEATURES
from tests.pipeline.records.one_record import encode as serialized_by_tensorflow

BY_NAME = {feature.name: feature for feature in FEATURES}
IDS, WEIGHTS = BY_NAME["input_ids"], BY_NAME["masked_lm_weights"]


def column(rows, dtype=np.int64):
    """The values of some rows, one after the other."""
    values = np.array([value for row in rows for value in row], dtype)
    return Column(values, np.cumsum([0, *map(len, rows)]))


int_lists = st.lists(st.integers(0, 127) | st.integers(0, 2**22), max_size=300)
float_lists = st.lists(st.floats(width=32), min_size=1, max_size=300)
names = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=140)


@pytest.mark.parametrize(("dtype", "lists"), [(np.int64, int_lists), (np.float32, float_lists)])
@given(name=names, data=st.data())
def test_numbers_are_encoded_as_by_tensorflow(dtype, lists, name, data):
    rows = data.draw(st.lists(lists, min_size=1, max_size=5))
    expected = [serialized_by_tensorflow({name: row}) for row in rows]
    assert encode_tf_examples({name: column(rows, dtype)}) == expected


@given(st.dictionaries(st.sampled_from(list(BY_NAME)), int_lists, min_size=1))
def test_features_are_in_the_order_of_their_names_as_by_tensorflow(features):
    columns = {name: column([values]) for name, values in features.items()}
    assert encode_tf_examples(columns) == [serialized_by_tensorflow(features)]


def test_booleans_and_int32_are_integers_and_no_rows_give_no_examples():
    columns = {"starts": column([[True, False]], np.bool_), "ids": column([[2, 30000]], np.int32)}
    expected = serialized_by_tensorflow({"starts": [1, 0], "ids": [2, 30000]})
    assert encode_tf_examples(columns) == [expected]
    assert encode_tf_examples({"ids": column([])}) == []


CONFIG = DataConfig(max_seq_length=10, max_predictions_per_seq=3).resolved(input_bytes=0)
PADDED = dataclasses.replace(CONFIG, record_layout="padded")


def masked_pairs(lengths):
    """Rows of the tokens 100, 101, ... with half of them masked, and their labels."""
    a, b = (np.array(side) for side in zip(*lengths, strict=True))
    end, total = np.cumsum(a + b), int((a + b).sum())
    labels, keys = np.arange(len(a)) % 2, np.arange(len(a), dtype=np.uint64)
    pairs = Pairs(end - a - b, end - b, end - b, end, labels, keys)
    ids = np.arange(100, 100 + total, dtype=np.int32)
    rows = assemble(pairs, ids=ids, word_starts=np.arange(total) % 3 != 2)
    budget = np.minimum(3, np.diff(rows.offsets) // 2)
    masked = mask(rows, keys=keys, vocab_size=30000, budget=budget, max_ngram=3, kept_share=0.1)
    return rows, masked, labels


@pytest.fixture
def rows():
    """[CLS] 100 101 [SEP] 102 [SEP] and [CLS] 103 104 [SEP] 105 106 [SEP]."""
    return masked_pairs([(2, 1), (2, 2)])


def features_of(rows, row, *, config=PADDED):
    """The features of a row as TensorFlow reads them."""
    record = encode_rows(*rows, config=config)[row]
    found = tf.train.Example.FromString(record).features.feature.items()
    return {n: [*f.int64_list.value, *f.float_list.value] for n, f in found}


def test_the_compact_layout_stores_what_cannot_be_derived_as_long_as_it_is(rows):
    masked = rows[1]
    first = int(masked.offsets[1])
    assert features_of(rows, 0, config=CONFIG) == {
        "input_ids": masked.ids[:6].tolist(),
        "masked_lm_positions": masked.positions[:first].tolist(),
        "masked_lm_ids": masked.labels[:first].tolist(),
        "next_sentence_labels": [0],
    }
    assert features_of(rows, 1, config=CONFIG)["next_sentence_labels"] == [1]


def test_token_boundary_is_1_at_special_tokens_and_where_words_start():
    found = features_of(masked_pairs([(4, 3)]), 0)
    # [CLS] 100 101 +102 103 [SEP] 104 +105 106 [SEP]
    assert found["token_boundary"] == [1, 1, 1, 0, 1, 1, 1, 0, 1, 1]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1))
def test_segments_are_0_up_to_the_first_separator_and_1_behind_it(lengths):
    rows, config = masked_pairs(lengths), dataclasses.replace(PADDED, max_seq_length=21)
    for row, (a, b) in enumerate(lengths):
        expected = [0] * (a + 2) + [1] * (b + 1 if b else 0)
        padding = [0] * (21 - len(expected))
        assert features_of(rows, row, config=config)["segment_ids"] == expected + padding


def test_the_padded_layout_parses_with_the_published_trainers_specification(rows):
    # google-research/albert, run_pretraining.py, input_fn_builder.
    lengths = dict.fromkeys(("input_ids", "input_mask", "segment_ids", "token_boundary"), 10)
    lengths |= {"masked_lm_positions": 3, "masked_lm_ids": 3, "next_sentence_labels": 1}
    specification = {n: tf.io.FixedLenFeature([size], tf.int64) for n, size in lengths.items()}
    specification["masked_lm_weights"] = tf.io.FixedLenFeature([3], tf.float32)
    parsed = tf.io.parse_single_example(encode_rows(*rows, config=PADDED)[0], specification)
    assert specification.keys() == BY_NAME.keys()
    columns = features_of(rows, 0, config=CONFIG)
    predictions = len(columns["masked_lm_ids"])
    unused = 3 - predictions
    assert {name: value.numpy().tolist() for name, value in parsed.items()} == {
        "input_ids": columns["input_ids"] + [0] * 4,
        "input_mask": [1] * 6 + [0] * 4,
        "segment_ids": [0, 0, 0, 0, 1, 1, 0, 0, 0, 0],
        "token_boundary": [1] * 6 + [0] * 4,
        "masked_lm_positions": columns["masked_lm_positions"] + [0] * unused,
        "masked_lm_ids": columns["masked_lm_ids"] + [0] * unused,
        "masked_lm_weights": [1.0] * predictions + [0.0] * unused,
        "next_sentence_labels": [0],
    }


numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 40_000)
number_rows = st.lists(st.lists(numbers, max_size=20), max_size=10)


def split(record, *features):
    return split_example(record, sorted(features, key=lambda feature: feature.name))


@given(number_rows, st.lists(st.lists(st.floats(width=32), min_size=1, max_size=20), max_size=5))
def test_numbers_of_tensorflow_are_read_as_they_are(whole, others):
    for rows, feature, read, dtype in (
        (whole, IDS, integers, np.int64),
        (others, WEIGHTS, floats, np.float32),
    ):
        records = [serialized_by_tensorflow({feature.name: row}) for row in rows]
        found = read([split(record, feature)[0] for record in records])
        expected = column(rows, dtype)
        assert found.values.tobytes() == expected.values.tobytes()
        assert found.offsets.tolist() == expected.offsets.tolist()


def test_a_number_of_more_than_64_bits_is_read_as_minus_one():
    too_long = b"\x80" * 10 + b"\x01"
    assert integers([b"\x07" + too_long, b"\x05"]).values.tolist() == [7, -1, 5]


@given(st.sets(st.sampled_from(sorted(BY_NAME)), min_size=1))
def test_every_feature_is_found_in_the_order_of_the_names(features):
    one = {"int64": ([1], b"\x01"), "float32": ([1.0], b"\x00\x00\x80\x3f")}
    values, encoded = zip(*(one[BY_NAME[name].dtype] for name in sorted(features)), strict=True)
    record = serialized_by_tensorflow(dict(zip(sorted(features), values, strict=True)))
    assert split(record, *(BY_NAME[name] for name in features)) == [*encoded]


COLUMNS = {"input_ids": column([[2, 300, 3]]), "masked_lm_ids": column([[]])}
(RECORD,) = encode_tf_examples(COLUMNS)
BOTH = (IDS, BY_NAME["masked_lm_ids"])
FLOATS = (dataclasses.replace(IDS, dtype="float32"), BOTH[1])
NO_EXAMPLE = "is not a tf.train.Example as albert make-data writes them"


@pytest.mark.parametrize(
    ("record", "features", "problem"),
    [
        *((record, BOTH, NO_EXAMPLE) for record in (b"", b"\x99\x01", RECORD[:-1])),
        (RECORD, (IDS,), NO_EXAMPLE),
        (RECORD, (*BOTH, WEIGHTS), "does not have masked_lm_weights where it belongs"),
        (RECORD, FLOATS, "does not have float32 in input_ids"),
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
