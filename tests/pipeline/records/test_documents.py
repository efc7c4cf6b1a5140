"""A document is a record that TensorFlow reads, and comes back as it was."""

import contextlib
import re

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records.documents import TokenDocument, decode_documents, encode_document

DOCUMENT = TokenDocument(
    id=bytes(range(16)),
    tokens=np.array([7, 300, 9, 5, 8], np.int32),
    word_starts=np.array([True, False, True, True, False]),
    sentence_lengths=np.array([3, 2]),
)


def changed(**values):
    return encode_document(DOCUMENT._replace(**values), vocab_size=400)


def test_a_record_is_an_example_as_tensorflow_serializes_it():
    record = encode_document(DOCUMENT, vocab_size=400)
    example = tf.train.Example.FromString(record)
    feature = example.features.feature
    assert example.SerializeToString(deterministic=True) == record
    assert sorted(feature) == ["id", "sentence_lengths", "tokens", "word_starts"]
    assert feature["id"].bytes_list.value == [bytes(range(16))]
    assert feature["sentence_lengths"].int64_list.value == [3, 2]
    assert feature["tokens"].bytes_list.value == [
        b"\x07\x00\x2c\x01\x09\x00\x05\x00\x08\x00"
    ]
    assert feature["word_starts"].bytes_list.value == [b"\xb0"]


@pytest.mark.parametrize(("vocab_size", "size"), [(65536, 2), (65537, 4)])
def test_a_document_comes_back_as_it_was(vocab_size, size):
    record = encode_document(DOCUMENT, vocab_size=vocab_size)
    found = decode_documents([record], vocab_size=vocab_size)
    assert found.tokens.itemsize == size
    assert found.tokens.tolist() == DOCUMENT.tokens.tolist()
    assert found.word_starts.tolist() == DOCUMENT.word_starts.tolist()
    assert found.sentence_lengths.values.tolist() == [3, 2]
    assert found.document_starts.tolist() == [0, 5]
    assert found.ids == [DOCUMENT.id]


def test_documents_come_back_one_after_the_other():
    other = DOCUMENT._replace(
        id=bytes(16),
        tokens=np.arange(1, 301),
        word_starts=np.arange(300) % 150 == 0,
        sentence_lengths=np.array([150, 150]),
    )
    records = [encode_document(one, vocab_size=400) for one in (DOCUMENT, other)]
    found = decode_documents([*records, records[0]], vocab_size=400)
    assert found.ids == [DOCUMENT.id, other.id, DOCUMENT.id]
    assert found.document_starts.tolist() == [0, 5, 305, 310]
    assert found.tokens.tolist() == [7, 300, 9, 5, 8, *range(1, 301), 7, 300, 9, 5, 8]
    assert np.flatnonzero(found.word_starts).tolist() == [
        *(0, 2, 3),
        *(5, 155),
        *(305, 307, 308),
    ]
    assert found.sentence_lengths.values.tolist() == [3, 2, 150, 150, 3, 2]
    assert found.sentence_lengths.offsets.tolist() == [0, 2, 4, 6]


def test_of_no_documents_there_is_nothing():
    found = decode_documents([], vocab_size=400)
    assert (found.ids, found.tokens.tolist()) == ([], [])
    assert found.document_starts.tolist() == [0]


def test_a_record_that_is_cut_anywhere_is_refused():
    record = encode_document(DOCUMENT, vocab_size=400)
    for size in range(len(record)):
        with pytest.raises(ValueError, match="is not a document as albert make-data"):
            decode_documents([record[:size]], vocab_size=400)


@given(st.integers(0, 106), st.integers(0, 255), st.booleans())
def test_a_changed_byte_breaks_nothing(place, value, is_last):
    """It is refused, or another document that could be one is read."""
    record = bytearray(encode_document(DOCUMENT, vocab_size=400))
    record[place % len(record)] = value
    records = [encode_document(DOCUMENT, vocab_size=400), bytes(record)]
    with contextlib.suppress(ValueError):
        found = decode_documents(records[:: 1 if is_last else -1], vocab_size=400)
        assert len(found.ids) == 2
        assert len(found.tokens) == len(found.word_starts)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (b"", "is not a document as albert make-data writes them"),
        (b"\x0a\xff", "is not a document as albert make-data writes them"),
        (b"\x08\x01", "is not a document as albert make-data writes them"),
        (changed(id=b"short"), "has an id of 5 bytes and not of 16"),
        (
            changed(
                tokens=np.zeros(0, np.int32),
                word_starts=np.zeros(0, np.bool_),
                sentence_lengths=np.zeros(0, np.int64),
            ),
            "has no tokens",
        ),
        (
            changed(sentence_lengths=np.array([3, 3])),
            "has sentences that are not as long as its tokens",
        ),
        (
            changed(sentence_lengths=np.array([0, 5])),
            "has sentences that are not as long as its tokens",
        ),
        (
            changed(word_starts=np.ones(9, np.bool_)),
            "has word starts for another number of tokens",
        ),
        (
            changed(tokens=np.array([7, 400, 9, 5, 8])),
            "has a token that the vocabulary does not have",
        ),
        (changed(tokens=np.array([7, 0, 9, 5, 8])), "has padding inside its text"),
        (
            changed(word_starts=np.array([True, False, True, False, False])),
            "has a sentence that does not begin with a word",
        ),
    ],
)
def test_what_is_wrong_with_a_record_is_said(record, problem):
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        decode_documents([record], vocab_size=400)
