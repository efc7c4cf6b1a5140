"""A document is a record that TensorFlow reads, and comes back as it was."""

import contextlib
import re

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from pipeline.examples.packing import Tokens, document_key
from pipeline.records.documents import decode_documents, encode_documents
from schemas.config import DataConfig

CONFIG = DataConfig(max_seq_length=10).resolved(input_bytes=0)
ID, OTHER_ID = bytes(range(16)), bytes(16)
KEY, OTHER_KEY = (document_key(one, seed=CONFIG.seed) for one in (ID, OTHER_ID))
DOCUMENT = Tokens(
    ids=np.array([7, 300, 9, 5, 8], np.int32),
    word_starts=np.array([True, False, True, True, False]),
    may_cut=np.array([True, False, True, True, False]),
    sentence_starts=np.array([0, 3]),
    document_starts=np.array([0, 5]),
    document_keys=[KEY],
)
NO_DOCUMENT = "is not a document as albert make-data writes them"
LENGTHS = "has sentences that are not as long as its tokens"
(RECORD,) = encode_documents(DOCUMENT, [ID], vocab_size=400)


def decoded(records, vocab_size=400):
    return decode_documents(records, vocab_size=vocab_size, config=CONFIG)


def changed(**values):
    """The record of a document with other values, as TensorFlow serializes it."""
    example = tf.train.Example.FromString(RECORD)
    for name, value in values.items():
        feature = example.features.feature[name]
        of_kind = getattr(feature, feature.WhichOneof("kind")).value
        of_kind[:] = value
    return example.SerializeToString(deterministic=True)


def with_second(token):
    """The record with another second token."""
    return changed(tokens=[np.array([7, token, 9, 5, 8], "<u2").tobytes()])


def test_a_record_is_an_example_as_tensorflow_serializes_it():
    feature = tf.train.Example.FromString(RECORD).features.feature
    assert changed() == RECORD
    assert sorted(feature) == ["id", "sentence_lengths", "tokens", "word_starts"]
    assert feature["id"].bytes_list.value == [bytes(range(16))]
    assert feature["sentence_lengths"].int64_list.value == [3, 2]
    assert feature["tokens"].bytes_list.value == [b"\x07\x00\x2c\x01\x09\x00\x05\x00\x08\x00"]
    assert feature["word_starts"].bytes_list.value == [b"\xb0"]


@pytest.mark.parametrize(("vocab_size", "size"), [(65536, 2), (65537, 4)])
def test_a_document_comes_back_as_it_was(vocab_size, size):
    (record,) = encode_documents(DOCUMENT, [ID], vocab_size=vocab_size)
    found = decoded([record], vocab_size)
    assert found.ids.itemsize == size
    for name in ("ids", "word_starts", "may_cut", "sentence_starts", "document_starts"):
        assert getattr(found, name).tolist() == getattr(DOCUMENT, name).tolist(), name
    assert found.document_keys == [KEY]


def test_documents_come_back_one_after_the_other():
    both = Tokens(
        ids=np.array([7, 300, 9, 5, 8, *range(1, 301)]),
        word_starts=np.append(DOCUMENT.word_starts, np.arange(300) % 150 == 0),
        may_cut=np.ones(305, np.bool_),
        sentence_starts=np.array([0, 3, 5, 155]),
        document_starts=np.array([0, 5, 305]),
        document_keys=[KEY, OTHER_KEY],
    )
    records = list(encode_documents(both, [ID, OTHER_ID], vocab_size=400))
    assert records[0] == RECORD
    found = decoded([*records, RECORD])
    assert found.document_keys == [KEY, OTHER_KEY, KEY]
    assert found.document_starts.tolist() == [0, 5, 305, 310]
    assert found.ids.tolist() == [7, 300, 9, 5, 8, *range(1, 301), 7, 300, 9, 5, 8]
    assert np.flatnonzero(found.word_starts).tolist() == [*(0, 2, 3), *(5, 155), *(305, 307, 308)]
    assert found.sentence_starts.tolist() == [0, 3, 5, 155, 305, 308]


def test_of_no_documents_there_is_nothing():
    found = decoded([])
    assert (found.document_keys, found.ids.tolist()) == ([], [])
    assert found.document_starts.tolist() == [0]
    assert list(encode_documents(found, [], vocab_size=400)) == []


def test_a_record_that_is_cut_anywhere_is_refused():
    for size in range(len(RECORD)):
        with pytest.raises(ValueError, match="is not a document as albert make-data"):
            decoded([RECORD[:size]])


@given(st.integers(0, 106), st.integers(0, 255), st.booleans())
def test_a_changed_byte_breaks_nothing(place, value, is_last):
    """It is refused, or another document that could be one is read."""
    record = bytearray(RECORD)
    record[place % len(record)] = value
    records = [RECORD, bytes(record)]
    with contextlib.suppress(ValueError):
        found = decoded(records[:: 1 if is_last else -1])
        assert len(found.document_keys) == 2
        assert len(found.ids) == len(found.word_starts)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        *((record, NO_DOCUMENT) for record in (b"", b"\x0a\xff", b"\x08\x01")),
        (changed(id=[b"short"]), "has an id of 5 bytes and not of 16"),
        (changed(id=[ID, ID]), NO_DOCUMENT),
        (changed(tokens=[b"\x07\x00\x2c"]), NO_DOCUMENT),
        (RECORD.replace(b"\x03\x02", b"\x03\x82"), NO_DOCUMENT),
        (changed(tokens=[], word_starts=[], sentence_lengths=[]), "has no tokens"),
        (changed(sentence_lengths=[3, 3]), LENGTHS),
        (changed(sentence_lengths=[0, 5]), LENGTHS),
        (changed(sentence_lengths=[]), LENGTHS),
        # In 64 bits their sum is 5.
        (changed(sentence_lengths=[*[1 << 62] * 4, 5]), LENGTHS),
        (changed(word_starts=[b"\xff\xff"]), "has word starts for another number of tokens"),
        (with_second(400), "has a token that the vocabulary does not have"),
        (with_second(0), "has padding inside its text"),
        (changed(word_starts=[b"\xa0"]), "has a sentence that does not begin with a word"),
    ],
)
def test_what_is_wrong_with_a_record_is_said(record, problem):
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        decoded([record])
