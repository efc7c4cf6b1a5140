import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from pipeline.examples.masking import mask
from pipeline.examples.pairs import Pairs, assemble
from pipeline.records.features import (
    Column,
    compact_columns,
    derived_columns,
    encode_rows,
    pad,
)
from schemas.config import DataConfig
from schemas.example import FEATURES

CONFIG = DataConfig(max_seq_length=10, max_predictions_per_seq=3).resolved(
    input_bytes=0
)


def masked_pairs(lengths):
    """Rows of the tokens 100, 101, ... with half of them masked, and their labels."""
    a, b = (np.array(side) for side in zip(*lengths, strict=True))
    a_start = np.cumsum(a + b) - (a + b)
    pairs = Pairs(
        a_start=a_start,
        a_end=a_start + a,
        b_start=a_start + a,
        b_end=a_start + a + b,
        labels=np.arange(len(a)) % 2,
        keys=np.arange(len(a), dtype=np.uint64),
    )
    total = int((a + b).sum())
    rows = assemble(
        pairs,
        ids=np.arange(100, 100 + total, dtype=np.int32),
        word_starts=np.arange(total) % 3 != 2,
    )
    masked = mask(
        rows,
        keys=pairs.keys,
        vocab_size=30000,
        budget=np.minimum(3, np.diff(rows.offsets) // 2),
        max_ngram=3,
    )
    return rows, masked, pairs.labels


def all_columns(rows, masked, labels):
    """All features, none padded."""
    return compact_columns(rows, masked, labels) | derived_columns(rows, masked)


def row_of(columns, row):
    """The values of one row of all columns."""
    return {
        name: values[offsets[row] : offsets[row + 1]].tolist()
        for name, (values, offsets) in columns.items()
    }


@pytest.fixture
def rows():
    """[CLS] 100 101 [SEP] 102 [SEP] and [CLS] 103 104 [SEP] 105 106 [SEP]."""
    return masked_pairs([(2, 1), (2, 2)])


def test_compact_features_are_as_long_as_the_text(rows):
    columns = all_columns(*rows)
    masked = rows[1]
    first = int(masked.offsets[1])
    assert row_of(columns, 0) == {
        "input_ids": masked.ids[:6].tolist(),
        "input_mask": [1, 1, 1, 1, 1, 1],
        "segment_ids": [0, 0, 0, 0, 1, 1],
        "token_boundary": [1, 1, 1, 1, 1, 1],
        "masked_lm_positions": masked.positions[:first].tolist(),
        "masked_lm_ids": masked.labels[:first].tolist(),
        "masked_lm_weights": [1.0] * first,
        "next_sentence_labels": [0],
    }
    assert row_of(columns, 1)["segment_ids"] == [0, 0, 0, 0, 1, 1, 1]
    assert row_of(columns, 1)["next_sentence_labels"] == [1]


def test_token_boundary_is_1_at_special_tokens_and_where_words_start():
    columns = all_columns(*masked_pairs([(4, 3)]))
    # [CLS] 100 101 +102 103 [SEP] 104 +105 106 [SEP]
    assert row_of(columns, 0)["token_boundary"] == [1, 1, 1, 0, 1, 1, 1, 0, 1, 1]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1))
def test_segments_are_0_up_to_the_first_separator_and_1_behind_it(lengths):
    columns = all_columns(*masked_pairs(lengths))
    for row, (a, b) in enumerate(lengths):
        assert row_of(columns, row)["segment_ids"] == [0] * (a + 2) + [1] * (b + 1)


def test_without_a_second_segment_all_is_segment_0():
    columns = all_columns(*masked_pairs([(4, 0), (3, 2)]))
    assert row_of(columns, 0)["segment_ids"] == [0] * 6
    assert row_of(columns, 1)["segment_ids"] == [0, 0, 0, 0, 0, 1, 1, 1]


def test_the_compact_layout_stores_what_cannot_be_derived(rows):
    records = encode_rows(*rows, config=CONFIG)
    example = tf.train.Example.FromString(records[0])
    assert sorted(example.features.feature) == [
        "input_ids",
        "masked_lm_ids",
        "masked_lm_positions",
        "next_sentence_labels",
    ]


def test_the_padded_layout_parses_with_the_published_trainers_specification(rows):
    config = DataConfig(
        max_seq_length=10, max_predictions_per_seq=3, record_layout="padded"
    ).resolved(input_bytes=0)
    # google-research/albert, run_pretraining.py, input_fn_builder.
    specification = {
        "input_ids": tf.io.FixedLenFeature([10], tf.int64),
        "input_mask": tf.io.FixedLenFeature([10], tf.int64),
        "segment_ids": tf.io.FixedLenFeature([10], tf.int64),
        "token_boundary": tf.io.FixedLenFeature([10], tf.int64),
        "masked_lm_positions": tf.io.FixedLenFeature([3], tf.int64),
        "masked_lm_ids": tf.io.FixedLenFeature([3], tf.int64),
        "masked_lm_weights": tf.io.FixedLenFeature([3], tf.float32),
        "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
    }
    records = encode_rows(*rows, config=config)
    parsed = tf.io.parse_single_example(records[0], specification)
    columns = row_of(all_columns(*rows), 0)
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


def test_the_padded_layout_parses_with_the_model_gardens_specification(rows):
    config = DataConfig(
        max_seq_length=10, max_predictions_per_seq=3, record_layout="padded"
    ).resolved(input_bytes=0)
    # tensorflow/models, official/nlp/data/pretrain_dataloader.py, first feature names.
    specification = {
        "input_ids": tf.io.FixedLenFeature([10], tf.int64),
        "input_mask": tf.io.FixedLenFeature([10], tf.int64),
        "segment_ids": tf.io.FixedLenFeature([10], tf.int64),
        "masked_lm_positions": tf.io.FixedLenFeature([3], tf.int64),
        "masked_lm_ids": tf.io.FixedLenFeature([3], tf.int64),
        "masked_lm_weights": tf.io.FixedLenFeature([3], tf.float32),
        "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
    }
    record = encode_rows(*rows, config=config)[0]
    parsed = tf.io.parse_single_example(record, specification)
    assert sorted(parsed) == sorted(specification)
    assert parsed["input_ids"].numpy().tolist()[6:] == [0] * 4


def test_the_padded_layout_stores_every_feature_of_the_table(rows):
    config = DataConfig(
        max_seq_length=10, max_predictions_per_seq=3, record_layout="padded"
    ).resolved(input_bytes=0)
    (record, _) = encode_rows(*rows, config=config)
    example = tf.train.Example.FromString(record)
    assert set(example.features.feature) == {feature.name for feature in FEATURES}


def test_padding_puts_zeros_behind_every_row():
    column = Column(np.array([5, 6, 7, 8]), np.array([0, 1, 1, 4]))
    values, offsets = pad(column, 3)
    assert values.tolist() == [5, 0, 0, 0, 0, 0, 6, 7, 8]
    assert offsets.tolist() == [0, 3, 6, 9]
