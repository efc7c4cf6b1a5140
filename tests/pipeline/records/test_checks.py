"""What a record must hold, in both layouts."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records.checks import decode_columns, problems
from schemas.config import DataConfig
from tests.pipeline.records.one_record import encode

COMPACT = DataConfig(max_seq_length=8, max_predictions_per_seq=2)
PADDED = dataclasses.replace(COMPACT, record_layout="padded")
VOCAB_SIZE = 10

TEXT = {
    "input_ids": [2, 7, 4, 3, 9, 3],
    "masked_lm_positions": [2],
    "masked_lm_ids": [8],
    "next_sentence_labels": [1],
}
ROW = {
    "input_ids": [2, 7, 4, 3, 9, 3, 0, 0],
    "input_mask": [1, 1, 1, 1, 1, 1, 0, 0],
    "segment_ids": [0, 0, 0, 0, 1, 1, 0, 0],
    "token_boundary": [1, 1, 0, 1, 1, 1, 0, 0],
    "masked_lm_positions": [2, 0],
    "masked_lm_ids": [8, 0],
    "masked_lm_weights": [1.0, 0.0],
    "next_sentence_labels": [1],
}
HUGE = 2**62


def decoded(record, layout):
    """The features of a record in which nothing is wrong."""
    columns = decode_columns([record], layout)
    return {name: values.tolist() for name, (values, _) in columns.items()}


def problem(features, config=COMPACT):
    """What is wrong with a record of these features."""
    (found,) = problems([encode(features)], config, vocab_size=VOCAB_SIZE)
    return found


def test_nothing_is_wrong_with_good_records():
    assert problem(TEXT) == ""
    assert problem(ROW, PADDED) == ""
    assert problem(TEXT | {"masked_lm_positions": [], "masked_lm_ids": []}) == ""


OUTSIDE = "has a token that the vocabulary does not have"
MASKED = "has a masked token that is special or that the vocabulary does not have"
PLACE = "has a masked place outside its text"
ORDER = "has masked places that do not ascend"
FRAMED = "does not begin with [CLS] and end with [SEP]"
ONES = "that are not ones followed by zeros"
MASK, WEIGHTS = f"has input_mask {ONES}", f"has masked_lm_weights {ONES}"
SEGMENTS = "has segment_ids that do not follow from its tokens"
BOUNDARY = "has a token_boundary that is neither 0 nor 1"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"input_ids": [2, 3] * 5}, "has 10 values of input_ids, which takes 1 to 8"),
        ({"input_ids": []}, "has 0 values of input_ids, which takes 1 to 8"),
        ({"masked_lm_ids": [5, 6, 7]}, "has 3 values of masked_lm_ids, which takes 0 to 2"),
        *(({"input_ids": ids}, FRAMED) for ids in ([7, 7, 3], [2, 7, 7])),
        *(({"input_ids": [2, token, 4, 3, 9, 3]}, OUTSIDE) for token in (10, -1, HUGE)),
        ({"input_ids": [2, 7, 4, 3, 0, 3]}, "has padding inside its text"),
        *(({"masked_lm_ids": [token]}, MASKED) for token in (3, 10, -7, -HUGE)),
        *(({"masked_lm_positions": [place]}, PLACE) for place in (5, 0, -1, HUGE)),
        *(({"masked_lm_positions": [2, n], "masked_lm_ids": [7, 7]}, ORDER) for n in (1, 2)),
        ({"masked_lm_ids": []}, "has 1 masked places and 0 labels"),
        *(({"next_sentence_labels": [n]}, "has a label that is neither 0 nor 1") for n in (2, -1)),
        ({"masked_lm_ids": [0.5]}, "does not have int64 in masked_lm_ids"),
    ],
)
def test_a_bad_record_has_its_problem_named(change, expected):
    assert problem(TEXT | change) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # A short row was once accepted by training and refused by --verify.
        ({"input_ids": TEXT["input_ids"]}, "has 6 values of input_ids, which takes 8"),
        ({"input_mask": [1, 1, 1, 0, 1, 1, 0, 0]}, MASK),
        ({"input_mask": [HUGE, 1, 1, 1, 1, 1, 0, 0]}, MASK),
        ({"input_mask": [0] * 8}, "has input_ids after the end of its text"),
        ({"input_ids": [2, 7, 4, 3, 9, 3, 0, 9]}, "has input_ids after the end of its text"),
        ({"segment_ids": [0, 0, 0, 0, 7, 1, 0, 0]}, SEGMENTS),
        ({"token_boundary": [5, 1, 0, 1, 1, 1, 0, 0]}, BOUNDARY),
        *(({"masked_lm_weights": [weight, 0.0]}, WEIGHTS) for weight in (float("nan"), 0.5)),
        ({"masked_lm_positions": [2, 3]}, "has masked_lm_positions after the end of its text"),
        ({"masked_lm_positions": [-1, 0]}, PLACE),
    ],
)
def test_a_bad_padded_record_has_its_problem_named(change, expected):
    assert problem(ROW | change, PADDED) == expected


def test_a_record_of_the_other_layout_or_without_a_feature_has_that_named():
    assert problem(TEXT, PADDED) == "does not have input_mask where it belongs"
    assert problem(ROW) == "does not have masked_lm_ids where it belongs"
    features = {k: v for k, v in TEXT.items() if k != "masked_lm_ids"}
    assert problem(features) == "does not have masked_lm_ids where it belongs"


def test_each_record_of_many_has_its_own_problem():
    bad = ({"input_ids": [2, 3] * 5}, {"next_sentence_labels": [2]}, {"masked_lm_positions": [5]})
    good, long, *others = (encode(TEXT | change) for change in ({}, *bad))
    records = [good, long, b"", good, *others, good]
    assert problems(records, COMPACT, vocab_size=VOCAB_SIZE) == [
        "",
        "has 10 values of input_ids, which takes 1 to 8",
        "is not a tf.train.Example as albert make-data writes them",
        "",
        "has a label that is neither 0 nor 1",
        "has a masked place outside its text",
        "",
    ]


def scalar_is_good(features):
    """The rules of the compact layout for one record, without arrays."""
    ids, labels = features["input_ids"], features["masked_lm_ids"]
    places = features["masked_lm_positions"]
    return (
        1 <= len(ids) <= COMPACT.max_seq_length
        and len(places) == len(labels) <= 2
        and (ids[0], ids[-1]) == (2, 3)
        and all(1 <= i < VOCAB_SIZE for i in ids)
        and all(5 <= i < VOCAB_SIZE for i in labels)
        and places == sorted(set(places))
        and all(0 < place < len(ids) - 1 for place in places)
        and features["next_sentence_labels"] in ([0], [1])
    )


small = st.integers(-1, VOCAB_SIZE)
ids = st.lists(small, max_size=6).map(lambda inner: [2, *inner, 3])
anything = st.lists(small | st.sampled_from([HUGE, -HUGE]), max_size=9)
examples = st.fixed_dictionaries(
    {
        "input_ids": ids | anything,
        "masked_lm_positions": st.lists(st.integers(-1, 8), max_size=3),
        "masked_lm_ids": st.lists(st.integers(4, VOCAB_SIZE), max_size=3),
        "next_sentence_labels": st.lists(st.integers(-1, 2), max_size=2)
        | st.sampled_from([[0], [1]]),
    }
)


@given(st.lists(examples | st.just(TEXT), max_size=12))
def test_good_records_are_told_from_bad_ones_in_any_company(batch):
    found = problems(list(map(encode, batch)), COMPACT, vocab_size=VOCAB_SIZE)
    assert [not said for said in found] == list(map(scalar_is_good, batch))


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 255)), min_size=1))
def test_an_edited_record_is_refused_or_holds_what_a_record_may_hold(edits):
    for features, config in ((TEXT, COMPACT), (ROW, PADDED)):
        record = bytearray(encode(features))
        for place, byte in edits:
            record[place % len(record)] = byte
        (found,) = problems([bytes(record)], config, vocab_size=VOCAB_SIZE)
        if found:
            continue
        read = decoded(bytes(record), config.record_layout)
        if config is COMPACT:
            assert scalar_is_good(read)
        else:
            assert read["input_mask"] == sorted(read["input_mask"], reverse=True)
            assert scalar_is_good({name: read[name] for name in TEXT})


def test_a_record_is_decoded_to_its_features_without_padding():
    assert decoded(encode(TEXT), "compact") == TEXT
    assert decoded(encode(ROW), "padded") == ROW | TEXT | {
        "segment_ids": [0, 0, 0, 0, 1, 1],
        "token_boundary": [1, 1, 0, 1, 1, 1],
    }
