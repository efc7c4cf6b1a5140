"""A document is a record that TensorFlow reads, and comes back as it was."""

import re

import numpy as np
import pytest
import tensorflow as tf

from pipeline.records.documents import (
    TokenDocument,
    decode_document,
    encode_document,
)

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
    found = decode_document(record, vocab_size=vocab_size)
    assert found.tokens.itemsize == size
    assert [np.array(part).tolist() for part in found[1:]] == [
        part.tolist() for part in DOCUMENT[1:]
    ]
    assert found.id == DOCUMENT.id


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
        decode_document(record, vocab_size=400)
